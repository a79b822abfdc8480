// What all commands share: global options, the connection, names and output.
#ifndef EXPUNGE_CLIENT_CLI_CONTEXT_H_
#define EXPUNGE_CLIENT_CLI_CONTEXT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/cpp/admin_client.h"
#include "client/cpp/client.h"
#include "nlohmann/json.hpp"

namespace expunge::cli {

using Json = nlohmann::ordered_json;

// What a parsed command line does. Set by the chosen subcommand, run once.
using Action = std::function<absl::Status()>;

// "name" and value, one a line, under a title.
using Fields = std::vector<std::pair<std::string, std::string>>;

struct GlobalOptions {
  std::string server = "127.0.0.1:7420";
  std::string admin = "unix:/var/lib/expunge/admin.sock";
  std::string tenant = "default";
  std::string output = "text";      // or "json"
  std::optional<double> timeout_s;  // for each answer
};

// How long an answer may take, unless the options say otherwise.
inline constexpr absl::Duration kPatience = absl::Seconds(60);

class Context {
 public:
  GlobalOptions options;
  Action action;

  [[nodiscard]] bool json() const { return options.output == "json"; }

  // Made on first use; reads `options`.
  [[nodiscard]] client::Client& Client();
  // To the administration, waiting for answers as long as `options` say, or else for `patience`.
  [[nodiscard]] client::AdminClient Admin(absl::Duration patience = kPatience) const;

  // tenants/{tenant}
  [[nodiscard]] std::string TenantName() const;
  // Full resource names; `id` may be one already.
  [[nodiscard]] std::string MemoryName(const std::string& id) const;
  [[nodiscard]] std::string CertificateName(const std::string& id) const;

  // To standard output: `json` with --output json, else `text`.
  // Control characters in `text` are shown as \xNN: a name or a message must not steer the terminal.
  void Print(const Json& json, const std::string& text) const;
  // The same, but `text` byte for byte.
  void PrintExactly(const Json& json, const std::string& text) const;

 private:
  std::unique_ptr<client::Client> client_;
};

// `json` as ASCII text, two spaces a level; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string Dump(const Json& json);

// One line a field, whatever is in it.
[[nodiscard]] std::string FormatFields(absl::string_view title, const Fields& fields);

// Columns as wide as their widest cell; one line a row, whatever is in it. `rows` may be empty. REQUIRES:
// every row has header.size() cells.
[[nodiscard]] std::string FormatTable(const std::vector<std::string>& header,
                                      const std::vector<std::vector<std::string>>& rows);

// "1 token", "2 tokens".
[[nodiscard]] std::string Count(uint64_t count, absl::string_view noun);

// `given`, or a random one.
[[nodiscard]] std::string RequestId(const std::string& given);

// After a mutating call whose outcome is unknown, or that may be repeated: a hint that names the request id.
[[nodiscard]] absl::Status WithRetryHint(const absl::Status& status, const std::string& request_id);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_CONTEXT_H_
