#include "certificate/commitment.h"

#include <algorithm>

#include "base/hash.h"

namespace expunge::certificate {
namespace {

constexpr absl::string_view kLabel = "expunge token commitment v1";

void AppendVector(absl::Span<const double> vector, std::string* out) {
  std::string bytes;
  bytes.reserve(vector.size() * sizeof(double));
  for (const double element : vector) AppendDouble(element, &bytes);
  AppendField(bytes, out);
}

}  // namespace

Digest TokenCommitment(const Digest& salt, absl::string_view token_name, std::vector<std::string> subjects,
                       absl::Span<const double> key, absl::Span<const double> value) {
  std::sort(subjects.begin(), subjects.end());
  // The fields can be told apart: the first two and the last two are fixed, all between them are subjects.
  std::string message;
  AppendField(kLabel, &message);
  AppendField(token_name, &message);
  for (const std::string& subject : subjects) AppendField(subject, &message);
  AppendVector(key, &message);
  AppendVector(value, &message);
  return HmacSha256(AsView(salt), message);
}

}  // namespace expunge::certificate
