#include "client/cli/pdf.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"

namespace expunge::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr size_t kMaxPdfBytes = size_t{256} << 20;

// "" if there is none.
std::string FindBrowser() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets variables
  const char* const chosen = std::getenv("EXPUNGE_CHROMIUM");
  if (chosen != nullptr && *chosen != '\0') return access(chosen, X_OK) == 0 ? chosen : "";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets variables
  const char* const path = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}) {
    for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
      std::string file = absl::StrCat(folder, "/", name);
      if (absl::StartsWith(folder, "/") && access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return "";
}

std::string FileUrl(const std::string& path) {
  std::string url = "file://";
  for (const char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("/-._~", c)) {
      url.push_back(c);
    } else {
      absl::StrAppendFormat(&url, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return url;
}

// Runs to its end, with its output thrown away. False if it could not be started, failed, or took too long.
bool Run(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  }
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  int status = 0;
  for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end;
       absl::SleepFor(absl::Milliseconds(20))) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return false;
}

// A folder for the browser's profile and the PDF, which goes with the object.
class Workshop {
 public:
  Workshop() : path_((fs::temp_directory_path() / "expunge-pdf-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Workshop() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

absl::Status PrintToPdf(const std::string& html, const std::string& pdf) {
  const std::string browser = FindBrowser();
  if (browser.empty()) {
    return UsageFailure("there is no Chromium to print a PDF with",
                        absl::StrCat("install one (Debian: chromium), name it in EXPUNGE_CHROMIUM, or print ",
                                     html, " from any browser"));
  }
  const Workshop workshop;
  std::error_code error;
  const fs::path source = fs::absolute(html, error);
  if (workshop.path().empty() || error)
    return UsageFailure("cannot make a folder for the browser", "check TMPDIR");
  const std::string made = absl::StrCat(workshop.path(), "/page.pdf");
  std::vector<std::string> command = {browser,
                                      "--headless",
                                      "--disable-gpu",
                                      "--no-first-run",
                                      "--disable-dev-shm-usage",
                                      "--no-pdf-header-footer",
                                      "--print-to-pdf-no-header",
                                      absl::StrCat("--user-data-dir=", workshop.path(), "/profile"),
                                      absl::StrCat("--print-to-pdf=", made)};
  // Chromium refuses its sandbox to root. The page has no script, and allows itself none.
  if (geteuid() == 0) command.emplace_back("--no-sandbox");
  command.push_back(FileUrl(source.string()));
  const bool ran = Run(std::move(command));
  const absl::StatusOr<std::string> bytes = ReadFile(made, kMaxPdfBytes);
  if (!ran || !bytes.ok() || !absl::StartsWith(*bytes, "%PDF")) {
    return UsageFailure(
        absl::StrCat(browser, " made no PDF"),
        absl::StrCat("print ", html, " from any browser, or name another one in EXPUNGE_CHROMIUM"));
  }
  return WriteFile(pdf, *bytes, 0644);
}

}  // namespace expunge::cli
