// One fixed memory with tokens of every class: the same bundle every time.
#ifndef EXPUNGE_TESTS_SERVER_CORE_BUNDLE_FIXTURE_H_
#define EXPUNGE_TESTS_SERVER_CORE_BUNDLE_FIXTURE_H_

#include "server/core/tenant.h"

namespace expunge::core {

// tenants/acme/memories/cells, epoch 1: 6 tokens, keys of 2 elements, values of 1, min_support 4. The audit
// key is 00 01 02 ... 1f; the salt of a token is SHA-256 of "golden salt of " and its id.
[[nodiscard]] Snapshot GoldenMemory();

}  // namespace expunge::core

#endif  // EXPUNGE_TESTS_SERVER_CORE_BUNDLE_FIXTURE_H_
