// What every operation of the service works with.
#ifndef EXPUNGE_SERVER_CORE_CONTEXT_H_
#define EXPUNGE_SERVER_CORE_CONTEXT_H_

#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "server/core/keys.h"
#include "server/core/live_solvers.h"
#include "server/core/pending_erasures.h"
#include "server/core/reads.h"
#include "server/core/release_signal.h"
#include "server/core/service.h"
#include "server/core/tenant.h"
#include "server/core/transparency_log.h"
#include "storage/ledger_copy.h"
#include "storage/sealed_store.h"

namespace expunge::core {

// Threads: any number at once; what changes after start-up has its own locks.
struct Context {
  Context(std::unique_ptr<storage::SealedStore> opened_store, SigningKeys signing_keys, Clock time_source,
          const ServiceOptions& service_options)
      : store(std::move(opened_store)),
        keys(std::make_unique<KeyRing>(std::move(signing_keys))),
        clock(std::move(time_source)),
        options(service_options),
        solvers(std::make_unique<LiveSolvers>(options.max_live_solver_bytes)) {}

  const std::unique_ptr<storage::SealedStore> store;
  const std::unique_ptr<KeyRing> keys;
  const Clock clock;
  const ServiceOptions options;
  const std::unique_ptr<LiveSolvers> solvers;
  // Null where nothing is read: while a backup is restored.
  std::unique_ptr<Reads> reads;
  Digest secret{};  // the key of handles and pseudonyms (handles.h)
  TenantRegistry tenants;
  // Null until start-up has opened it.
  std::unique_ptr<TransparencyLog> log;
  // Where the deletion ledger is copied to; null: nowhere.
  std::unique_ptr<storage::LedgerCopy> ledger_copy;
  // Raised when certificates are released.
  const std::unique_ptr<ReleaseSignal> releases = std::make_unique<ReleaseSignal>();
  // Whose bytes may still be in files.
  const std::unique_ptr<PendingErasures> erasures = std::make_unique<PendingErasures>();
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_CONTEXT_H_
