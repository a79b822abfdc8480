#include "client/cli/http.h"

#include <curl/curl.h>

#include <array>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/failure.h"

namespace expunge::cli {
namespace {

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Answer {
  std::string bytes;
  size_t limit = 0;
};

// libcurl's callback: fewer bytes taken than given end the transfer.
size_t Take(char* data, size_t size, size_t count, void* user) {
  auto* const answer = static_cast<Answer*>(user);
  const size_t bytes = size * count;
  if (bytes > answer->limit - answer->bytes.size()) return 0;
  answer->bytes.append(data, bytes);
  return bytes;
}

absl::Status Failed(const HttpRequest& request, absl::string_view reason) {
  return UsageFailure(absl::StrCat("no answer from ", request.url, ": ", reason),
                      "check the URL and the network; the query is in its file, and can be sent by hand");
}

}  // namespace

absl::StatusOr<std::string> Post(const HttpRequest& request) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, FreeHandle> handle(curl_easy_init());
  std::unique_ptr<curl_slist, FreeList> headers(
      curl_slist_append(nullptr, absl::StrCat("Content-Type: ", request.content_type).c_str()));
  if (ready != CURLE_OK || handle == nullptr || headers == nullptr)
    return Failed(request, "libcurl cannot start");
  curl_slist_append(headers.get(), absl::StrCat("Accept: ", request.accept).c_str());
  Answer answer{"", request.max_answer_bytes};
  std::array<char, CURL_ERROR_SIZE> reason{};
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(request.timeout)));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_WRITE_ERROR) return Failed(request, "it is too long");
  if (code != CURLE_OK) return Failed(request, reason[0] != '\0' ? reason.data() : curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return Failed(request, absl::StrCat("HTTP status ", status));
  return std::move(answer.bytes);
}

}  // namespace expunge::cli
