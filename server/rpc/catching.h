// The end of every exception: what a library throws (memory is gone, for one) ends one call alone.
#ifndef EXPUNGE_SERVER_RPC_CATCHING_H_
#define EXPUNGE_SERVER_RPC_CATCHING_H_

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace expunge::rpc {

// What `work` returns; Internal if it throws.
template <class Work>
[[nodiscard]] absl::Status RunCatching(const Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("exception: ", error.what()));
  } catch (...) {
    return absl::InternalError("exception of an unknown type");
  }
}

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_CATCHING_H_
