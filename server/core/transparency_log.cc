#include "server/core/transparency_log.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/leaf.h"
#include "certificate/log/log_proof.h"
#include "certificate/log/note.h"
#include "server/core/handles.h"
#include "server/core/records.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using storage::Table;

absl::Status Corrupt(absl::string_view problem) {
  return MakeError(Reason::kStorageCorrupt, "",
                   absl::StrCat("the log of certificates is damaged: ", problem, "; restore a backup"));
}

std::string RandomOrigin() {
  return absl::StrCat("expunge.invalid/log/", ToHex(AsView(RandomDigest()).substr(0, 16)));
}

storage::v1::LogRecord RecordOf(const std::string& origin, const certificate::MerkleLog& tree) {
  storage::v1::LogRecord record;
  record.set_origin(origin);
  record.set_size(tree.size());
  record.set_root(ToBytes(tree.Root()));
  return record;
}

}  // namespace

// ---- A turn. ----

TransparencyLog::Turn::Turn(TransparencyLog& log) : log_(log), lock_(log.turn_) {}

absl::Status TransparencyLog::Turn::Put(storage::Transaction* transaction) {
  const uint64_t size = log_.tree_.size();
  for (const std::string& leaf : leaves_) {
    std::string key = LogKey(size + records_.size());
    EXPUNGE_ASSIGN_OR_RETURN(std::string value, log_.store_.SealValue(Table::kLog, key, {}, leaf));
    transaction->Put(Table::kLog, key, value);
    records_.push_back({Table::kLog, std::move(key), std::move(value)});
  }
  const std::lock_guard lock(log_.state_);
  for (const std::string& leaf : leaves_) log_.tree_.Append(certificate::HashLogLeaf(leaf));
  const storage::v1::LogRecord record = RecordOf(log_.origin_, log_.tree_);
  log_.tree_.Truncate(size);
  return log_.store_.Put(Table::kMeta, kLogKey, {}, record, transaction);
}

void TransparencyLog::Turn::Keep(const std::function<void()>& first) {
  const std::lock_guard signing(log_.signing_);
  if (first) first();
  const std::lock_guard lock(log_.state_);
  for (const std::string& leaf : leaves_) log_.tree_.Append(certificate::HashLogLeaf(leaf));
}

// ---- Start. ----

absl::StatusOr<std::unique_ptr<TransparencyLog>> TransparencyLog::Open(storage::SealedStore* store,
                                                                       LogOptions options,
                                                                       CheckpointSigner signer) {
  const std::string& origin = options.origin;
  std::unique_ptr<TransparencyLog> log(new TransparencyLog(store, options, std::move(signer)));
  EXPUNGE_RETURN_IF_ERROR(log->Load());
  if (log->origin_.empty()) {
    EXPUNGE_RETURN_IF_ERROR(log->Begin(origin.empty() ? RandomOrigin() : origin));
  }
  if (!origin.empty() && origin != log->origin_) {
    return absl::FailedPreconditionError(absl::StrCat("the log of this data directory has the origin ",
                                                      log->origin_, ", and --log-origin names another"));
  }
  EXPUNGE_RETURN_IF_ERROR(log->CheckCopy());
  return log;
}

absl::Status TransparencyLog::Load() {
  absl::Status outcome;
  const auto visit = [this, &outcome](absl::string_view key, const storage::OpenRecord& opened) {
    const bool whole = key == LogKey(tree_.size()) && opened.key == storage::KeyName{} &&
                       opened.bytes.size() == certificate::kLogLeafBytes;
    if (!whole) outcome = Corrupt(absl::StrCat("leaf ", tree_.size(), " is missing or unreadable"));
    if (whole) tree_.Append(certificate::HashLogLeaf(AsView(opened.bytes)));
    return whole;
  };
  EXPUNGE_RETURN_IF_ERROR(store_.Scan(Table::kLog, "", "", visit));
  EXPUNGE_RETURN_IF_ERROR(outcome);
  const absl::StatusOr<storage::OpenRecord> opened = store_.Get(Table::kMeta, kLogKey);
  if (absl::IsNotFound(opened.status())) {
    return tree_.size() == 0 ? absl::OkStatus() : Corrupt("its own record is missing");
  }
  EXPUNGE_RETURN_IF_ERROR(opened.status());
  storage::v1::LogRecord record;
  if (!ParseRecord(*opened, &record) || record.origin().empty())
    return Corrupt("its own record is unreadable");
  origin_ = record.origin();
  if (record.size() != tree_.size()) {
    return Corrupt(absl::StrCat("it has ", tree_.size(), " leaves of ", record.size()));
  }
  if (record.root() != ToBytes(tree_.Root())) return Corrupt("its leaves are not those that were stored");
  return absl::OkStatus();
}

absl::Status TransparencyLog::Begin(std::string origin) {
  storage::Transaction transaction;
  EXPUNGE_RETURN_IF_ERROR(store_.Put(Table::kMeta, kLogKey, {}, RecordOf(origin, tree_), &transaction));
  bool durable = false;
  absl::Status status = store_.Commit(std::move(transaction), {}, &durable);
  if (durable) origin_ = std::move(origin);
  return status;
}

absl::Status TransparencyLog::BeginAnew() {
  const std::lock_guard turn(turn_);
  const std::lock_guard signing(signing_);
  const std::lock_guard lock(state_);
  signed_by_.clear();
  return Begin(RandomOrigin());
}

absl::Status TransparencyLog::CheckNotBehind(absl::string_view checkpoint, absl::string_view file) const {
  const size_t end = checkpoint.find("\n\n");
  const auto seen = certificate::ParseCheckpointText(
      end == absl::string_view::npos ? checkpoint : checkpoint.substr(0, end + 1));
  if (!seen.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        file, " is not a checkpoint of a log, or is damaged: put it right, or name another file"));
  }
  const std::shared_lock lock(state_);
  if (seen->origin != origin_) {
    return absl::FailedPreconditionError(
        absl::StrCat(file, " is a checkpoint of another log, ", seen->origin,
                     ": after a restore without a ledger, or for another data directory, name a new file"));
  }
  if (seen->tree.size <= tree_.size() && tree_.Root(seen->tree.size) == seen->tree.root)
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      file, " is a checkpoint over ", seen->tree.size, " leaves, which the database's log of ", tree_.size(),
      " does not go on from: the database is an older copy, and to sign on would make a second "
      "history. Put the newest one back, or restore a backup with its ledger"));
}

absl::Status TransparencyLog::CheckCopy() const {
  const std::string& file = options_.checkpoint_copy_file;
  if (file.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> copy = ReadWhole(file, certificate::kMaxNoteBytes);
  if (absl::IsNotFound(copy.status())) return absl::OkStatus();  // the first copy makes it
  EXPUNGE_RETURN_IF_ERROR(copy.status());
  return CheckNotBehind(*copy, file);
}

// ---- What is read from it. ----

std::string TransparencyLog::origin() const {
  const std::shared_lock lock(state_);
  return origin_;
}

uint64_t TransparencyLog::size() const {
  const std::shared_lock lock(state_);
  return tree_.size();
}

absl::StatusOr<std::string> TransparencyLog::Leaf(uint64_t index) const {
  EXPUNGE_ASSIGN_OR_RETURN(const storage::OpenRecord opened, store_.Get(Table::kLog, LogKey(index)));
  return std::string(AsView(opened.bytes));
}

certificate::EntryReader TransparencyLog::Reader() const {
  return [this](uint64_t index) { return Leaf(index); };
}

absl::StatusOr<TransparencyLog::Signed> TransparencyLog::SignNewest() const {
  const std::lock_guard signing(signing_);
  const std::shared_ptr<const certificate::Signer> signer = signer_();
  certificate::TreeHead head;
  std::string name;
  {
    const std::shared_lock lock(state_);
    head = {tree_.size(), tree_.Root()};
    name = origin_;
  }
  const bool same = !signed_.checkpoint.empty() && signed_.size == head.size && signed_by_ == signer->KeyId();
  if (same) return signed_;
  EXPUNGE_ASSIGN_OR_RETURN(certificate::NoteKey key, certificate::NoteKey::Create(name, signer->Public()));
  EXPUNGE_ASSIGN_OR_RETURN(
      std::string checkpoint,
      certificate::SignCheckpoint(
          head, {std::move(key), [&signer](absl::string_view text) { return signer->Sign(text); }}));
  // Nobody sees it before the copy has it.
  if (!options_.checkpoint_copy_file.empty()) {
    EXPUNGE_RETURN_IF_ERROR(ReplaceDurably(options_.checkpoint_copy_file, checkpoint));
  }
  signed_by_ = signer->KeyId();
  signed_ = {head.size, std::move(checkpoint)};
  return signed_;
}

absl::StatusOr<std::string> TransparencyLog::Checkpoint() const {
  EXPUNGE_ASSIGN_OR_RETURN(Signed newest, SignNewest());
  return std::move(newest.checkpoint);
}

absl::StatusOr<std::string> TransparencyLog::Proof(uint64_t index) const {
  absl::StatusOr<Signed> tree = SignNewest();
  if (!tree.ok()) {
    const std::lock_guard signing(signing_);
    if (signed_.size <= index) return tree.status();
    tree = signed_;
  }
  certificate::LogProof proof;
  proof.index = index;
  proof.checkpoint = std::move(tree->checkpoint);
  const std::shared_lock lock(state_);
  proof.hashes = tree_.InclusionProof(index, tree->size);
  return certificate::EncodeLogProof(proof);
}

absl::StatusOr<TransparencyLog::Consistency> TransparencyLog::ProveConsistency(uint64_t old_size) const {
  EXPUNGE_ASSIGN_OR_RETURN(Signed newest, SignNewest());
  const std::shared_lock lock(state_);
  return Consistency{newest.size, std::move(newest.checkpoint),
                     tree_.ConsistencyProof(old_size, newest.size)};
}

absl::Status TransparencyLog::WriteTiles(const certificate::TileDirectory& folder, uint64_t* written) const {
  for (;;) {
    EXPUNGE_ASSIGN_OR_RETURN(const Signed newest, SignNewest());
    const std::shared_lock lock(state_);
    if (tree_.size() != newest.size) continue;  // it grew meanwhile
    EXPUNGE_RETURN_IF_ERROR(folder.Write(tree_, *written, Reader(), newest.checkpoint));
    *written = newest.size;
    return absl::OkStatus();
  }
}

absl::StatusOr<std::vector<certificate::TileFault>> TransparencyLog::CheckTiles(
    const certificate::TileDirectory& folder, absl::string_view checkpoint) const {
  const std::shared_lock lock(state_);
  return folder.Check(tree_, Reader(), checkpoint);
}

absl::Status TransparencyLog::CopyCheckpoint() const {
  return options_.checkpoint_copy_file.empty() ? absl::OkStatus() : SignNewest().status();
}

}  // namespace expunge::core
