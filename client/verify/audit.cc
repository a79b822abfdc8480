#include "client/verify/audit.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "certificate/envelope.h"
#include "certificate/log/leaf.h"
#include "client/verify/bundle_view.h"
#include "client/verify/certificate_view.h"
#include "client/verify/chain.h"
#include "client/verify/log_view.h"
#include "client/verify/receipts.h"
#include "client/verify/trust.h"

namespace expunge::verify {
namespace {

using certificate::VerifyReason;
using certificate::VerifyResult;
using nlohmann::json;

class Auditor {
 public:
  explicit Auditor(const Inputs& inputs) : inputs_(inputs), trust_(inputs), log_(trust_) {}

  Report Run() {
    CheckKeysAndLog();
    ReadReceipts();
    ReadBundle();
    for (const CertificateFile& file : inputs_.certificates) CheckAlone(file);
    CheckTogether();
    CheckWhatTheyTie();
    return std::move(report_);
  }

 private:
  void AddCheck(absl::string_view name, const std::string& file, Verdict verdict) {
    report_.checks.push_back({file, {std::string(name), std::move(verdict)}});
  }

  void CheckKeysAndLog() {
    if (trust_.sets().has_value()) AddCheck("keys", inputs_.key_sets->file, *trust_.sets());
    if (!inputs_.log.empty()) AddCheck("log", inputs_.log, log_.ReadCopy(inputs_.log));
    if (inputs_.old_checkpoint.has_value()) {
      AddCheck("oldCheckpoint", inputs_.old_checkpoint->file,
               log_.CheckOldCheckpoint(inputs_.old_checkpoint->bytes));
    }
  }

  void ReadReceipts() {
    if (!inputs_.receipts.has_value()) return;
    Receipts receipts;
    Verdict verdict = receipts.Read(inputs_.receipts->bytes);
    if (verdict.ok()) receipts_ = std::move(receipts);
    AddCheck("receipts", inputs_.receipts->file, std::move(verdict));
  }

  void ReadBundle() {
    if (inputs_.bundle.empty()) return;
    Verdict verdict = bundle_.Read(inputs_.bundle);
    const bool read = verdict.ok();
    AddCheck("bundle", inputs_.bundle, std::move(verdict));
    if (!read) return;
    if (receipts_.has_value()) {
      Verdict opened = receipts_->Open(bundle_.bundle());
      receipts_open_bundle_ = opened.ok();
      AddCheck("receiptsOfBundle", inputs_.receipts->file, std::move(opened));
    }
    for (Claim& claim : bundle_.Solve()) AddCheck(claim.name, inputs_.bundle, std::move(claim.verdict));
  }

  void CheckAlone(const CertificateFile& file) {
    CertificateReport& report = report_.certificates.emplace_back();
    report.file = file.file;
    views_.push_back(std::nullopt);
    if (!file.envelope.ok()) {
      report.result = file.envelope.status();
      return;
    }
    report.result = VerifyEnvelope(*file.envelope, trust_.keys());
    AddForm(report.result->reason, &report.claims);
    if (report.result->reason != VerifyReason::kOk) return;
    const std::string& payload = report.result->payload;
    const json statement = json::parse(payload, nullptr, /*allow_exceptions=*/false);
    views_.back() = ViewOf(payload, statement);
    AddClaims(file, *report.result, statement, *views_.back(), &report.claims);
  }

  static void AddForm(VerifyReason reason, std::vector<Claim>* claims) {
    const absl::string_view name = VerifyReasonName(reason);
    const absl::string_view text = VerifyReasonText(reason);
    const bool is_signed = reason == VerifyReason::kOk || reason >= VerifyReason::kNotCanonical;
    claims->push_back({"signature", is_signed ? Ok("signed by a trusted key") : Failed(name, text)});
    if (!is_signed) return;
    const bool ok = reason == VerifyReason::kOk;
    claims->push_back(
        {"statement", ok ? Ok("whole, in its one form, and free of contradictions") : Failed(name, text)});
  }

  void AddClaims(const CertificateFile& file, const VerifyResult& result, const json& statement,
                 const CertificateView& view, std::vector<Claim>* claims) {
    LogView::Found found = log_.CheckEntry(certificate::LogLeafOf(result), file.proof);
    claims->push_back(
        {"key", trust_.CheckKey(result.key_id, view.issued_at, found.place, found.in_another_log)});
    claims->push_back({"log", std::move(found.verdict)});
    claims->push_back({"transition", CheckTransition(statement)});
    if (inputs_.receipts.has_value()) claims->push_back({"receipt", CheckReceipts(view)});
    if (!inputs_.bundle.empty()) claims->push_back({"bundle", bundle_.CheckCertificate(statement)});
  }

  Verdict CheckReceipts(const CertificateView& view) {
    if (!receipts_.has_value()) return LeftOpen("BAD_RECEIPT", "the file of receipts is refused");
    const Receipts::Named named = receipts_->NamedIn(view.removed);
    if (named.opened + named.unopened == 0) {
      return NotChecked("NO_RECEIPT", "it names none of the tokens of the receipts");
    }
    receipts_found_ = true;
    if (named.opened == 0) {
      return NotChecked(
          "NOT_OPENED",
          absl::StrCat("it names ", named.unopened, " of the receipts, not opened: without the ",
                       "token's content, whoever has the certificate can write such a line"));
    }
    return Ok(
        absl::StrCat("it names ", named.opened, " of the tokens of the receipts as removed",
                     named.unopened == 0 ? "" : absl::StrCat("; ", named.unopened, " more are not opened")));
  }

  void CheckTogether() {
    std::map<Digest, Chain> chains;
    for (const std::optional<CertificateView>& view : views_) {
      if (view.has_value()) chains[view->memory].Add(*view);
    }
    for (size_t i = 0; i < views_.size(); ++i) {
      if (!views_[i].has_value()) continue;
      const Chain& chain = chains[views_[i]->memory];
      std::vector<Claim>& claims = report_.certificates[i].claims;
      claims.push_back({"chain", chain.CheckPlace(*views_[i], inputs_.whole_chains)});
      claims.push_back({"completion", chain.CheckCompletion(*views_[i])});
    }
  }

  void CheckWhatTheyTie() {
    if (receipts_.has_value() && !receipts_found_ && !receipts_open_bundle_) {
      AddCheck("receiptsFound", inputs_.receipts->file,
               LeftOpen("NO_RECEIPT", "no given certificate names a token of the receipts"));
    }
    if (!inputs_.bundle.empty()) AddCheck("bundleTied", inputs_.bundle, bundle_.CheckTied());
  }

  const Inputs& inputs_;
  const Trust trust_;
  LogView log_;
  std::optional<Receipts> receipts_;
  bool receipts_found_ = false;
  bool receipts_open_bundle_ = false;
  BundleView bundle_;
  std::vector<std::optional<CertificateView>> views_;  // of each certificate that verified
  Report report_;
};

}  // namespace

Report Audit(const Inputs& inputs) { return Auditor(inputs).Run(); }

}  // namespace expunge::verify
