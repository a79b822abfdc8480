#include "attention/cpu/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace expunge::attention::cpu {
namespace {

// Calls for `count` pieces; returns how many of them were not done exactly once.
size_t Mistakes(ThreadTeam* team, size_t count) {
  std::vector<std::atomic<int>> done(count);
  team->ForEach(count, team->threads(), [&](size_t i) { done[i].fetch_add(1); });
  size_t mistakes = 0;
  for (const std::atomic<int>& times : done) mistakes += times == 1 ? 0 : 1;
  return mistakes;
}

TEST(ThreadTeamTest, EveryPieceIsDoneOnce) {
  for (const size_t threads : {1, 2, 7}) {
    ThreadTeam team(threads);
    EXPECT_EQ(team.threads(), threads);
    for (const size_t count : {0, 1, 2, 3, 100}) EXPECT_EQ(Mistakes(&team, count), 0U);
  }
  EXPECT_GE(ThreadTeam(0).threads(), 1U);
}

// Helpers that were called and came too late must not keep the team from ending.
TEST(ThreadTeamTest, ATeamEndsAtOnceAfterACall) {
  for (int repeat = 0; repeat < 300; ++repeat) {
    ThreadTeam team(4);
    ASSERT_EQ(Mistakes(&team, static_cast<size_t>(repeat) % 5), 0U);
  }
}

TEST(ThreadTeamTest, ManyCallersShareOneTeam) {
  ThreadTeam team(3);
  std::atomic<size_t> mistakes = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (size_t repeat = 0; repeat < 200; ++repeat) mistakes += Mistakes(&team, repeat % 20);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(mistakes, 0U);
}

TEST(ThreadTeamTest, NoMoreThreadsWorkThanAreAllowed) {
  ThreadTeam team(6);
  for (const size_t allowed : {1, 2, 3}) {
    std::atomic<size_t> working = 0;
    std::atomic<size_t> most = 0;
    team.ForEach(60, allowed, [&](size_t) {
      const size_t now = working.fetch_add(1) + 1;
      if (now > most) most = now;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      working.fetch_sub(1);
    });
    EXPECT_LE(most, allowed);
  }
}

// A helper that sleeps is woken: the caller waits in its piece for another one to begin.
TEST(ThreadTeamTest, PiecesRunAtTheSameTime) {
  ThreadTeam team(2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> begun = 0;
    team.ForEach(2, 2, [&](size_t) {
      begun.fetch_add(1);
      while (begun.load() < 2) std::this_thread::yield();
    });
    EXPECT_EQ(begun, 2);
  }
}

}  // namespace
}  // namespace expunge::attention::cpu
