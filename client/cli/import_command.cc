// expunge import
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/csv_options.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/receipts.h"
#include "client/cli/views.h"
#include "client/cpp/vectors.h"

namespace expunge::cli {
namespace {

constexpr size_t kMaxBatch = 10'000;

struct ImportOptions {
  std::string memory;
  CsvOptions csv;
  bool standardize = false;
  std::string standardization;      // where to write
  std::string use_standardization;  // from where to read
  std::string receipts;
  std::string request_id;
  size_t batch_size = 1000;
};

struct Imported {
  size_t batches = 0;
  v1::AddResponse last;  // without receipts
};

absl::Status CheckOptions(const ImportOptions& options) {
  const DatasetOptions& dataset = options.csv.dataset;
  if (options.csv.path.empty())
    return UsageFailure("--csv is missing", "name the file to import with --csv FILE");
  if (dataset.value_columns.empty() == dataset.one_hot.empty()) {
    return UsageFailure("the value is not clear", "give either --value-columns or --one-hot");
  }
  if (!options.standardization.empty() && !options.standardize) {
    return UsageFailure("--standardization says where to store what --standardize computes",
                        "add --standardize, or read stored numbers with --use-standardization FILE");
  }
  return absl::OkStatus();
}

// Never over other numbers: whoever reads a memory that was filled with those needs them.
absl::Status StoreStandardization(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string old, ReadStart(path, text.size() + 1));
    if (old == text) return absl::OkStatus();
    return UsageFailure(
        absl::StrCat(path, " is there already, and holds other numbers; nothing was imported"),
        "memories that were filled with those numbers are read with them: name another file for "
        "--standardization, or use them again with --use-standardization");
  }
  return WriteFile(path, text, 0644);
}

// Standardises the keys as the options say; nullopt if they do not.
absl::StatusOr<std::optional<Standardization>> ApplyStandardization(
    const ImportOptions& options, const std::optional<Standardization>& stored, Dataset* dataset) {
  std::optional<Standardization> numbers = stored;
  if (options.standardize) {
    EXPUNGE_ASSIGN_OR_RETURN(numbers, ComputeStandardization(dataset->key_columns, dataset->keys));
    numbers->value_labels = dataset->value_labels;
    numbers->one_hot_column = options.csv.dataset.one_hot;
    numbers->categories = dataset->categories;
  }
  if (!numbers.has_value()) return numbers;
  EXPUNGE_RETURN_IF_ERROR(CheckColumns(*numbers, dataset->key_columns));
  EXPUNGE_RETURN_IF_ERROR(Standardize(*numbers, &dataset->keys));
  if (!options.standardization.empty()) {
    EXPUNGE_RETURN_IF_ERROR(StoreStandardization(options.standardization, ToJson(*numbers)));
  }
  return numbers;
}

v1::AddRequest Batch(const std::string& memory, const Dataset& dataset, size_t first, size_t count) {
  v1::AddRequest request;
  request.set_parent(memory);
  for (size_t i = first; i < first + count; ++i) {
    v1::NewToken* token = request.add_tokens();
    token->set_token_id(dataset.ids[i]);
    for (const std::string& subject : dataset.subjects[i]) token->add_subjects(subject);
  }
  *request.mutable_keys() = client::Pack(dataset.keys, first, count);
  *request.mutable_values() = client::Pack(dataset.values, first, count);
  return request;
}

// What went wrong with which batch, and what is in the memory by now.
absl::Status BatchFailure(const absl::Status& status, const Dataset& dataset, size_t first, size_t count,
                          const std::string& request_id) {
  const std::string where =
      absl::StrCat("rows ", dataset.row_numbers[first], " to ", dataset.row_numbers[first + count - 1], " (",
                   first == 0 ? "nothing was added"
                              : absl::StrCat(Count(first, "token"), " of earlier batches are in the memory"),
                   ")");
  return WithContext(where, WithRetryHint(status, request_id));
}

// The batch is in the memory, but its receipts are nowhere: the same call gives them again.
absl::Status ReceiptFailure(const absl::Status& status, size_t added, const std::string& request_id) {
  return WithHint(
      WithContext(absl::StrCat(Count(added, "token"), " are in the memory, but not all receipts are saved"),
                  status),
      absl::StrCat("get the receipts, and go on, with the same command and: --request-id ", request_id,
                   " --receipts OTHER-FILE"));
}

absl::StatusOr<Imported> SendAll(Context* context, const ImportOptions& options, const Dataset& dataset,
                                 const std::string& request_id, ReceiptFile* receipts) {
  Imported imported;
  Progress progress(ParseProgressMode(options.csv.progress), "importing", dataset.ids.size(), stderr);
  const size_t batch = BatchRows(options.batch_size, dataset.keys.columns + dataset.values.columns);
  for (size_t first = 0; first < dataset.ids.size(); first += batch) {
    const size_t count = std::min(batch, dataset.ids.size() - first);
    v1::AddRequest request = Batch(context->MemoryName(options.memory), dataset, first, count);
    // Every batch has its own id, so that repeating an import that broke off goes on where it stopped.
    request.set_request_id(absl::StrCat(request_id, ".", ++imported.batches));
    progress.Show(first);
    auto response = context->Client().Add(request);
    if (!response.ok()) return BatchFailure(response.status(), dataset, first, count, request_id);
    if (receipts != nullptr) {
      const absl::Status kept = receipts->Append(*response);
      if (!kept.ok()) return ReceiptFailure(kept, first + count, request_id);
    }
    response->clear_receipts();
    imported.last = *std::move(response);
  }
  progress.Show(dataset.ids.size());
  return imported;
}

std::string StandardizationText(const ImportOptions& options, const std::optional<Standardization>& numbers) {
  if (!numbers.has_value()) return "keys as they are in the file";
  std::string text = absl::StrCat("(x - mean) / deviation, over ", numbers->rows, " rows");
  if (!options.use_standardization.empty())
    absl::StrAppend(&text, "; numbers from ", options.use_standardization);
  if (!options.standardization.empty())
    absl::StrAppend(&text, "; numbers stored in ", options.standardization);
  return text;
}

std::string ColumnsText(const std::vector<std::string>& columns) {
  if (columns.size() <= 4) return absl::StrCat(columns.size(), ": ", absl::StrJoin(columns, ", "));
  return absl::StrCat(columns.size(), ": ", columns.front(), " ... ", columns.back());
}

void PrintImport(Context* context, const ImportOptions& options, const Dataset& dataset,
                 const std::optional<Standardization>& numbers, const Imported& imported,
                 const std::string& request_id) {
  const bool own_subject = options.csv.dataset.subject_columns.empty();
  Json json;
  json["memory"] = context->MemoryName(options.memory);
  json["imported"] = dataset.ids.size();
  json["batches"] = imported.batches;
  json["key_columns"] = dataset.key_columns;
  json["value_labels"] = dataset.value_labels;
  json["subject_columns"] = options.csv.dataset.subject_columns;
  json["standardized"] = numbers.has_value();
  if (numbers.has_value()) {
    json["standardization"] = {
        {"rows", numbers->rows}, {"mean", numbers->mean}, {"deviation", numbers->deviation}};
  }
  json["receipts"] = options.receipts.empty() ? Json(nullptr) : Json(options.receipts);
  json["state"] = StateJson(imported.last.state());
  json["partition"] = PartitionJson(imported.last.partition());
  json["request_id"] = request_id;
  const Fields fields = {
      {"keys", ColumnsText(dataset.key_columns)},
      {"standardised", StandardizationText(options, numbers)},
      {"values", ColumnsText(dataset.value_labels)},
      {"subjects",
       own_subject ? "every token its own id" : absl::StrJoin(options.csv.dataset.subject_columns, ", ")},
      {"receipts", options.receipts.empty()
                       ? "not kept; --receipts FILE keeps them, and they are given only once"
                       : absl::StrCat(options.receipts, " (for your eyes only; there is no second copy)")},
      {"state", StateText(imported.last.state())},
      {"partition", PartitionText(imported.last.partition())},
      {"request id", request_id},
  };
  context->Print(json, FormatFields(absl::StrCat("Imported ", Count(dataset.ids.size(), "token"), " into ",
                                                 context->MemoryName(options.memory)),
                                    fields));
}

absl::Status Import(Context* context, ImportOptions options) {
  EXPUNGE_RETURN_IF_ERROR(CheckOptions(options));
  std::optional<Standardization> stored;
  if (!options.use_standardization.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(stored, LoadStandardization(options.use_standardization));
    // The elements of a value keep their meaning, whichever rows are imported.
    if (options.csv.dataset.one_hot == stored->one_hot_column)
      options.csv.dataset.categories = stored->categories;
  }
  EXPUNGE_ASSIGN_OR_RETURN(Dataset dataset, LoadDataset(options.csv));
  std::unique_ptr<ReceiptFile> receipts;
  if (!options.receipts.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(receipts, ReceiptFile::Open(options.receipts));
  }
  EXPUNGE_ASSIGN_OR_RETURN(const auto numbers, ApplyStandardization(options, stored, &dataset));
  const std::string request_id = RequestId(options.request_id);
  EXPUNGE_ASSIGN_OR_RETURN(const Imported imported,
                           SendAll(context, options, dataset, request_id, receipts.get()));
  PrintImport(context, options, dataset, numbers, imported, request_id);
  return absl::OkStatus();
}

}  // namespace

void AddImportCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app->add_subcommand("import", "Add the rows of a CSV file as tokens");
  command->add_option("MEMORY", options->memory, "Its name, short or full")->required();
  AddCsvOptions(command, &options->csv);
  DatasetOptions* dataset = &options->csv.dataset;
  command
      ->add_option("--value-columns", dataset->value_columns,
                   "Columns that make up a value, written as --key-columns")
      ->allow_extra_args(false);
  command
      ->add_option("--one-hot", dataset->one_hot,
                   "A column of categories as value: 1 for its own, 0 for the others, in ascending order")
      ->excludes("--value-columns");
  command
      ->add_option("--subject-columns", dataset->subject_columns,
                   "Columns that name the data subjects of a row (default: the token's id is its subject)")
      ->allow_extra_args(false);
  auto* standardize =
      command->add_flag("--standardize", options->standardize,
                        "Keys become (x - mean) / deviation, computed over the rows imported");
  command->add_option("--standardization", options->standardization,
                      "Store the numbers in this JSON file, for 'read' and later imports");
  command
      ->add_option("--use-standardization", options->use_standardization,
                   "Standardise by the numbers of such a file")
      ->excludes(standardize);
  command->add_option(
      "--receipts", options->receipts,
      "Append the tokens' receipts to this file, mode 0600: they open the commitments in certificates");
  command
      ->add_option("--batch-size", options->batch_size,
                   "Tokens a call (default: 1000); each batch is added whole or not at all")
      ->check(CLI::Range(size_t{1}, kMaxBatch));
  command->add_option(
      "--request-id", options->request_id,
      "Repeating an import with the same id goes on where it broke off (default: random, printed)");
  command->footer(
      "Examples:\n"
      "  expunge import cancer --csv patients.csv --key-columns 4-33 --one-hot diagnosis \\\n"
      "      --subject-columns patient --id-column token --standardize --standardization std.json \\\n"
      "      --receipts receipts.jsonl\n"
      "  expunge import means --csv more.csv --key-columns 'mean*' --value-columns score --rows 1-100\n"
      "  expunge import control --csv patients.csv --key-columns 4-33 --one-hot diagnosis \\\n"
      "      --id-column token --exclude-ids held-out.txt --use-standardization std.json");
  command->callback([=] { context->action = [=] { return Import(context, *options); }; });
}

}  // namespace expunge::cli
