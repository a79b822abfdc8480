// The vault after its process was killed at any moment.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "storage/key_vault.h"
#include "tests/storage/vault_support.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

using test_support::KeyOf;
using test_support::MustTake;
using test_support::OpenVault;
using test_support::TemporaryDirectory;

// What the process that will be killed reports, in one write each.
struct Event {
  enum Kind : uint32_t { kTenant, kTaken, kDoomed, kDestroyed } kind;
  Slot slot;
  char key[SecretKey::kBytes];
};

void Report(int pipe, Event::Kind kind, Slot slot, const std::string& key) {
  Event event{kind, slot, {}};
  std::copy(key.begin(), key.end(), event.key);
  if (::write(pipe, &event, sizeof event) != sizeof event) ::_exit(1);
}

// Takes keys and destroys some of them until it is killed.
[[noreturn]] void Churn(const std::string& directory, int pipe, uint32_t seed) {
  std::mt19937 random(seed);
  const auto vault = OpenVault(directory);
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  Report(pipe, Event::kTenant, tenant, KeyOf(*vault, kMasterSlot, tenant));
  for (;;) {
    const std::vector<Slot> slots = MustTake(vault.get(), tenant, 1 + random() % 300);
    const size_t count = std::min<size_t>(slots.size(), random() % 200);
    for (const Slot slot : slots) Report(pipe, Event::kTaken, slot, KeyOf(*vault, tenant, slot));
    for (size_t i = 0; i < count; ++i)
      Report(pipe, Event::kDoomed, slots[i], KeyOf(*vault, tenant, slots[i]));
    if (!vault->Destroy(absl::MakeConstSpan(slots).first(count), 1).ok()) ::_exit(1);
    for (size_t i = 0; i < count; ++i) Report(pipe, Event::kDestroyed, slots[i], "");
  }
}

// What was reported before the kill, or in the middle of what.
struct Known {
  Slot tenant = 0;
  std::map<Slot, std::string> live;
  std::set<std::string> destroyed;    // keys
  std::map<Slot, std::string> dying;  // about to be destroyed, or destroyed and not reported
};

Known Read(int pipe) {
  Known known;
  Event event{};
  while (::read(pipe, &event, sizeof event) == sizeof event) {
    const std::string key(event.key, sizeof event.key);
    if (event.kind == Event::kTenant) known.tenant = event.slot;
    if (event.kind == Event::kTaken) known.live[event.slot] = key;
    if (event.kind == Event::kDoomed) {
      known.live.erase(event.slot);
      known.dying[event.slot] = key;
    }
    if (event.kind == Event::kDestroyed) known.destroyed.insert(known.dying.extract(event.slot).mapped());
  }
  return known;
}

TEST(KeyVaultCrashTest, WhatWasTakenIsThereAndWhatWasDestroyedIsGone) {
  std::mt19937 random(20261130);
  size_t taken = 0;
  size_t destroyed = 0;
  for (uint32_t round = 0; round < 15; ++round) {
    SCOPED_TRACE(round);
    const TemporaryDirectory directory;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      Churn(directory.path(), ends[1], round);
    }
    ::close(ends[1]);
    std::thread killer([&, delay = std::chrono::milliseconds(20 + random() % 60)] {
      std::this_thread::sleep_for(delay);
      ::kill(child, SIGKILL);
    });
    const Known known = Read(ends[0]);
    killer.join();
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    if (known.tenant == 0) continue;  // killed before the first key

    const auto vault = OpenVault(directory.path());
    std::vector<Slot> live = {known.tenant};
    for (const auto& [slot, key] : known.live) live.push_back(slot);
    for (Slot slot = 1; slot <= vault->usage().slots; ++slot)
      ASSERT_EQ(known.destroyed.count(KeyOf(*vault, known.tenant, slot)), 0U) << slot;
    ASSERT_TRUE(vault->RetainOnly(live, 1).ok());
    for (const auto& [slot, key] : known.live) ASSERT_EQ(KeyOf(*vault, known.tenant, slot), key) << slot;
    for (const auto& [slot, key] : known.dying) ASSERT_NE(KeyOf(*vault, known.tenant, slot), key) << slot;
    taken += known.live.size();
    destroyed += known.destroyed.size();
  }
  EXPECT_GT(taken, 0U);
  EXPECT_GT(destroyed, 0U);
}

}  // namespace
}  // namespace expunge::storage
