#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cli/page.h"
#include "cli/verb.h"
#include "core/text/uri.h"
#include "daemon/base/own_files.h"

extern char** environ;

namespace filibuster::cli {

std::string page_address(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed).lexically_normal();
  return file_uri(failed ? path : whole.string());
}

bool page_is_built() {
  std::error_code failed;
  return std::filesystem::exists(helper_path("report.html"), failed);
}

namespace {

namespace fs = std::filesystem;

struct OpenOptions {
  std::string report, root = ".filibuster";
};

constexpr const char* kPages[] = {"report.html", "principled.html"};  // of `run` and `principled`

// Of a folder the newest one; the first one, if there is none. Of several, the user is told which.
fs::path newest_page(const fs::path& folder) {
  fs::path newest;
  fs::file_time_type written;
  std::string others;
  const auto add_other = [&](const fs::path& page) {
    others += (others.empty() ? "" : ", ") + page.string();
  };
  for (const char* name : kPages) {
    std::error_code failed;
    const fs::path page = folder / name;
    const auto time = fs::last_write_time(page, failed);
    if (failed) continue;
    if (!newest.empty() && time <= written) {
      add_other(page);
      continue;
    }
    if (!newest.empty()) add_other(newest);
    newest = page;
    written = time;
  }
  if (!others.empty())
    std::fprintf(stderr, "%s is the newest page; older: %s\n", newest.c_str(), others.c_str());
  return newest.empty() ? folder / kPages[0] : newest;
}

// The page of `path`: a folder, a document that has one beside it, or the page itself.
fs::path page_of(const fs::path& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) return newest_page(path);
  if (path.filename() == "principled.json") return path.parent_path() / "principled.html";
  if (path.extension() == ".json") return path.parent_path() / "report.html";
  return path;
}

// True: a program that shows the page was started. Its words are not this command's.
bool show(const std::string& address) {
  const bool has_screen =
      std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!has_screen) return false;
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int fd : {0, 1, 2})
    posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
  const char* const arguments[] = {"xdg-open", address.c_str(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "xdg-open", &quiet, nullptr,
                                  const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&quiet);
  return failed == 0;
}

Work declare_open(CLI::App& app) {
  auto options = std::make_shared<OpenOptions>();
  app.add_option("REPORT", options->report,
                 "report.html or principled.html, the .json beside it, or their folder")
      ->type_name("");
  app.add_option("--root", options->root, "where the results are, unless REPORT says")
      ->type_name("DIR")
      ->capture_default_str();
  return [options](const Invocation&) {
    const fs::path page = page_of(options->report.empty() ? options->root : options->report);
    std::error_code failed;
    if (!fs::is_regular_file(page, failed)) {
      return complain(
          kUsage,
          page.string() +
              ": there is no such page; `filibuster run` and `filibuster principled` write one" +
              (page_is_built() ? "" : " where npm was there when Filibuster was built"));
    }
    const std::string address = page_address(page.string());
    // The address is printed in any case: a person on another machine copies it.
    std::printf("%s\n", address.c_str());
    std::fflush(stdout);
    show(address);
    return static_cast<int>(kNothingFound);
  };
}

}  // namespace

const Verb kOpenVerb = {
    "open", "show the page of a report in the browser",
    "  filibuster open                          # the newest of .filibuster/report.html and principled.html\n"
    "  filibuster open results/report.html\n"
    "\nPrints the page's address, and opens it where there is a screen (xdg-open).\n"
    "report.html is the page of run, principled.html that of principled.\n",
    "", declare_open};

}  // namespace filibuster::cli
