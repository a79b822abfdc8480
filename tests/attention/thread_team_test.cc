#include "attention/cpu/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
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

struct Thrown {
  size_t piece;
};

// Calls for 40 pieces that throw where `throws` says so; returns whether one of theirs came out, once nothing
// ran.
template <typename Throws>
bool ThrowsWhatAPieceThrew(ThreadTeam* team, const Throws& throws) {
  auto running = std::make_unique<std::atomic<int>>(0);
  try {
    team->ForEach(40, team->threads(), [&](size_t i) {
      running->fetch_add(1);
      std::this_thread::yield();
      running->fetch_sub(1);
      if (throws(i)) throw Thrown{i};
    });
  } catch (const Thrown& thrown) {
    return running->load() == 0 && throws(thrown.piece);
  }
  return false;
}

TEST(ThreadTeamTest, WhatAPieceThrowsComesOutWhenAllHaveEnded) {
  const std::thread::id caller = std::this_thread::get_id();
  for (const size_t threads : {1, 2, 4}) {
    ThreadTeam team(threads);
    for (int repeat = 0; repeat < 500; ++repeat) {
      ASSERT_TRUE(ThrowsWhatAPieceThrew(&team, [](size_t) { return true; }));
      ASSERT_TRUE(ThrowsWhatAPieceThrew(&team, [](size_t i) { return i == 39; }));
      ASSERT_TRUE(ThrowsWhatAPieceThrew(&team, [](size_t i) { return i % 3 == 2; }));
      ASSERT_EQ(Mistakes(&team, 40), 0U);
    }
  }
  // The caller waits for the helper to throw, and the helper for the caller.
  ThreadTeam team(2);
  for (const bool by_caller : {false, true}) {
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::atomic<int> begun = 0;
      const auto piece = [&](size_t i) {
        begun.fetch_add(1);
        while (begun.load() < 2) std::this_thread::yield();
        if ((std::this_thread::get_id() == caller) == by_caller) throw Thrown{i};
      };
      ASSERT_THROW(team.ForEach(2, 2, piece), Thrown);
    }
  }
}

}  // namespace
}  // namespace expunge::attention::cpu
