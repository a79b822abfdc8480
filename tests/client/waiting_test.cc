#include "client/cli/waiting.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace expunge::cli {
namespace {

TEST(WaitingTest, DrawsOnATerminalAndTakesTheLineAway) {
  int reader = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&reader, &terminal, nullptr, nullptr, nullptr), 0);
  FILE* stream = fdopen(terminal, "w");
  ASSERT_NE(stream, nullptr);
  { const Waiting waiting("making the backup", stream); }
  std::string drawn(4096, '\0');
  const ssize_t bytes = read(reader, drawn.data(), drawn.size());
  ASSERT_GT(bytes, 0);
  drawn.resize(static_cast<size_t>(bytes));
  EXPECT_EQ(drawn, "\rmaking the backup  0:00\x1b[K\r\x1b[K");
  fclose(stream);
  close(reader);
}

TEST(WaitingTest, DrawsNothingElsewhere) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  FILE* stream = fdopen(ends[1], "w");
  ASSERT_NE(stream, nullptr);
  { const Waiting waiting("making the backup", stream); }
  fclose(stream);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace expunge::cli
