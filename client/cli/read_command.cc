// expunge read
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/csv_options.h"
#include "client/cli/failure.h"
#include "client/cli/views.h"
#include "client/cpp/vectors.h"

namespace expunge::cli {
namespace {

constexpr size_t kMaxBatch = 1000;
// An answer may name every token of a memory for every query, and the service bounds the sum.
constexpr size_t kMaxBatchWithContributions = 32;

struct ReadOptions {
  std::string memory;
  std::vector<std::string> queries;
  CsvOptions csv;
  std::string standardization;
  bool contributions = false;
  std::string precision = "certified";
  bool stream = false;
};

struct Queries {
  std::vector<std::string> ids;
  client::Matrix keys;
  std::vector<std::string> columns;  // empty for --query
};

struct Answer {
  std::vector<double> output;
  v1::Readout readout;
  v1::StateReference state;
  std::string precision;  // and backend, by their names
  std::string backend;
};

// The queries in requests of as many as the service answers at once.
class Batches {
 public:
  Batches(const Context& context, const ReadOptions& options, const Queries& queries)
      : name_(context.MemoryName(options.memory)),
        contributions_(options.contributions),
        precision_(PrecisionOf(options.precision)),
        queries_(queries),
        rows_(BatchRows(options.contributions ? kMaxBatchWithContributions : kMaxBatch,
                        queries.keys.columns)) {}

  [[nodiscard]] size_t CountAt(size_t first) const { return std::min(rows_, queries_.ids.size() - first); }

  // Nothing beyond the last.
  [[nodiscard]] std::optional<v1::ReadRequest> At(size_t first) const {
    if (first >= queries_.ids.size()) return std::nullopt;
    v1::ReadRequest request;
    request.set_name(name_);
    *request.mutable_queries() = client::Pack(queries_.keys, first, CountAt(first));
    request.set_with_contributions(contributions_);
    request.set_precision(precision_);
    return request;
  }

 private:
  static v1::ReadoutPrecision PrecisionOf(const std::string& name) {
    v1::ReadoutPrecision precision = v1::READOUT_PRECISION_CERTIFIED;
    v1::ReadoutPrecision_Parse(absl::StrCat("READOUT_PRECISION_", absl::AsciiStrToUpper(name)), &precision);
    return precision;
  }

  const std::string name_;
  const bool contributions_;
  const v1::ReadoutPrecision precision_;
  const Queries& queries_;
  const size_t rows_;
};

absl::StatusOr<Queries> QueriesFromWords(const std::vector<std::string>& words) {
  Queries queries;
  for (const std::string& word : words) {
    queries.ids.push_back(absl::StrCat("query-", queries.ids.size() + 1));
    const auto vector = ParseVector(word);
    if (!vector.ok()) return WithContext(absl::StrCat("--query ", queries.ids.size()), vector.status());
    if (queries.keys.columns != 0 && queries.keys.columns != vector->size()) {
      return UsageFailure(absl::StrCat("--query ", queries.ids.size(), " has ", vector->size(),
                                       " elements, the one before ", queries.keys.columns),
                          "every query needs the memory's key dimension");
    }
    queries.keys.columns = vector->size();
    ++queries.keys.rows;
    queries.keys.data.insert(queries.keys.data.end(), vector->begin(), vector->end());
  }
  return queries;
}

absl::StatusOr<Queries> LoadQueries(ReadOptions options, const std::optional<Standardization>& numbers) {
  if (options.queries.empty() == options.csv.path.empty()) {
    return UsageFailure("no queries, or two kinds of them", "give either --csv FILE or --query 1,2,3");
  }
  Queries queries;
  if (!options.queries.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(queries, QueriesFromWords(options.queries));
  } else {
    EXPUNGE_ASSIGN_OR_RETURN(Dataset dataset, LoadDataset(options.csv));
    queries = {std::move(dataset.ids), std::move(dataset.keys), std::move(dataset.key_columns)};
  }
  if (!numbers.has_value()) return queries;
  if (queries.columns.empty() && queries.keys.columns != numbers->mean.size()) {
    return UsageFailure(absl::StrCat("a query has ", queries.keys.columns, " elements, the standardisation ",
                                     numbers->mean.size()),
                        "give one number for each key column, in their order");
  }
  if (!queries.columns.empty()) EXPUNGE_RETURN_IF_ERROR(CheckColumns(*numbers, queries.columns));
  EXPUNGE_RETURN_IF_ERROR(Standardize(*numbers, &queries.keys));
  return queries;
}

absl::Status Take(v1::ReadResponse response, size_t count, std::vector<Answer>* answers) {
  EXPUNGE_ASSIGN_OR_RETURN(const client::Matrix outputs, client::Unpack(response.outputs()));
  if (outputs.rows != count || static_cast<size_t>(response.readouts_size()) != count) {
    return absl::InternalError("the service answered another number of queries than were asked");
  }
  for (size_t i = 0; i < count; ++i) {
    const auto row = outputs.Row(i);
    answers->push_back({{row.begin(), row.end()},
                        std::move(*response.mutable_readouts(static_cast<int>(i))),
                        response.state(),
                        PrecisionName(response.precision()),
                        BackendName(response.backend())});
  }
  return absl::OkStatus();
}

absl::Status CallEach(Context* context, const Batches& batches, Progress* progress,
                      std::vector<Answer>* answers) {
  for (auto request = batches.At(0); request.has_value(); request = batches.At(answers->size())) {
    progress->Show(answers->size());
    EXPUNGE_ASSIGN_OR_RETURN(v1::ReadResponse response, context->Client().Read(*request));
    EXPUNGE_RETURN_IF_ERROR(Take(std::move(response), batches.CountAt(answers->size()), answers));
  }
  return absl::OkStatus();
}

absl::Status CallOnce(Context* context, const Batches& batches, Progress* progress,
                      std::vector<Answer>* answers) {
  size_t sent = 0;
  const auto next = [&batches, &sent] {
    auto request = batches.At(sent);
    if (request.has_value()) sent += batches.CountAt(sent);
    return request;
  };
  return context->Client().StreamRead(
      absl::InfiniteDuration(), next, [&](absl::StatusOr<v1::ReadResponse> answer) -> absl::StatusOr<bool> {
        progress->Show(answers->size());
        if (!answer.ok()) return answer.status();
        EXPUNGE_RETURN_IF_ERROR(Take(*std::move(answer), batches.CountAt(answers->size()), answers));
        return true;
      });
}

absl::StatusOr<std::vector<Answer>> SendAll(Context* context, const ReadOptions& options,
                                            const Queries& queries) {
  std::vector<Answer> answers;
  Progress progress(ParseProgressMode(options.csv.progress), "reading", queries.ids.size(), stderr);
  const Batches batches(*context, options, queries);
  EXPUNGE_RETURN_IF_ERROR(options.stream ? CallOnce(context, batches, &progress, &answers)
                                         : CallEach(context, batches, &progress, &answers));
  if (answers.size() != queries.ids.size()) {
    return absl::InternalError("the service answered another number of queries than were asked");
  }
  progress.Show(queries.ids.size());
  return answers;
}

Json AnswerJson(const std::string& id, const Answer& answer, bool contributions) {
  Json json;
  json["id"] = id;
  json["output"] = Json::array();
  for (const double element : answer.output) json["output"].push_back(NumberJson(element));
  json["decision_value"] = NumberJson(answer.readout.decision_value());
  json["error_bound"] = NumberJson(answer.readout.error_bound());
  json["precision"] = answer.precision;
  json["backend"] = answer.backend;
  json["state"] = StateJson(answer.state);
  if (!contributions) return json;
  json["contributions"] = Json::array();
  for (const auto& contribution : answer.readout.contributions()) {
    json["contributions"].push_back(
        {{"token_id", contribution.token_id()}, {"weight", contribution.weight()}});
  }
  return json;
}

// A table of the answers; below it, if asked for, each query's contributions.
std::string AnswersText(const Queries& queries, const std::vector<Answer>& answers,
                        const std::vector<std::string>& labels, bool contributions) {
  std::vector<std::string> header = {"QUERY"};
  const size_t width = answers.front().output.size();
  for (size_t i = 0; i < width; ++i)
    header.push_back(labels.size() == width ? labels[i] : absl::StrCat("OUTPUT ", i + 1));
  header.insert(header.end(), {"DECISION", "ERROR BOUND"});
  std::vector<std::vector<std::string>> rows;
  std::string details;
  for (size_t i = 0; i < answers.size(); ++i) {
    std::vector<std::string> row = {queries.ids[i]};
    for (const double element : answers[i].output) row.push_back(absl::StrFormat("%.6g", element));
    row.push_back(absl::StrFormat("%+.6f", answers[i].readout.decision_value()));
    row.push_back(absl::StrFormat("%.2g", answers[i].readout.error_bound()));
    rows.push_back(std::move(row));
    if (!contributions) continue;
    absl::StrAppend(&details, "\n", queries.ids[i], " was answered from\n");
    for (const auto& part : answers[i].readout.contributions()) {
      absl::StrAppendFormat(&details, "  %8.4f %%  %s\n", 100 * part.weight(), part.token_id());
    }
  }
  return absl::StrCat(FormatTable(header, rows), details);
}

// "certified on the cpu"; in a row, if they differ.
std::string ComputedText(const std::vector<Answer>& answers) {
  std::set<std::string> ways;
  for (const Answer& answer : answers)
    ways.insert(absl::StrCat(answer.precision, " on the ", answer.backend));
  return absl::StrJoin(ways, ", ");
}

absl::Status Read(Context* context, const ReadOptions& options) {
  std::optional<Standardization> numbers;
  ReadOptions complete = options;
  if (!options.standardization.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(numbers, LoadStandardization(options.standardization));
    if (complete.csv.dataset.key_columns.empty()) complete.csv.dataset.key_columns = numbers->columns;
  }
  EXPUNGE_ASSIGN_OR_RETURN(const Queries queries, LoadQueries(complete, numbers));
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<Answer> answers, SendAll(context, options, queries));
  const std::vector<std::string> labels =
      numbers.has_value() ? numbers->value_labels : std::vector<std::string>();
  Json json;
  json["memory"] = context->MemoryName(options.memory);
  json["state"] = StateJson(answers.back().state);
  json["labels"] = labels;
  json["readouts"] = Json::array();
  for (size_t i = 0; i < answers.size(); ++i) {
    json["readouts"].push_back(AnswerJson(queries.ids[i], answers[i], options.contributions));
  }
  context->Print(json,
                 absl::StrCat(AnswersText(queries, answers, labels, options.contributions), "\nfrom ",
                              StateText(answers.back().state), "\ncomputed ", ComputedText(answers), "\n"));
  return absl::OkStatus();
}

}  // namespace

void AddReadCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<ReadOptions>();
  CLI::App* command =
      app->add_subcommand("read", "Answer queries: output, decision value and proven error bound");
  command->add_option("MEMORY", options->memory, "Its name, short or full")->required();
  command->add_option("--query", options->queries, "A query, such as 1,2.5,-3; may be repeated")
      ->allow_extra_args(false);
  AddCsvOptions(command, &options->csv);
  command->add_option("--standardization,--use-standardization", options->standardization,
                      "Standardise the queries by the numbers that 'import' stored; also names the key "
                      "columns and the outputs");
  command->add_flag("--contributions", options->contributions,
                    "Also show which tokens an answer came from, and their weights");
  command
      ->add_option(
          "--precision", options->precision,
          "How exactly: certified has the same bits everywhere; the others are faster. The answer may "
          "be more exact, and says so; its error bound holds in any case")
      ->check(CLI::IsMember({"certified", "float64", "float32", "bfloat16"}))
      ->capture_default_str();
  command->add_flag("--stream", options->stream,
                    "Send the queries in one stream, many on their way at once: faster for many of them");
  command->footer(
      "A decision value below 0 means: outside the description of the data; the lower, the more unusual.\n\n"
      "Examples:\n"
      "  expunge read cancer --csv patients.csv --only-ids held-out.txt --id-column token --standardization "
      "std.json\n"
      "  expunge read small --query 1,2,3 --query -1,0,0.5 --contributions\n"
      "  expunge read small --query 1,2,3 --output json\n"
      "  expunge read cancer --csv patients.csv --id-column token --precision float32 --stream");
  command->callback([=] { context->action = [=] { return Read(context, *options); }; });
}

}  // namespace expunge::cli
