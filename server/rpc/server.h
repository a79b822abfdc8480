// The server as an object: everything between a data directory and a listening port. The program `expunged`
// runs one; tests run theirs in process.
#ifndef EXPUNGE_SERVER_RPC_SERVER_H_
#define EXPUNGE_SERVER_RPC_SERVER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attention/engine.h"
#include "base/clock.h"
#include "server/rpc/log.h"

namespace expunge::rpc {

// A PKCS#11 token that keeps the key under which the master key lies (storage/token_master_key.h).
struct TokenOptions {
  std::string module;  // empty: none; the master key lies in its file as it is
  std::string label;
  std::string key = "expunge-master";
  std::string pin_file;
};

// A PKCS#11 token that keeps the keys that sign.
struct SigningTokenOptions {
  std::string module;  // empty: none; the keys lie in files
  std::string label;
  std::string certificate_key = "expunge-certificate";
  std::string checkpoint_key = "expunge-checkpoint";
  std::string pin_file;
};

struct ServerOptions {
  std::string data_dir;                    // created (mode 0700) if it does not exist
  std::string address = "127.0.0.1:7420";  // port 0 picks a free one
  // Of AdminService: "unix:PATH", "host:port" of the loopback, or "none". Empty: the socket admin.sock in the
  // data directory; if its path is too long for a socket, none, with a warning in the log.
  std::string admin_address;
  std::string key_file;             // empty: signing_key.pem in the data directory
  std::string checkpoint_key_file;  // empty: checkpoint_key.pem in the data directory
  SigningTokenOptions signing_token;
  std::string log_origin;            // empty: a random one, at first start
  std::string checkpoint_copy_file;  // empty: none
  uint32_t worker_threads = 0;       // for readers, and as many for writers; 0: one a processor
  // Of one request. gRPC's own limit lies an eighth above it: up to there the answer carries
  // kMessageTooLarge, beyond it gRPC refuses with a bare RESOURCE_EXHAUSTED.
  uint64_t max_message_bytes = uint64_t{64} << 20;
  uint32_t max_queued = 256;  // requests waiting for a thread, of readers and of writers
  // Audit exports that are open at once, and as many watchers of certificates, and as many reads in a row.
  uint32_t max_streams = 64;
  uint64_t max_tokens_per_memory = 100'000;
  uint64_t max_live_solver_bytes = uint64_t{1} << 30;  // of all memories (server/core/service.h)
  bool recover_by_solving = true;
  attention::EngineOptions readout;                  // what computes readouts
  std::chrono::microseconds readout_batch_delay{0};  // (server/core/service.h)
  std::string vault_dir;                             // empty: "vault" in the data directory
  std::string master_key_file;  // empty: "master.key", with a token "master.key.p11", in the data directory
  TokenOptions master_key_token;
  // Within which time erased ciphertext leaves the files (server/core/service.h).
  std::chrono::milliseconds erase_bytes_within = std::chrono::minutes(15);
  std::chrono::seconds backups_kept_for{0};     // what certificates say of it; 0: nothing
  std::string ledger_copy_file;                 // empty: none (server/core/service.h)
  uint64_t reserve_bytes = uint64_t{64} << 20;  // disk space kept for erasures; 0: none
  bool allow_remote_plaintext = false;
  absl::Duration drain =
      absl::Seconds(10);  // calls in flight at Stop have this long; then they are cancelled
};

// Threads: one at a time.
class Server {
 public:
  // Opens the data directory, checks every memory, and serves.
  // Returns: InvalidArgument for an option that makes no sense, or an address beyond this machine without
  // allow_remote_plaintext; FailedPrecondition if another process has the data directory, or there is no
  // device that readouts are to be computed on; PermissionDenied if
  // others may read the key; Unavailable if a port or socket is taken; DataLoss if a memory contradicts its
  // digests. The messages are for the operator and say what to do. After an error nothing is left open.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                                     std::shared_ptr<Log> log,
                                                                     Clock clock = SystemClock());
  ~Server();  // as Stop
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The port that is listened on.
  [[nodiscard]] int port() const;
  // Where administration is: "unix:PATH" or "host:port"; empty if nowhere.
  [[nodiscard]] const std::string& admin_address() const;

  // What computes readouts, and why: "on the CPU (--readout=auto): AVX2".
  [[nodiscard]] const std::string& readouts() const;

  // Reports NOT_SERVING, refuses new calls, lets those in flight end (options.drain; a change that has begun
  // always ends, and so does a backup), closes the store. Idempotent.
  void Stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_SERVER_H_
