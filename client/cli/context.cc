#include "client/cli/context.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/printable.h"
#include "client/cli/failure.h"
#include "client/cpp/status.h"

namespace expunge::cli {
namespace {

constexpr size_t kRequestIdBytes = 16;

std::string FullName(const std::string& tenant, absl::string_view collection, const std::string& id) {
  return absl::StartsWith(id, "tenants/") ? id : absl::StrCat(tenant, "/", collection, "/", id);
}

absl::Duration TimeoutOr(const GlobalOptions& options, absl::Duration patience) {
  return options.timeout_s.has_value() ? absl::Seconds(*options.timeout_s) : patience;
}

}  // namespace

client::Client& Context::Client() {
  if (client_ == nullptr) {
    client_ = std::make_unique<client::Client>(
        client::ClientOptions{options.server, TimeoutOr(options, kPatience)});
  }
  return *client_;
}

client::AdminClient Context::Admin(absl::Duration patience) const {
  return {options.admin, TimeoutOr(options, patience)};
}

std::string Context::TenantName() const { return absl::StrCat("tenants/", options.tenant); }

std::string Context::MemoryName(const std::string& id) const {
  return FullName(TenantName(), "memories", id);
}

std::string Context::CertificateName(const std::string& id) const {
  return FullName(TenantName(), "certificates", id);
}

void Context::Print(const Json& out, const std::string& text) const {
  PrintExactly(out, PrintableLines(text));
}

void Context::PrintExactly(const Json& out, const std::string& text) const {
  absl::PrintF("%s", json() ? Dump(out) + "\n" : text);
}

std::string Dump(const Json& json) { return json.dump(2, ' ', true, Json::error_handler_t::replace); }

std::string FormatFields(absl::string_view title, const Fields& fields) {
  size_t width = 0;
  for (const auto& [name, value] : fields) width = std::max(width, name.size());
  std::string text = absl::StrCat(title, "\n");
  for (const auto& [name, value] : fields) {
    absl::StrAppendFormat(&text, "  %-*s  %s\n", static_cast<int>(width), name, Printable(value));
  }
  return text;
}

std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> lines = {header};
  lines.insert(lines.end(), rows.begin(), rows.end());
  std::vector<size_t> widths(header.size(), 0);
  for (auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      line[i] = Printable(line[i]);
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const auto& cells : lines) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      absl::StrAppendFormat(&line, "%-*s", static_cast<int>(widths[i] + 2), cells[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string Count(uint64_t count, absl::string_view noun) {
  if (count == 1) return absl::StrCat("1 ", noun);
  if (absl::EndsWith(noun, "y") && !absl::EndsWith(noun, "ey"))
    return absl::StrCat(count, " ", noun.substr(0, noun.size() - 1), "ies");
  return absl::StrCat(count, " ", noun, "s");
}

std::string RequestId(const std::string& given) {
  if (!given.empty()) return given;
  return absl::StrCat("cli-", ToHex(AsView(RandomDigest()).substr(0, kRequestIdBytes)));
}

absl::Status WithRetryHint(const absl::Status& status, const std::string& request_id) {
  const bool repeatable = client::GetOrigin(status) == client::Origin::kTransport ||
                          status.code() == absl::StatusCode::kUnavailable;
  if (status.ok() || !repeatable) return status;
  return WithHint(status,
                  absl::StrCat(HintOf(status), "; to repeat exactly this call: --request-id ", request_id));
}

}  // namespace expunge::cli
