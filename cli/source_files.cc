#include "cli/source_files.h"

#include <algorithm>
#include <filesystem>

#include "cli/analysis/imports.h"
#include "cli/configuration.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;
using analysis::Language;

constexpr size_t kMaxFile = 1u << 20;  // bytes; a source that people write is smaller
constexpr size_t kMaxFiles = 5000;     // of one service
constexpr size_t kMaxUpwards = 8;      // folders above a source in which an import is looked for
constexpr int kMaxDepth = 32;          // of folders

bool is_file(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}
bool is_folder(const std::string& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}
std::string normal(const fs::path& path) {
  return path.lexically_normal().string();
}

// The name and folder of the Go module around `folder`, from its go.mod ("module example.com/shop").
struct GoModule {
  std::string name, folder;
};
GoModule go_module(fs::path folder) {
  for (size_t i = 0; i < kMaxUpwards; ++i) {
    if (const auto text = read_file((folder / "go.mod").string(), kMaxFile)) {
      const std::vector<std::string> words = analysis::shell_words(text.value().substr(0, 4096));
      for (size_t word = 0; word + 1 < words.size(); ++word) {
        if (words[word] == "module") return {words[word + 1], folder.string()};
      }
      return {};
    }
    if (!folder.has_parent_path() || folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return {};
}

void go_files(const fs::path& folder, std::vector<std::string>* out) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string path = normal(entry.path());
    if (path.ends_with(".go") && !analysis::is_test_or_generated(path) && is_file(path))
      out->push_back(path);
  }
}

}  // namespace

std::string SourceFiles::shown(const std::string& path) const {
  const fs::path relative = fs::path(path).lexically_relative(base_);
  return relative.empty() || relative.begin()->string() == ".." ? path : relative.string();
}

std::shared_ptr<const analysis::Source> SourceFiles::read(const std::string& path,
                                                          Skipped* skipped) {
  if (const auto known = read_.find(path); known != read_.end()) return known->second;
  Result<std::string> text = read_file(path, kMaxFile);
  if (!text) {
    std::error_code failed;
    const bool large = fs::file_size(path, failed) > kMaxFile && !failed;
    skipped->by_reason[large ? "larger than 1 MiB" : "cannot be read"].push_back(shown(path));
    return nullptr;
  }
  if (utf8_error(text.value(), path) || text.value().find('\0') != std::string::npos) {
    skipped->by_reason["not UTF-8 text"].push_back(shown(path));
    return nullptr;
  }
  std::shared_ptr<const analysis::Source> source =
      analysis::read_source(shown(path), std::move(text).value());
  read_.emplace(path, source);
  return source;
}

void SourceFiles::walk(const std::string& folder, std::set<std::string>* files,
                       Skipped* skipped) const {
  std::error_code failed;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                      failed);
  if (failed) {
    skipped->by_reason["cannot be read"].push_back(shown(folder));
    return;
  }
  for (; at != fs::recursive_directory_iterator(); at.increment(failed)) {
    if (failed) break;
    const std::string path = normal(at->path());
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    if (at->is_directory(unknown)) {
      if (at->is_symlink(unknown)) {  // the iterator does not follow links
        skipped->by_reason["symbolic links to folders"].push_back(shown(path) + "/");
        continue;
      }
      if (analysis::is_foreign_folder(name)) {
        at.disable_recursion_pending();
        skipped->by_reason["not the service's own sources"].push_back(shown(path) + "/");
      } else if (at.depth() >= kMaxDepth) {
        at.disable_recursion_pending();
        skipped->by_reason["too deep"].push_back(shown(path) + "/");
      }
      continue;
    }
    if (analysis::language_of(path) == Language::kNone) continue;
    if (!is_file(path)) {
      skipped->by_reason["not regular files: pipes, links to nothing"].push_back(shown(path));
    } else if (analysis::is_test_or_generated(path)) {
      skipped->by_reason["tests, or generated"].push_back(shown(path));
    } else if (files->size() >= kMaxFiles) {
      skipped->by_reason["more than " + std::to_string(kMaxFiles) + " files"].push_back(
          shown(path));
      break;
    } else {
      files->insert(path);
    }
  }
}

void SourceFiles::remark(const Skipped& skipped, std::vector<std::string>* out) {
  constexpr size_t kMaxNamed = 5;
  for (const auto& [reason, paths] : skipped.by_reason) {
    std::string line = "skipped (" + reason + "): ";
    for (size_t i = 0; i < paths.size() && i < kMaxNamed; ++i)
      line += (i == 0 ? "" : ", ") + paths[i];
    if (paths.size() > kMaxNamed)
      line += " and " + std::to_string(paths.size() - kMaxNamed) + " more";
    out->push_back(std::move(line));
  }
}

Result<SourceFiles::Found> SourceFiles::below(const std::vector<std::string>& paths) {
  Found out;
  Skipped skipped;
  std::set<std::string> files;
  std::string where;
  for (const std::string& path : paths) {
    where += (where.empty() ? "" : ", ") + shown(normal(path));
    if (is_folder(path)) {
      walk(path, &files, &skipped);
    } else if (is_file(path)) {
      files.insert(normal(path));
      if (analysis::language_of(path) == Language::kNone)
        skipped.by_reason["not a language that is known here"].push_back(shown(path));
    } else {
      std::error_code failed;
      return Error{path + (fs::exists(path, failed) ? ": neither a regular file nor a folder"
                                                    : ": there is no such file or folder")};
    }
  }
  for (const std::string& path : files) {
    if (analysis::language_of(path) == Language::kNone) continue;
    if (auto source = read(path, &skipped)) out.sources.files.push_back(std::move(source));
  }
  remark(skipped, &out.remarks);
  const size_t count = out.sources.files.size();
  out.shown = std::to_string(count) + (count == 1 ? " file in " : " files in ") + where;
  return out;
}

// Adds the files of the project that `source` imports.
void SourceFiles::follow(const std::string& path, const analysis::Source& source,
                         std::vector<std::string>* next) const {
  const fs::path folder = fs::path(path).parent_path();
  for (const analysis::Import& one : analysis::imports_of(source)) {
    fs::path from = folder;
    for (size_t i = 0; i < (one.upwards ? kMaxUpwards : 1); ++i) {
      const size_t before = next->size();
      for (const std::string& candidate : one.candidates) {
        const std::string file = normal(from / candidate);
        if (analysis::language_of(file) != Language::kNone && is_file(file)) next->push_back(file);
      }
      if (next->size() > before || from == from.parent_path()) break;
      from = from.parent_path();
    }
  }
  if (source.language != Language::kGo) return;
  go_files(folder, next);
  const GoModule module = go_module(folder);
  if (module.name.empty()) return;
  for (const std::string& package : analysis::go_packages_of(source)) {
    if (package.starts_with(module.name + "/"))
      go_files(fs::path(module.folder) / package.substr(module.name.size() + 1), next);
  }
}

std::optional<SourceFiles::Found> SourceFiles::of_program(const std::vector<std::string>& words,
                                                          const std::string& directory) {
  std::string program;
  for (const std::string& candidate : analysis::program_candidates(words)) {
    const std::string path = normal(fs::path(directory) / candidate);
    if (is_file(path)) {
      program = path;
      break;
    }
  }
  if (program.empty()) return std::nullopt;
  Found out;
  Skipped skipped;
  out.sources.closure = true;
  std::set<std::string> seen{program};
  std::vector<std::string> waiting{program};
  for (size_t i = 0; i < waiting.size() && i < kMaxFiles; ++i) {
    const auto source = read(waiting[i], &skipped);
    if (source == nullptr) continue;
    out.sources.files.push_back(source);
    std::vector<std::string> next;
    follow(waiting[i], *source, &next);
    for (std::string& path : next) {
      if (!analysis::is_test_or_generated(path) && seen.insert(path).second)
        waiting.push_back(std::move(path));
    }
  }
  remark(skipped, &out.remarks);
  const size_t others = out.sources.files.empty() ? 0 : out.sources.files.size() - 1;
  out.shown = shown(program);
  if (others > 0)
    out.shown +=
        " and " + std::to_string(others) + (others == 1 ? " file" : " files") + " that it imports";
  return out;
}

Result<SourceFiles::Found> SourceFiles::of_command(const std::vector<std::string>& words,
                                                   const std::string& directory) {
  if (auto program = of_program(words, directory)) return *std::move(program);
  std::string folder = directory;
  for (const std::string& word : words) {
    const std::string path = normal(fs::path(directory) / word);
    const bool inside = path.starts_with(normal(fs::path(directory)) + "/");
    if (!inside || word.starts_with("-")) continue;
    if (is_folder(path)) folder = path;
    if (is_file(path)) folder = fs::path(path).parent_path().string();
  }
  auto all = below({folder});
  if (all.ok() && folder == directory) {
    all->remarks.push_back("the source of its program was not found, so all files below " +
                           shown(folder) + " were read: name its own with 'sources' or --source");
  }
  return all;
}

}  // namespace filibuster::cli
