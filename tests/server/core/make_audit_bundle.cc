// Writes the golden audit bundle to standard output. Run by hand, once for each version of the format: the
// tests read the file of tests/golden and never write it.
//
//     make_audit_bundle > tests/golden/audit_bundle.jsonl
#include <cstdint>
#include <iostream>

#include "server/core/audit_bundle.h"
#include "tests/server/core/bundle_fixture.h"

int main() {
  expunge::core::AuditBundleWriter writer(expunge::core::GoldenMemory());
  std::cout << writer.Next(SIZE_MAX) << std::flush;
  return std::cout.good() ? 0 : 1;
}
