#include "client/cli/bundle_arrival.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/failure.h"
#include "tests/support/files.h"

namespace expunge::cli {
namespace {

std::string Golden() {
  std::string bundle = test_support::ReadWholeFile(EXPUNGE_GOLDEN_BUNDLE);
  EXPECT_FALSE(bundle.empty()) << EXPUNGE_GOLDEN_BUNDLE;
  return bundle;
}

absl::Status Arrive(absl::string_view bundle, size_t chunk) {
  BundleArrival arrival;
  for (size_t at = 0; at < bundle.size(); at += chunk) arrival.Take(bundle.substr(at, chunk));
  EXPECT_EQ(arrival.bytes(), bundle.size());
  return arrival.Finish();
}

TEST(BundleArrivalTest, AWholeBundleIsWholeHoweverItIsCut) {
  const std::string bundle = Golden();
  for (const size_t chunk : {size_t{1}, size_t{7}, size_t{64}, bundle.size()}) {
    EXPECT_TRUE(Arrive(bundle, chunk).ok()) << chunk;
  }
}

TEST(BundleArrivalTest, NoTruncationPasses) {
  const std::string bundle = Golden();
  for (size_t size = 0; size < bundle.size(); ++size) {
    EXPECT_EQ(RefusalReason(Arrive(absl::string_view(bundle).substr(0, size), 4096)), "BUNDLE_DAMAGED")
        << size;
  }
}

TEST(BundleArrivalTest, NoChangedByteAndNoMissingLinePasses) {
  const std::string bundle = Golden();
  for (size_t at = 0; at < bundle.size(); ++at) {
    std::string changed = bundle;
    changed[at] ^= 1;
    EXPECT_FALSE(Arrive(changed, 4096).ok()) << at;
  }
  std::string shorter = bundle;
  const size_t second = shorter.find('\n') + 1;
  shorter.erase(second, shorter.find('\n', second) + 1 - second);
  EXPECT_FALSE(Arrive(shorter, 4096).ok());
  EXPECT_FALSE(Arrive(bundle + "\n", 4096).ok());
  EXPECT_FALSE(Arrive(bundle + bundle, 4096).ok());
}

}  // namespace
}  // namespace expunge::cli
