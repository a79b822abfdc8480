# The service in a container:
#
#   docker build -t expunge .
#   docker run --network host -v expunge:/var/lib/expunge -v expunge-vault:/var/lib/expunge-vault expunge
#
# The host's network, since this version listens on the loopback only (expunged --help). Stage 1 builds the three
# programs with the packages of scripts/debian-packages.txt; stage 2 holds them and the shared libraries that they
# need. Runs as a user without rights. Data are in /var/lib/expunge, with the socket of the administration; the keys of tokens are
# in /var/lib/expunge-vault, a volume of its own, so that no copy of the data alone can be read.
FROM debian:bookworm AS build
WORKDIR /src
COPY scripts/debian-packages.txt scripts/lib.sh scripts/deps.sh scripts/
RUN bash scripts/deps.sh build && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake -S . -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXPUNGE_BUILD_TESTS=OFF \
  && cmake --build /build --target expunged expunge expunge-verify \
  && strip /build/bin/*
# The Debian packages that own the programs' shared libraries, for the next stage to install.
RUN for program in /build/bin/*; do ldd "$program"; done | awk '$3 ~ /^\// { print $3 }' | sort -u \
  | while read -r library; do dpkg-query -S "$library" 2>/dev/null || dpkg-query -S "/usr$library"; done \
  | cut -d: -f1 | sort -u > /build/runtime-packages.txt

FROM debian:bookworm-slim
RUN --mount=type=bind,from=build,source=/build/runtime-packages.txt,target=/tmp/packages.txt \
  apt-get update -q \
  && xargs apt-get install -q -y --no-install-recommends ca-certificates < /tmp/packages.txt \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --home-dir /var/lib/expunge --shell /usr/sbin/nologin expunge \
  && install -d -o expunge -g expunge -m 0700 /var/lib/expunge /var/lib/expunge-vault
COPY --from=build /build/bin/expunged /build/bin/expunge /build/bin/expunge-verify /usr/local/bin/
USER expunge
VOLUME /var/lib/expunge /var/lib/expunge-vault
ENTRYPOINT ["/usr/local/bin/expunged"]
CMD ["--data-dir", "/var/lib/expunge", "--vault-dir", "/var/lib/expunge-vault"]
