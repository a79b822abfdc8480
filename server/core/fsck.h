// An integrity check of everything that is stored. It changes nothing, and goes on after a problem: start-up
// (recovery.h) stops at the first.
//
// What is checked is what start-up checks, and besides: that every record of every table unseals and parses
// under the key that it must have; that every certificate has its form, and follows the one before it in its
// memory's chain; that the deletion ledger and the certificates tell the same, and nothing that they say is
// gone is there; and every block of every table file.
#ifndef EXPUNGE_SERVER_CORE_FSCK_H_
#define EXPUNGE_SERVER_CORE_FSCK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/sealed_store.h"

namespace expunge::core {

// Names what is damaged, never its content. What does not apply is empty, or 0.
struct FsckProblem {
  std::string table;    // "tokens"
  std::string tenant;   // its pseudonym, in hexadecimal
  std::string memory;   // its pseudonym
  std::string record;   // the rest of the record's key, in hexadecimal
  uint64_t number = 0;  // of a certificate; of the first certificate of an erasure
  std::string text;
};

struct FsckReport {
  std::map<std::string, uint64_t> records;  // by table
  uint64_t tenants = 0;
  uint64_t memories = 0;
  uint64_t tokens = 0;
  uint64_t certificates = 0;
  uint64_t erasures = 0;
  uint64_t pending_erasures = 0;  // whose bytes may still be in files: no problem
  uint64_t key_slots = 0;         // in the vault's file
  std::vector<FsckProblem> problems;
};

struct FsckOptions {
  // Solves every memory again from nothing; false: compares hashes alone.
  bool solve = true;
  // Of the keys that the server has, of either use, also of those that a rotation has only prepared. Empty:
  // they are not compared.
  std::set<std::string> server_key_ids;
  // Called now and then, on the same thread.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// REQUIRES: opened with `read_only`. Cost: the database is read twice; with `solve` one solve a memory; 100
// bytes of memory for each token, and one memory's tokens at a time.
[[nodiscard]] FsckReport Fsck(storage::SealedStore& store, const FsckOptions& options);

// One line: "tokens, memory 12ab: a token does not match its commitment".
[[nodiscard]] std::string DescribeProblem(const FsckProblem& problem);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_FSCK_H_
