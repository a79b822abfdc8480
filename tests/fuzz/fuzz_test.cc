// Every target, over its seeds, over mutations of them that are always the same, and over bytes like noise.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/mutations.h"
#include "tests/fuzz/targets.h"

namespace expunge::fuzz {

// What GoogleTest shows of a parameter, which is part of ctest's name of a test.
static void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace {

constexpr uint64_t kMutations = 1500;
constexpr size_t kNoise = 200;

class FuzzTest : public ::testing::TestWithParam<Target> {};

TEST_P(FuzzTest, StandsSeedsMutationsAndNoise) {
  const Target& target = GetParam();
  const std::vector<std::string> seeds = target.seeds();
  ASSERT_FALSE(seeds.empty());
  target.run("");
  for (const std::string& seed : seeds) target.run(seed);
  for (uint64_t number = 0; number < kMutations; ++number) {
    RecordProperty("mutation", static_cast<int>(number));  // the last one, if it ends here
    target.run(Mutate(seeds, number));
  }
  std::mt19937_64 random(17);
  for (size_t i = 0; i < kNoise; ++i) {
    std::string noise(random() % 300, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    target.run(noise);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, FuzzTest, ::testing::ValuesIn(AllTargets().begin(), AllTargets().end()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(MutateTest, IsAlwaysTheSameAndChangesMostSeeds) {
  const std::vector<std::string> seeds = {"one seed of some length", "another"};
  size_t changed = 0;
  for (uint64_t number = 0; number < 100; ++number) {
    const std::string bytes = Mutate(seeds, number);
    EXPECT_EQ(bytes, Mutate(seeds, number));
    if (bytes != seeds[0] && bytes != seeds[1]) ++changed;
  }
  EXPECT_GT(changed, 80U);
}

}  // namespace
}  // namespace expunge::fuzz
