#include "client/cpp/vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace expunge::client {
namespace {

using ::testing::ElementsAre;

TEST(VectorsTest, PackAndUnpackKeepEveryBit) {
  const double nan = std::bit_cast<double>(uint64_t{0x7ff8'0000'0000'1234});
  const Matrix matrix{2, 3, {0.1, -0.0, std::numeric_limits<double>::denorm_min(), nan, 1e308, -3}};
  const auto unpacked = Unpack(Pack(matrix, 0, 2));
  ASSERT_TRUE(unpacked.ok()) << unpacked.status();
  ASSERT_EQ(unpacked->rows, 2U);
  ASSERT_EQ(unpacked->columns, 3U);
  for (size_t i = 0; i < matrix.data.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint64_t>(unpacked->data[i]), std::bit_cast<uint64_t>(matrix.data[i])) << i;
  }
}

TEST(VectorsTest, PacksTheRowsAskedForLittleEndian) {
  const Matrix matrix{3, 1, {1, 2, 4}};
  const v1::PackedVectors packed = Pack(matrix, 1, 2);
  EXPECT_EQ(packed.rows(), 2U);
  EXPECT_EQ(packed.columns(), 1U);
  EXPECT_EQ(packed.dtype(), v1::DTYPE_FLOAT64);
  EXPECT_EQ(packed.data(), std::string("\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\x10\x40", 16));
}

TEST(VectorsTest, WidensSinglePrecisionExactly) {
  v1::PackedVectors packed;
  packed.set_dtype(v1::DTYPE_FLOAT32);
  packed.set_rows(1);
  packed.set_columns(2);
  packed.set_data(std::string("\0\0\x80\x3f\xcd\xcc\xcc\x3d", 8));
  const auto unpacked = Unpack(packed);
  ASSERT_TRUE(unpacked.ok()) << unpacked.status();
  EXPECT_THAT(unpacked->data, ElementsAre(1.0, static_cast<double>(0.1F)));
}

TEST(VectorsTest, RefusesShapesThatDoNotFitTheBytes) {
  v1::PackedVectors packed = Pack({1, 2, {1, 2}}, 0, 1);
  packed.mutable_data()->pop_back();
  EXPECT_FALSE(Unpack(packed).ok());
  packed = Pack({1, 2, {1, 2}}, 0, 1);
  packed.set_columns(3);
  EXPECT_FALSE(Unpack(packed).ok());
  packed = Pack({1, 2, {1, 2}}, 0, 1);
  packed.set_dtype(v1::DTYPE_UNSPECIFIED);
  EXPECT_FALSE(Unpack(packed).ok());
  packed.set_dtype(v1::DTYPE_FLOAT64);
  packed.set_rows(0x8000'0000U);
  packed.set_columns(0x8000'0000U);  // the product of the dimensions times 8 is 0 in 64 bits
  packed.clear_data();
  EXPECT_FALSE(Unpack(packed).ok());
}

}  // namespace
}  // namespace expunge::client
