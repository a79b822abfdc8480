// The keys that an auditor trusts: those given, and those that follow from them by the published key sets.
#ifndef EXPUNGE_CLIENT_VERIFY_TRUST_H_
#define EXPUNGE_CLIENT_VERIFY_TRUST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "certificate/key_chain.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/note.h"
#include "certificate/signing_key.h"
#include "client/verify/inputs.h"
#include "client/verify/verdict.h"

namespace expunge::verify {

class Trust {
 public:
  explicit Trust(const Inputs& inputs);

  // Of the key sets; nullopt if none were given.
  [[nodiscard]] const std::optional<Verdict>& sets() const { return sets_; }
  // Keys that may have signed certificates, and checkpoints.
  [[nodiscard]] const std::vector<certificate::PublicKey>& keys() const { return keys_; }
  [[nodiscard]] const std::vector<certificate::NoteKey>& log_keys() const { return log_keys_; }

  // Whether a certificate was signed in its key's time, which only the key sets tell. `log_index`: where
  // known. `in_another_log`: its place is of a log where CountsPlacesIn is false. Then the key is never ok,
  // and the question stays open if the key has an end.
  [[nodiscard]] Verdict CheckKey(const std::string& key_id, absl::Time issued,
                                 std::optional<uint64_t> log_index, bool in_another_log) const;
  // Whether a place in the log of this name is one that CheckKey can use: the ends of keys are places in the
  // log of the newest name.
  [[nodiscard]] bool CountsPlacesIn(absl::string_view origin) const {
    return !newest_.has_value() || newest_->log_origin == origin;
  }
  // The same of a checkpoint; nullopt: nothing speaks against it. `signed_by`: of log_keys().
  [[nodiscard]] std::optional<Verdict> CheckCheckpoint(const certificate::Checkpoint& checkpoint,
                                                       const std::vector<size_t>& signed_by) const;

 private:
  void AddSets(const NamedBytes& file);

  std::optional<Verdict> sets_;
  std::optional<certificate::KeySet> newest_;
  std::vector<certificate::PublicKey> keys_;
  std::vector<certificate::NoteKey> log_keys_;
};

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_TRUST_H_
