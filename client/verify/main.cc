// expunge-verify: checks certificates offline, with nothing but their files and a public key.
//
// Exit status: 0 every certificate verified; 1 some certificate was refused; 2 wrong usage, or a file could
// not be read or written.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "certificate/envelope.h"
#include "certificate/signing_key.h"
#include "client/verify/files.h"
#include "client/verify/report.h"

namespace expunge::verify {
namespace {

constexpr int kAllVerified = 0;
constexpr int kRefused = 1;
constexpr int kUsage = 2;
constexpr size_t kMaxKeyBytes = 4096;

constexpr char kExamples[] = R"(Examples:
  Is this certificate genuine, and what does it say?
    expunge-verify --key expunge.pub.pem certificate.json

  Check many, for a program (any of two keys may have signed):
    expunge-verify --key old.pem --key new.pem --output json *.json

  Let OpenSSL check the signature a second time:
    expunge-verify --key expunge.pub.pem --pae pae --signature sig certificate.json
    openssl pkeyutl -verify -pubin -inkey expunge.pub.pem -rawin -in pae -sigfile sig

Exit status: 0 all verified; 1 some were refused; 2 wrong usage or an unreadable file.)";

struct Arguments {
  std::vector<std::string> keys;
  std::vector<std::string> files;
  std::string output = "text";
  std::string payload_file, pae_file, signature_file;

  [[nodiscard]] bool writes() const {
    return !payload_file.empty() || !pae_file.empty() || !signature_file.empty();
  }
};

void Declare(CLI::App* app, Arguments* arguments) {
  app->footer(kExamples);
  app->set_version_flag("--version", "expunge-verify " EXPUNGE_VERSION);
  app->add_option("--key", arguments->keys, "Public key (PEM) that may have signed; repeat it for more keys")
      ->required()
      ->allow_extra_args(false)
      ->type_name("PEM");
  app->add_option("--output", arguments->output, "What to print: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app->add_option("--payload", arguments->payload_file,
                  "Write the exact verified payload here (one FILE only)")
      ->type_name("PATH");
  app->add_option("--pae", arguments->pae_file, "Write the exact bytes that are signed here (one FILE only)")
      ->type_name("PATH");
  app->add_option("--signature", arguments->signature_file,
                  "Write the signature, 64 raw bytes, here (one FILE only)")
      ->type_name("PATH");
  app->add_option("FILE", arguments->files, "Certificate files")->required();
}

absl::StatusOr<std::vector<certificate::PublicKey>> ReadKeys(const std::vector<std::string>& paths) {
  std::vector<certificate::PublicKey> keys;
  for (const std::string& path : paths) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, kMaxKeyBytes + 1));
    auto key = certificate::PublicKey::FromPem(pem);
    if (!key.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", key.status().message()));
    keys.push_back(*std::move(key));
  }
  return keys;
}

Verdict Check(const std::string& path, const std::vector<certificate::PublicKey>& keys) {
  const absl::StatusOr<std::string> envelope = ReadFile(path, certificate::kMaxEnvelopeBytes + 1);
  if (!envelope.ok()) return {path, envelope.status()};
  return {path, certificate::VerifyEnvelope(*envelope, keys)};
}

absl::Status WriteParts(const Arguments& arguments, const certificate::VerifyResult& result) {
  if (!arguments.payload_file.empty()) {
    EXPUNGE_RETURN_IF_ERROR(WriteFile(arguments.payload_file, result.payload));
  }
  if (!arguments.pae_file.empty()) {
    EXPUNGE_RETURN_IF_ERROR(WriteFile(
        arguments.pae_file, certificate::PreAuthEncoding(certificate::kPayloadType, result.payload)));
  }
  if (!arguments.signature_file.empty()) {
    EXPUNGE_RETURN_IF_ERROR(WriteFile(arguments.signature_file, result.signature));
  }
  return absl::OkStatus();
}

int Fail(absl::string_view message) {
  std::cerr << "expunge-verify: " << Printable(message) << "\n";
  return kUsage;
}

// A slip of the pen must not cost the certificate, a key, or what was just written.
bool WritesOverAnother(const Arguments& arguments) {
  std::vector<std::string> others = arguments.keys;
  others.insert(others.end(), arguments.files.begin(), arguments.files.end());
  for (const std::string& path : {arguments.payload_file, arguments.pae_file, arguments.signature_file}) {
    if (path.empty()) continue;
    for (const std::string& other : others) {
      std::error_code ignored;
      const bool device = std::filesystem::is_character_file(path, ignored);
      if (!device && (path == other || std::filesystem::equivalent(path, other, ignored))) return true;
    }
    others.push_back(path);
  }
  return false;
}

int Run(const Arguments& arguments) {
  if (arguments.writes() && arguments.files.size() != 1) {
    return Fail("--payload, --pae and --signature need exactly one FILE");
  }
  if (WritesOverAnother(arguments)) {
    return Fail("--payload, --pae and --signature need files of their own, none of them FILE or PEM");
  }
  const auto keys = ReadKeys(arguments.keys);
  if (!keys.ok()) return Fail(keys.status().message());

  std::vector<Verdict> verdicts;
  verdicts.reserve(arguments.files.size());
  for (const std::string& path : arguments.files) verdicts.push_back(Check(path, *keys));
  std::cout << (arguments.output == "json" ? JsonReport(verdicts) : TextReport(verdicts)) << std::flush;
  if (!std::cout) return Fail("cannot write the report");

  if (std::any_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.refused(); })) {
    return kRefused;
  }
  if (!std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.verified(); })) {
    return kUsage;
  }
  if (arguments.writes()) {
    const absl::Status written = WriteParts(arguments, *verdicts.front().result);
    if (!written.ok()) return Fail(written.message());
  }
  return kAllVerified;
}

}  // namespace
}  // namespace expunge::verify

int main(int argc, char** argv) {
  try {
    CLI::App app("Checks certificates of removal and of state: offline, against public keys that you trust.",
                 "expunge-verify");
    expunge::verify::Arguments arguments;
    expunge::verify::Declare(&app, &arguments);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      // Help and version are "errors" of code 0.
      return app.exit(error) == 0 ? expunge::verify::kAllVerified : expunge::verify::kUsage;
    }
    return expunge::verify::Run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "expunge-verify: %s\n", error.what());
    return expunge::verify::kUsage;
  }
}
