#include "client/report/how_to_verify.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/report/html.h"

namespace expunge::report {
namespace {

// Line by line, so that what is in a name stays on its line.
std::string Commands(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, Escape(line), "\n");
  return absl::StrCat("<pre><code>", text, "</code></pre>\n");
}

std::string OwnCommand(const verify::Paths& paths) {
  std::string command = "expunge-verify";
  const auto add = [&command](const std::string& option, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&command, " ", option, " ", ShellWord(value));
  };
  for (const std::string& key : paths.keys) add("--key", key);
  add("--keys", paths.key_sets);
  for (const std::string& key : paths.log_keys) add("--log-key", key);
  add("--log", paths.log);
  add("--old-checkpoint", paths.old_checkpoint);
  add("--receipts", paths.receipts);
  add("--bundle", paths.bundle);
  for (const std::string& path : paths.certificates) absl::StrAppend(&command, " ", ShellWord(path));
  return command;
}

std::string Keys(const verify::Inputs& inputs, const verify::Paths& paths) {
  std::string items;
  for (size_t i = 0; i < inputs.keys.size(); ++i) {
    const std::string file =
        i < paths.keys.size() ? absl::StrCat(" (", Code(paths.keys[i]), ")") : std::string();
    items += Element("li", absl::StrCat(Code(inputs.keys[i].KeyId()), file));
  }
  return Element("ul", items);
}

}  // namespace

std::string ShellWord(const std::string& text) {
  const bool plain =
      !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
               std::string("/._-+:=,@").find(c) != std::string::npos;
      });
  if (plain) return text;
  std::string word = text.empty() || text.front() != '-' ? "'" : "./'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word.push_back(c);
    }
  }
  return word + "'";
}

std::string HowToVerify(const verify::Inputs& inputs, const verify::Paths& paths) {
  const std::string key = paths.keys.empty() ? "issuer.pem" : paths.keys.front();
  const std::string file =
      inputs.certificates.empty() ? "certificate.json" : inputs.certificates.front().file;
  std::string html = Element("h2", "How to check this yourself");
  absl::StrAppend(
      &html,
      Element("p",
              "This page is not evidence: the certificate files are. Keep them as they are, each with its "
              ".tlog-proof "
              "file, and check them with a public key that you got from a source that you trust."),
      Element("h3", "The keys that were trusted for this page"), Keys(inputs, paths),
      Element("p", "small quiet",
              "The fingerprint of a key is the SHA-256 of its DER form. Compare it with the issuer's word, "
              "given elsewhere "
              "than where the certificates came from:"),
      Commands(
          {absl::StrCat("openssl pkey -pubin -in ", ShellWord(key), " -outform DER | openssl dgst -sha256")}),
      Element("h3", "With the verifier of this project, without a network"), Commands({OwnCommand(paths)}),
      Element("h3", "With OpenSSL alone"),
      Element("p", "Checks the signature of one certificate, and shows what was signed:"),
      Commands(
          {absl::StrCat("f=", ShellWord(file)),
           R"sh(field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/" "$f"; })sh",
           "field payload | openssl base64 -d -A > payload", "field sig | openssl base64 -d -A > sig",
           R"sh({ printf 'DSSEv1 28 application/vnd.in-toto+json %d ' "$(wc -c < payload)"; cat payload; } > pae)sh",
           absl::StrCat("openssl pkeyutl -verify -pubin -inkey ", ShellWord(key),
                        " -rawin -in pae -sigfile sig"),
           "cat payload"}));
  return Element("article", html);
}

}  // namespace expunge::report
