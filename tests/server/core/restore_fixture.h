// Restores into a place of their own, which then takes that of what was lost.
#ifndef EXPUNGE_TESTS_SERVER_CORE_RESTORE_FIXTURE_H_
#define EXPUNGE_TESTS_SERVER_CORE_RESTORE_FIXTURE_H_

#include <string>

#include "server/core/restore.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {

class RestoringTest : public ServiceTest {
 protected:
  // Closes, and restores a backup of BackUp's into "restored".
  absl::StatusOr<RestoreReport> RestoreFrom(const std::string& copy, const std::string& database,
                                            const std::string& backup = "backup") {
    Close();
    RestoreOptions options;
    options.backup = {directory_ / (backup + "-database"), directory_ / (backup + "-vault")};
    options.to.directory = directory_ / "restored/data";
    options.to.master_key_file = directory_ / "master.key";
    options.ledger_copy_file = copy;
    options.replaced_database = database;
    return Restore(options, Keys(), [this] { return now_; });
  }

  // Puts what was restored in the place of what was lost, and begins a new copy of the ledger.
  void TakeRestored(const std::string& ledger = "ledger-after") {
    PutInPlace("restored");
    options_.ledger_copy_file = directory_ / ledger;
  }
};

}  // namespace expunge::core

#endif  // EXPUNGE_TESTS_SERVER_CORE_RESTORE_FIXTURE_H_
