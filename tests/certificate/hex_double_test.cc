#include "certificate/hex_double.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

namespace expunge::certificate {
namespace {

constexpr uint64_t kSeed = 20261129;

std::string Printf(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%a", value);
  return text;
}

TEST(HexDoubleTest, IsTheFormOfPrintfAndComesBackAsTheSameBits) {
  std::cout << "seed " << kSeed << "\n";
  std::mt19937_64 random(kSeed);
  using Limits = std::numeric_limits<double>;
  std::vector<double> values = {0.0,
                                -0.0,
                                1,
                                -1.5,
                                0.1,
                                Limits::min(),
                                Limits::denorm_min(),
                                std::nextafter(Limits::min(), 0.0),
                                Limits::max(),
                                Limits::lowest(),
                                Limits::infinity(),
                                -Limits::infinity()};
  for (int i = 0; i < 100'000; ++i) {
    const auto value = std::bit_cast<double>(random() >> (i % 2 == 0 ? 0 : 12));  // every second: subnormal
    if (!std::isnan(value)) values.push_back(value);
  }
  for (const double value : values) {
    ASSERT_EQ(HexDouble(value), Printf(value));
    const std::optional<double> parsed = ParseHexDouble(HexDouble(value));
    ASSERT_TRUE(parsed.has_value()) << HexDouble(value);
    ASSERT_EQ(std::bit_cast<uint64_t>(*parsed), std::bit_cast<uint64_t>(value));
  }
  EXPECT_EQ(HexDouble(Limits::quiet_NaN()), "nan");
  EXPECT_EQ(HexDouble(-Limits::quiet_NaN()), "nan");
}

TEST(HexDoubleTest, RefusesEveryOtherSpelling) {
  for (const char* text :
       {"",         "0",        "1.5",       "0x1p0",     "0x1.0p+0",  "0x1.80p-3",
        "0X1.8p-3", "0x1.8P-3", "0x1.8p-03", "+0x1p+0",   " 0x1p+0",   "0x1p+0 ",
        "0x2p+0",   "0x0.8p+0", "0x.8p+0",   "0x1p+1024", "0x1p-1075", "0x0p+1",
        "nan",      "-nan",     "infinity",  "INF",       "--0x1p+0",  "-",
        "0x",       "0xp+0",    "0x1",       "0x1.AP+0",  "0x1.Ap+0",  "0x1.00000000000000p+0"}) {
    EXPECT_FALSE(ParseHexDouble(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace expunge::certificate
