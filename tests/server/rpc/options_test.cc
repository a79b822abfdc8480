#include "server/rpc/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/files.h"

namespace expunge::rpc {
namespace {

using testing::HasSubstr;

ParseOutcome Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "expunged");
  std::vector<const char*> argv;
  argv.reserve(arguments.size());
  for (const auto& argument : arguments) argv.push_back(argument.c_str());
  return ParseProgramOptions(static_cast<int>(argv.size()), argv.data());
}

class ConfigFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = directory_ / "expunged.toml";
    std::ofstream(path) << text;
    return path;
  }
  test_support::TemporaryDirectory directory_;
};

TEST(OptionsTest, OnlyTheDataDirectoryIsRequired) {
  const auto outcome = Parse({"--data-dir", "/d"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.error;
  const ServerOptions& server = outcome.options->server;
  EXPECT_EQ(server.data_dir, "/d");
  EXPECT_EQ(server.address, "127.0.0.1:7420");
  EXPECT_EQ(server.admin_address, "");
  EXPECT_EQ(server.key_file, "");
  EXPECT_EQ(server.master_key_token.module, "");
  EXPECT_EQ(server.master_key_token.key, "expunge-master");
  EXPECT_EQ(server.max_message_bytes, 64U << 20);
  EXPECT_EQ(server.max_queued, 256U);
  EXPECT_EQ(server.max_streams, 64U);
  EXPECT_EQ(server.max_tokens_per_memory, 100'000U);
  EXPECT_EQ(server.max_live_solver_bytes, 1U << 30);
  EXPECT_TRUE(server.recover_by_solving);
  EXPECT_EQ(server.readout.backend, attention::BackendChoice::kAuto);
  EXPECT_EQ(server.readout.threads, 0U);
  EXPECT_EQ(server.readout.device_bytes, uint64_t{2} << 30);
  EXPECT_EQ(server.readout_batch_delay, std::chrono::microseconds(0));
  EXPECT_FALSE(server.allow_remote_plaintext);
  EXPECT_EQ(outcome.options->log.level, LogLevel::kInfo);
  EXPECT_EQ(outcome.options->log.file, "");
  const auto missing = Parse({});
  EXPECT_EQ(missing.exit_code, kUsageError);
  EXPECT_THAT(missing.error, HasSubstr("--data-dir"));
}

TEST(OptionsTest, FsckTakesTheServersOptionsAndItsOwn) {
  const auto plain = Parse({"fsck", "--data-dir", "/d", "--vault-dir", "/v"});
  ASSERT_TRUE(plain.options.has_value()) << plain.error;
  EXPECT_EQ(plain.options->command, Command::kFsck);
  EXPECT_EQ(plain.options->server.data_dir, "/d");
  EXPECT_EQ(plain.options->server.vault_dir, "/v");
  EXPECT_FALSE(plain.options->fsck.json);
  EXPECT_TRUE(plain.options->fsck.solve);
  const auto before = Parse({"--data-dir", "/d", "fsck", "--output", "json", "--states", "hash"});
  ASSERT_TRUE(before.options.has_value()) << before.error;
  EXPECT_EQ(before.options->command, Command::kFsck);
  EXPECT_TRUE(before.options->fsck.json);
  EXPECT_FALSE(before.options->fsck.solve);
  EXPECT_EQ(Parse({"--data-dir", "/d"}).options->command, Command::kServe);
  EXPECT_EQ(Parse({"fsck"}).exit_code, kUsageError);
  EXPECT_EQ(Parse({"fsck", "--data-dir", "/d", "--output", "xml"}).exit_code, kUsageError);
  const auto help = Parse({"fsck", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("expunged fsck --data-dir"));
}

TEST(OptionsTest, EveryFlagArrives) {
  const auto outcome = Parse({"--data-dir",
                              "/d",
                              "--address",
                              "[::1]:0",
                              "--admin-address",
                              "unix:/a",
                              "--key-file",
                              "/k",
                              "--master-key-file",
                              "/mk",
                              "--master-key-module",
                              "/m.so",
                              "--master-key-token",
                              "token",
                              "--master-key-label",
                              "label",
                              "--master-key-pin-file",
                              "/pin",
                              "--checkpoint-key-file",
                              "/ck",
                              "--signing-key-module",
                              "/s.so",
                              "--signing-key-token",
                              "signers",
                              "--signing-key-label",
                              "one",
                              "--checkpoint-key-label",
                              "two",
                              "--signing-key-pin-file",
                              "/spin",
                              "--log-level",
                              "debug",
                              "--log-file",
                              "/l",
                              "--worker-threads",
                              "3",
                              "--max-message-bytes",
                              "4096",
                              "--max-queued",
                              "7",
                              "--max-streams",
                              "5",
                              "--max-tokens-per-memory",
                              "11",
                              "--max-solver-bytes",
                              "13",
                              "--recover",
                              "hash",
                              "--readout",
                              "cpu",
                              "--readout-threads",
                              "6",
                              "--readout-batch-delay",
                              "250us",
                              "--readout-device-memory",
                              "1073741824",
                              "--allow-remote-plaintext",
                              "--port-file",
                              "/p"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.error;
  const ProgramOptions& options = *outcome.options;
  EXPECT_EQ(options.server.address, "[::1]:0");
  EXPECT_EQ(options.server.admin_address, "unix:/a");
  EXPECT_EQ(options.server.key_file, "/k");
  EXPECT_EQ(options.server.checkpoint_key_file, "/ck");
  EXPECT_EQ(options.server.signing_token.module, "/s.so");
  EXPECT_EQ(options.server.signing_token.label, "signers");
  EXPECT_EQ(options.server.signing_token.certificate_key, "one");
  EXPECT_EQ(options.server.signing_token.checkpoint_key, "two");
  EXPECT_EQ(options.server.signing_token.pin_file, "/spin");
  EXPECT_EQ(options.server.master_key_file, "/mk");
  EXPECT_EQ(options.server.master_key_token.module, "/m.so");
  EXPECT_EQ(options.server.master_key_token.label, "token");
  EXPECT_EQ(options.server.master_key_token.key, "label");
  EXPECT_EQ(options.server.master_key_token.pin_file, "/pin");
  EXPECT_EQ(options.log.level, LogLevel::kDebug);
  EXPECT_EQ(options.log.file, "/l");
  EXPECT_EQ(options.server.worker_threads, 3U);
  EXPECT_EQ(options.server.readout.backend, attention::BackendChoice::kCpu);
  EXPECT_EQ(options.server.readout.threads, 6U);
  EXPECT_EQ(options.server.readout.device_bytes, uint64_t{1} << 30);
  EXPECT_EQ(options.server.readout_batch_delay, std::chrono::microseconds(250));
  EXPECT_EQ(options.server.max_message_bytes, 4096U);
  EXPECT_EQ(options.server.max_queued, 7U);
  EXPECT_EQ(options.server.max_streams, 5U);
  EXPECT_EQ(options.server.max_tokens_per_memory, 11U);
  EXPECT_EQ(options.server.max_live_solver_bytes, 13U);
  EXPECT_FALSE(options.server.recover_by_solving);
  EXPECT_TRUE(options.server.allow_remote_plaintext);
  EXPECT_EQ(options.port_file, "/p");
}

TEST(OptionsTest, MistakesAreRefusedWithTheOptionNamed) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {{"--worker-threads", "-1"},
                                                                     {"--worker-threads", "many"},
                                                                     {"--max-message-bytes", "10"},
                                                                     {"--max-queued", "0"},
                                                                     {"--max-streams", "0"},
                                                                     {"--max-tokens-per-memory", "0"},
                                                                     {"--recover", "guess"},
                                                                     {"--max-tokens-per-memory", "400001"},
                                                                     {"--max-solver-bytes", "-1"},
                                                                     {"--log-level", "loud"},
                                                                     {"--readout", "gpu"},
                                                                     {"--readout", ""},
                                                                     {"--readout-threads", "-1"},
                                                                     {"--readout-threads", "1025"},
                                                                     {"--readout-device-memory", "0"},
                                                                     {"--readout-device-memory", "2GiB"},
                                                                     {"--max-message-bytes", "2147483648"}};
  for (const auto& [option, value] : mistakes) {
    const auto outcome = Parse({"--data-dir", "/d", option, value});
    EXPECT_FALSE(outcome.options.has_value()) << option << " " << value;
    EXPECT_EQ(outcome.exit_code, kUsageError);
    EXPECT_THAT(outcome.error, HasSubstr(option));
    EXPECT_THAT(outcome.error, HasSubstr("expunged --help"));
  }
  EXPECT_EQ(Parse({"--data-dir", "/d", "--no-such-flag"}).exit_code, kUsageError);
  EXPECT_EQ(Parse({"--data-dir", "/d", "stray"}).exit_code, kUsageError);
}

TEST(OptionsTest, TimesAreReadWithTheirUnitsAndWithinTheirLimits) {
  for (const char* bad : {"-1ms", "101ms", "1s", "5", "soon", ""}) {
    const auto outcome = Parse({"--data-dir", "/d", "--readout-batch-delay", bad});
    EXPECT_FALSE(outcome.options.has_value()) << bad;
    EXPECT_EQ(outcome.exit_code, kUsageError);
    EXPECT_THAT(outcome.error, HasSubstr("--readout-batch-delay"));
  }
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, int>>{{"0", 0}, {"100ms", 100'000}, {"1.5ms", 1500}, {"10ns", 1}}) {
    const auto outcome = Parse({"--data-dir", "/d", "--readout-batch-delay", text});
    ASSERT_TRUE(outcome.options.has_value()) << text << outcome.error;
    EXPECT_EQ(outcome.options->server.readout_batch_delay, std::chrono::microseconds(expected)) << text;
  }
}

TEST(OptionsTest, HelpHasExamplesAndEveryOption) {
  const auto help = Parse({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_FALSE(help.options.has_value());
  EXPECT_EQ(help.error, "");
  for (const char* text : {"--data-dir",
                           "--address",
                           "--admin-address",
                           "--key-file",
                           "--log-level",
                           "--log-file",
                           "--worker-threads",
                           "--max-message-bytes",
                           "--max-queued",
                           "--max-streams",
                           "--max-tokens-per-memory",
                           "--max-solver-bytes",
                           "--readout",
                           "--readout-threads",
                           "--readout-batch-delay",
                           "--readout-device-memory",
                           "--recover",
                           "--allow-remote-plaintext",
                           "--port-file",
                           "--version",
                           "--config",
                           "Examples:",
                           "Exit codes:"}) {
    EXPECT_THAT(help.output, HasSubstr(text));
  }
  const auto version = Parse({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.output, testing::MatchesRegex(
                                  "expunged [0-9]+\\.[0-9]+\\.[0-9]+ \\(.+\\)(, with fault points: .+)?\n"));
}

TEST_F(ConfigFileTest, IsReadAndTheCommandLineWins) {
  const std::string path = Write(
      "# comment\ndata-dir = \"/from/file\"\nmax-queued = 5  # five\nallow-remote-plaintext = true\nrecover "
      "= \"hash\"\n");
  const auto outcome = Parse({"--config", path, "--max-queued", "9"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.error;
  EXPECT_EQ(outcome.options->server.data_dir, "/from/file");
  EXPECT_EQ(outcome.options->server.max_queued, 9U);
  EXPECT_TRUE(outcome.options->server.allow_remote_plaintext);
  EXPECT_FALSE(outcome.options->server.recover_by_solving);
}

TEST_F(ConfigFileTest, AnUnknownKeyIsRefusedByName) {
  for (const std::string key : {"max-qeued", "section.max-queued"}) {
    const auto outcome = Parse({"--config", Write("data-dir = \"/d\"\n" + key + " = 5\n")});
    EXPECT_FALSE(outcome.options.has_value());
    EXPECT_EQ(outcome.exit_code, kUsageError);
    EXPECT_THAT(outcome.error, HasSubstr(key));
    EXPECT_THAT(outcome.error, HasSubstr("unknown key"));
  }
  EXPECT_FALSE(
      Parse({"--config", Write("data-dir = \"/d\"\n[server]\nmax-queued = 5\n")}).options.has_value());
}

TEST_F(ConfigFileTest, WrongValuesTwiceGivenKeysAndMissingFilesAreRefused) {
  EXPECT_THAT(Parse({"--config", Write("data-dir = \"/d\"\nmax-queued = \"some\"\n")}).error,
              HasSubstr("max-queued"));
  EXPECT_THAT(Parse({"--config", Write("data-dir = \"/d\"\nmax-queued = 0\n")}).error,
              HasSubstr("max-queued"));
  EXPECT_FALSE(
      Parse({"--config", Write("data-dir = \"/d\"\nmax-queued = 5\nmax-queued = 6\n")}).options.has_value());
  const auto missing = Parse({"--config", "/no/such/expunged.toml", "--data-dir", "/d"});
  EXPECT_EQ(missing.exit_code, kUsageError);
  EXPECT_THAT(missing.error, HasSubstr("/no/such/expunged.toml"));
}

TEST(ExampleConfigTest, LoadsAndStatesTheDefaults) {
  const auto outcome = Parse({"--config", EXPUNGE_EXAMPLE_CONFIG});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.error;
  const ServerOptions defaults;
  const ServerOptions& server = outcome.options->server;
  EXPECT_EQ(server.data_dir, "/var/lib/expunge");
  EXPECT_EQ(server.key_file, "/var/lib/expunge/signing_key.pem");
  EXPECT_EQ(server.vault_dir, "/var/lib/expunge-vault");
  EXPECT_EQ(server.admin_address, "unix:/var/lib/expunge/admin.sock");
  EXPECT_EQ(server.address, defaults.address);
  EXPECT_EQ(server.worker_threads, defaults.worker_threads);
  EXPECT_EQ(server.max_message_bytes, defaults.max_message_bytes);
  EXPECT_EQ(server.max_queued, defaults.max_queued);
  EXPECT_EQ(server.max_tokens_per_memory, defaults.max_tokens_per_memory);
  EXPECT_EQ(server.max_live_solver_bytes, defaults.max_live_solver_bytes);
  EXPECT_EQ(server.readout.backend, defaults.readout.backend);
  EXPECT_EQ(server.readout.threads, defaults.readout.threads);
  EXPECT_EQ(server.readout.device_bytes, defaults.readout.device_bytes);
  EXPECT_EQ(server.readout_batch_delay, defaults.readout_batch_delay);
  EXPECT_EQ(server.recover_by_solving, defaults.recover_by_solving);
  EXPECT_EQ(server.reserve_bytes, defaults.reserve_bytes);
  EXPECT_EQ(server.ledger_copy_file, defaults.ledger_copy_file);
  EXPECT_EQ(server.allow_remote_plaintext, defaults.allow_remote_plaintext);
  EXPECT_EQ(outcome.options->log.level, LogLevel::kInfo);
}

TEST(ExampleConfigTest, MentionsEveryOptionThatAServiceWouldSet) {
  const std::string text = test_support::ReadWholeFile(EXPUNGE_EXAMPLE_CONFIG);
  for (const char* key : {"data-dir",
                          "address",
                          "admin-address",
                          "vault-dir",
                          "key-file",
                          "ledger-copy",
                          "reserve-bytes",
                          "log-level",
                          "log-file",
                          "worker-threads",
                          "max-message-bytes",
                          "max-queued",
                          "max-tokens-per-memory",
                          "max-solver-bytes",
                          "readout",
                          "readout-threads",
                          "readout-batch-delay",
                          "readout-device-memory",
                          "recover",
                          "allow-remote-plaintext"}) {
    EXPECT_THAT(text, HasSubstr(std::string(key) + " = ")) << key;
  }
}

}  // namespace
}  // namespace expunge::rpc
