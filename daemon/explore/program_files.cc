#include "daemon/explore/program_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/hash.h"
#include "daemon/process/preflight.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kLargest = 256
                               << 20;  // bytes; of a larger file only size and time are compared
constexpr size_t kPiece = 1 << 20;
constexpr int kDeepest = 12;

// Files that are read as code at run time. Sources of compiled programs are not among them, since the
// program itself is compared.
constexpr std::string_view kCode[] = {".py",  ".js",    ".mjs", ".cjs", ".ts",     ".tsx", ".jsx",
                                      ".rb",  ".php",   ".pl",  ".pm",  ".lua",    ".sh",  ".ex",
                                      ".exs", ".class", ".jar", ".war", ".groovy", ".so",  ".dll"};

bool is_code(const fs::path& path) {
  return std::find(std::begin(kCode), std::end(kCode), path.extension().string()) !=
         std::end(kCode);
}

// Whether a file that a command names is compared. Other files are data: a database changes with
// every execution.
bool is_program(const fs::path& path) {
  return is_code(path) || access(path.c_str(), X_OK) == 0;
}

bool is_left_out(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::error_code ignored;
  return name.starts_with('.') || name == "node_modules" || name == "__pycache__" ||
         fs::exists(folder / "pyvenv.cfg", ignored);
}

// One name for "services/a" and "services/a/".
std::string walked_name(const fs::path& folder) {
  const fs::path normal = folder.lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).string();
}

std::string digest_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "";
  if (static_cast<uintmax_t>(status.st_size) <= kLargest) {
    // The file is read, not mapped: a build may be cutting it short at this moment.
    std::ifstream file(path, std::ios::binary);
    std::vector<char> piece(std::min<size_t>(static_cast<size_t>(status.st_size) + 1, kPiece));
    Hash128 hash;
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0)
      hash = combine(hash, hash_bytes(piece.data(), static_cast<size_t>(file.gcount())));
    if (file.eof()) return to_hex(hash);
  }
  return std::to_string(status.st_size) + " bytes of " + std::to_string(status.st_mtim.tv_sec) +
         "." + std::to_string(status.st_mtim.tv_nsec);
}

}  // namespace

void ProgramFiles::add_file(const std::string& path) {
  if (path.empty() || files_.contains(path)) return;
  if (std::string digest = digest_of(path); !digest.empty()) files_[path] = std::move(digest);
}

void ProgramFiles::add_word(std::string_view word, const std::string& directory) {
  if (word.empty()) return;
  const fs::path path = (fs::path(directory) / word).lexically_normal();
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_regular_file(status)) {
    if (is_program(path)) add_file(path.string());
  } else if (fs::is_directory(status) && path != path.root_path()) {
    add_folder(path.string());
  }
}

// Adds each word of `text`, and its parts if it is a list or an assignment (-cp a.jar:b.jar, --app=x.py).
void ProgramFiles::add_words(std::string_view text, const std::string& directory) {
  constexpr std::string_view kBetweenWords = " \t\n\"'`;&|()<>{}$";
  constexpr std::string_view kBetweenParts = ":=,";
  const auto split = [](std::string_view whole, std::string_view at, auto&& take) {
    for (size_t begin = 0; begin < whole.size();) {
      const size_t end = std::min(whole.find_first_of(at, begin), whole.size());
      take(whole.substr(begin, end - begin));
      begin = end + 1;
    }
  };
  split(text, kBetweenWords, [&](std::string_view word) {
    add_word(word, directory);
    if (word.find_first_of(kBetweenParts) == std::string_view::npos) return;
    split(word, kBetweenParts, [&](std::string_view part) { add_word(part, directory); });
  });
}

void ProgramFiles::add_command(const std::vector<std::string>& argv, const std::string& directory,
                               std::string_view path_variable) {
  if (argv.empty()) return;
  add_file(find_program(argv[0], directory, path_variable));
  for (size_t i = 1; i < argv.size(); ++i) {
    add_words(argv[i], directory);
    if (argv[i - 1] == "-c")
      add_file(find_program(first_program_of(argv[i]), directory, path_variable));
  }
}

void ProgramFiles::add_folder(const std::string& folder) {
  if (!walked_.insert(walked_name(folder)).second) return;
  std::error_code failed;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                      failed);
  std::set<std::string> found;
  size_t looked_at = 0;
  for (const fs::recursive_directory_iterator end; !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    const bool is_folder = at->is_directory(ignored);
    // Files of data are not counted as looked at: there may be many.
    if (!is_folder && (!is_code(at->path()) || !at->is_regular_file(ignored))) continue;
    if (++looked_at > most_entries_) {
      files_[folder + ": more than " + std::to_string(most_entries_) +
             " entries; what is beyond them is not compared"] = "";
      break;
    }
    if (!is_folder) {
      found.insert(at->path().lexically_normal().string());
    } else if (at.depth() >= kDeepest || is_left_out(at->path()) || at->path() == ignored_ ||
               walked_.contains(walked_name(at->path()))) {
      at.disable_recursion_pending();
    }
  }
  for (const std::string& path : found) add_file(path);
}

std::map<std::string, std::string> program_files(const Config& config, const SessionLane& lane,
                                                 const TestConfig& test) {
  ProgramFiles files(lane.root);
  const char* path = getenv("PATH");
  const auto add = [&](const Command& command, const std::string& directory) {
    const std::string where = lane_directory(config, directory);
    if (const auto argv = lane_command(lane, command); argv.ok() && !command.empty()) {
      files.add_command(argv.value(), where, path == nullptr ? "/usr/bin:/bin" : path);
      files.add_folder(where);
    }
  };
  for (const ServiceConfig& service : config.services) {
    if (!service.ignored) add(service.command, service.directory);
  }
  add(test.command, test.directory);
  return files.files();
}

std::string difference(const std::map<std::string, std::string>& before,
                       const std::map<std::string, std::string>& now) {
  std::vector<std::string> all;
  for (const auto& [path, digest] : before) {
    const auto same = now.find(path);
    if (same == now.end()) {
      all.push_back(path + " is gone");
    } else if (same->second != digest) {
      all.push_back(path + " has changed");
    }
  }
  for (const auto& [path, digest] : now) {
    if (!before.contains(path)) all.push_back(path + " is new");
  }
  if (all.empty()) return "";
  return all.front() +
         (all.size() == 1 ? "" : ", and " + std::to_string(all.size() - 1) + " more differ");
}

}  // namespace filibuster
