// The keys that sign: one certificates, another one checkpoints of the log.
#ifndef EXPUNGE_SERVER_CORE_KEYS_H_
#define EXPUNGE_SERVER_CORE_KEYS_H_

#include <memory>
#include <utility>

#include "certificate/signer.h"

namespace expunge::core {

// What a service is opened with.
struct SigningKeys {
  std::shared_ptr<const certificate::Signer> certificate;
  std::shared_ptr<const certificate::Signer> checkpoint;
};

// Threads: any number at once.
class KeyRing {
 public:
  explicit KeyRing(SigningKeys keys) : keys_(std::move(keys)) {}

  [[nodiscard]] std::shared_ptr<const certificate::Signer> certificate() const { return keys_.certificate; }
  [[nodiscard]] std::shared_ptr<const certificate::Signer> checkpoint() const { return keys_.checkpoint; }

 private:
  const SigningKeys keys_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_KEYS_H_
