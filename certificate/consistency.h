// What the fields of a statement say about each other. For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_CONSISTENCY_H_
#define EXPUNGE_CERTIFICATE_CONSISTENCY_H_

#include <nlohmann/json.hpp>

namespace expunge::certificate {

// Whether no field contradicts another: everything that docs/formats/certificate.md lists under
// "Consistency", the transition of the token tree included. REQUIRES: every field has its form.
// Cost: O(size) comparisons and hashes.
[[nodiscard]] bool IsConsistent(const nlohmann::json& statement);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_CONSISTENCY_H_
