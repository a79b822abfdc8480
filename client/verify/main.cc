// expunge-verify: checks certificates offline, with nothing but files and keys that the auditor trusts.
//
// Exit status: 0 nothing is refused, and all that was asked for was checked; 1 something is refused, or was
// left open; 2 wrong usage, or a file could not be read or written.
#include <CLI/CLI.hpp>
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
#include "client/verify/audit.h"
#include "client/verify/files.h"
#include "client/verify/inputs.h"
#include "client/verify/report.h"

namespace expunge::verify {
namespace {

constexpr int kAllVerified = 0;
constexpr int kRefused = 1;
constexpr int kUsage = 2;

constexpr char kExamples[] = R"(Examples:
  Is this certificate genuine, and what does it say?
    expunge-verify --key expunge.pub.pem certificate.json

  All certificates of a memory: none missing, all in the log, each by a key in its time?
    expunge-verify --key expunge.pub.pem --keys keys.json certificates/

  Does the log still begin as it did? And is it whole?
    expunge-verify --key expunge.pub.pem --keys keys.json --log log/ --old-checkpoint kept certificates/

  Does a certificate speak of my token?
    expunge-verify --key expunge.pub.pem --receipts receipts.jsonl certificate.json

  Is the mathematics right? Solves the memory again, from nothing.
    expunge-verify --key expunge.pub.pem --bundle bundle.jsonl certificate.json

  Let OpenSSL check the signature a second time:
    expunge-verify --key expunge.pub.pem --pae pae --signature sig certificate.json
    openssl pkeyutl -verify -pubin -inkey expunge.pub.pem -rawin -in pae -sigfile sig

Exit status: 0 all verified; 1 something is refused, or asked for and not checked;
2 wrong usage or an unreadable file.)";

struct Arguments {
  Paths paths;
  std::string output = "text";
  std::string payload_file, pae_file, signature_file;

  [[nodiscard]] bool writes() const {
    return !payload_file.empty() || !pae_file.empty() || !signature_file.empty();
  }
};

void Declare(CLI::App* app, Arguments* arguments) {
  app->footer(kExamples);
  app->set_version_flag("--version", "expunge-verify " EXPUNGE_VERSION);
  Paths& paths = arguments->paths;
  app->add_option("--key", paths.keys, "Public key (PEM) that may have signed; repeat it for more keys")
      ->required()
      ->allow_extra_args(false)
      ->type_name("PEM");
  app->add_option("--keys", paths.key_sets, "Published key sets (keys.json); a --key must have signed one")
      ->type_name("FILE");
  app->add_option("--log-key", paths.log_keys,
                  "Key of the log, as a vkey; --keys brings those of the service")
      ->allow_extra_args(false)
      ->type_name("VKEY|FILE");
  app->add_option("--log", paths.log, "A copy of the log's files (tlog-tiles)")->type_name("DIR");
  app->add_option("--old-checkpoint", paths.old_checkpoint,
                  "A checkpoint that you kept: the log must begin with it")
      ->type_name("FILE");
  app->add_option("--receipts", paths.receipts, "Receipts of Add: does a certificate name their tokens?")
      ->type_name("FILE");
  app->add_option("--bundle", paths.bundle, "Audit bundle: solved again from nothing, and compared")
      ->type_name("FILE");
  app->add_option("--output", arguments->output, "What to print: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app->add_option("--payload", arguments->payload_file,
                  "Write the exact verified payload here (one PATH only)")
      ->type_name("PATH");
  app->add_option("--pae", arguments->pae_file, "Write the exact bytes that are signed here (one PATH only)")
      ->type_name("PATH");
  app->add_option("--signature", arguments->signature_file,
                  "Write the signature, 64 raw bytes, here (one PATH only)")
      ->type_name("PATH");
  app->add_option("PATH", paths.certificates,
                  "Certificates, and folders of them; the proof of NAME.json is NAME.tlog-proof beside it")
      ->required();
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
  const Paths& paths = arguments.paths;
  std::vector<std::string> others = paths.keys;
  others.insert(others.end(), paths.certificates.begin(), paths.certificates.end());
  others.insert(others.end(), paths.log_keys.begin(), paths.log_keys.end());
  for (const std::string& path : {paths.key_sets, paths.old_checkpoint, paths.receipts, paths.bundle}) {
    if (!path.empty()) others.push_back(path);
  }
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
  std::error_code ignored;
  const std::vector<std::string>& files = arguments.paths.certificates;
  if (arguments.writes() && (files.size() != 1 || std::filesystem::is_directory(files.front(), ignored))) {
    return Fail("--payload, --pae and --signature need exactly one certificate");
  }
  if (WritesOverAnother(arguments)) {
    return Fail("--payload, --pae and --signature need files of their own, none of those that are read");
  }
  const absl::StatusOr<Inputs> inputs = ReadInputs(arguments.paths);
  if (!inputs.ok()) return Fail(inputs.status().message());
  const Report report = Audit(*inputs);
  std::cout << (arguments.output == "json" ? JsonReport(report) : TextReport(report)) << std::flush;
  if (!std::cout) return Fail("cannot write the report");
  if (report.refused()) return kRefused;
  if (!report.verified()) return kUsage;
  if (arguments.writes()) {
    const absl::Status written = WriteParts(arguments, *report.certificates.front().result);
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
