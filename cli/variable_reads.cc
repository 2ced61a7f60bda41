#include "cli/variable_reads.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "cli/analysis/imports.h"
#include "cli/configuration.h"
#include "cli/init/other_reads.h"
#include "cli/init/variables.h"
#include "cli/source_files.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSource = 256u << 10;  // bytes
constexpr size_t kMaxSources = 4000;
constexpr size_t kMaxEntries = 50000;  // of folders
constexpr int kMaxLevels = 16;         // of folders

// "./a/b/" -> "a/b"; "" for the folder itself.
std::string plain_path(const fs::path& path) {
  std::string out = path.lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out == "." ? "" : out;
}

bool is_within(const std::string& path, const std::string& folder) {
  if (folder.empty()) return !path.starts_with("../");
  return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

// Of the configuration's folder. Those of a service hold tests of the service alone.
bool is_folder_of_tests(const std::string& name) {
  constexpr std::string_view kNames[] = {"test",  "tests",     "e2e",         "spec",
                                         "specs", "__tests__", "integration", "features"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool is_test_of_folder(const std::string& path) {
  const size_t slash = path.find('/');
  return slash == std::string::npos ? analysis::is_test_or_generated(path)
                                    : is_folder_of_tests(path.substr(0, slash));
}

// The words of the command, and the folder in which its program runs.
struct Started {
  std::vector<std::string> words;
  std::string folder;
};
Started started_by(const init::DraftService& service) {
  Started out{analysis::shell_words(service.command), service.directory};
  std::vector<std::string> inner;
  for (const std::string& word : out.words) {
    const bool script = word.find(' ') != std::string::npos;  // npm exec -c 'node server.js'
    for (std::string& one : script ? analysis::shell_words(word) : std::vector{word})
      inner.push_back(std::move(one));
  }
  out.words = std::move(inner);
  if (const size_t end = service.command.find("&&");
      service.command.starts_with("cd ") && end != std::string::npos) {
    const auto before = analysis::shell_words(service.command.substr(3, end - 3));
    if (!before.empty()) out.folder = plain_path(fs::path(out.folder) / before.back());
  }
  return out;
}

class Reading {
 public:
  Reading(const std::string& folder, init::Draft* draft)
      : draft_(*draft),
        here_(folder.empty() ? fs::current_path() : fs::absolute(folder)),
        files_(here_.string()) {}

  std::vector<init::Reader> run() {
    for (const init::DraftService& service : draft_.services) {
      if (service.left_alone || service.redis || service.command.empty()) continue;
      if (fs::path(service.directory).is_absolute()) continue;
      begin(service);
    }
    walk("");
    for (const Service& one : services_) {
      if (one.folder.starts_with("..")) walk(one.folder);
    }
    init::Reader test{.service = "", .reads = {}, .dot_env = variables_of({""})};
    for (const auto& [path, reads] : reads_) {
      if (is_test_of_folder(path)) {
        test.reads.insert(test.reads.end(), reads.begin(), reads.end());
      } else {
        const std::vector<Service*> owners = owners_of(path);
        const bool shared = owners.size() > 1 && !owners[0]->program;
        for (Service* const service : owners) {
          init::Reader& out = service->reader;
          out.has_sources = true;
          out.tls = out.tls || tls_.contains(path);
          for (init::VariableRead read : reads) {
            read.shared = shared;
            out.reads.push_back(std::move(read));
          }
        }
      }
    }
    std::vector<init::Reader> out;
    for (Service& one : services_) out.push_back(std::move(one.reader));
    out.push_back(std::move(test));
    return out;
  }

 private:
  struct Service {
    init::Reader reader;
    std::string folder;
    std::optional<std::set<std::string>> program;  // its files, if its program was found
  };

  void begin(const init::DraftService& service) {
    const Started started = started_by(service);
    Service one{.reader = {.service = service.name, .reads = {}, .dot_env = {}},
                .folder = plain_path(started.folder),
                .program = {}};
    one.reader.dot_env = variables_of({"", one.folder});
    one.reader.reads =
        init::variables_of_command("the command of '" + service.name + "'", service.command);
    if (const auto found = files_.of_program(started.words, (here_ / one.folder).string())) {
      one.program.emplace();
      for (const auto& source : found->sources.files)
        one.program->insert(plain_path(fs::path(source->path).is_absolute()
                                           ? fs::path(source->path).lexically_relative(here_)
                                           : fs::path(source->path)));
    } else {
      one.folder = folder_of_words(started.words, one.folder);
    }
    services_.push_back(std::move(one));
  }

  // java -jar users/target/users.jar: what is built there is that of users.
  std::string folder_of_words(const std::vector<std::string>& words,
                              const std::string& folder) const {
    for (const std::string& word : words) {
      fs::path inner = folder;
      bool deeper = false;
      const fs::path parent = fs::path(word).lexically_normal().parent_path();
      if (word.starts_with('-') || fs::path(word).is_absolute()) continue;
      for (const fs::path& part : parent) {
        std::error_code failed;
        if (part == ".." || part == "." || analysis::is_foreign_folder(part.string()) ||
            !fs::is_directory(here_ / inner / part, failed))
          break;
        inner /= part;
        deeper = true;
      }
      if (deeper) return plain_path(inner);
    }
    return folder;
  }

  std::map<std::string, std::string> variables_of(const std::set<std::string>& folders) const {
    std::map<std::string, std::string> out;
    const init::ReadVariable none = [](const std::string&) { return std::nullopt; };
    for (const std::string& folder : folders) {
      // Compose has a use of its own for it.
      if (folder.empty() && draft_.origin == init::Draft::Origin::kCompose) continue;
      if (const auto text = read_file((here_ / folder / ".env").string(), kMaxSource))
        init::add_variables(text.value(), none, &out);
    }
    return out;
  }

  void walk(const std::string& folder) {
    std::error_code failed;
    fs::recursive_directory_iterator at(here_ / folder,
                                        fs::directory_options::skip_permission_denied, failed);
    std::set<std::string> paths;
    size_t entries = 0;
    for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
      if (++entries > kMaxEntries || paths.size() >= kMaxSources) {
        draft_.remarks.push_back(
            "there are too many files here to look for all variables that are read: " +
            std::to_string(paths.size()) + " sources were looked at");
        break;
      }
      const std::string name = at->path().filename().string();
      std::error_code unknown;
      if (at->is_directory(unknown)) {
        const bool tests = folder.empty() && at.depth() == 0 && is_folder_of_tests(name);
        const bool foreign = analysis::is_foreign_folder(name) && !tests;
        if (foreign || at.depth() >= kMaxLevels) at.disable_recursion_pending();
        continue;
      }
      if (init::may_read_variables(name) && at->is_regular_file(unknown))
        paths.insert(plain_path(at->path().lexically_relative(here_)));
    }
    for (const std::string& path : paths) {
      if (analysis::is_test_or_generated(path) && !is_test_of_folder(path)) continue;
      const auto text = read_file((here_ / path).string(), kMaxSource);  // an error if it is larger
      if (text.ok() && !utf8_error(text.value(), path)) {
        reads_[path] = init::variables_read(path, text.value());
        if (init::serves_tls(text.value())) tls_.insert(path);
      }
    }
  }

  // The services whose source the file is: those of which the program has it; else the one in whose
  // folder it lies, or those there of which no program was found.
  std::vector<Service*> owners_of(const std::string& path) {
    std::vector<Service*> out, there;
    size_t deepest = 0;
    for (Service& one : services_) {
      if (one.program && one.program->contains(path)) out.push_back(&one);
      if (!is_within(path, one.folder) || one.folder.size() < deepest) continue;
      if (one.folder.size() > deepest) there.clear();
      deepest = one.folder.size();
      there.push_back(&one);
    }
    if (!out.empty() || there.size() == 1) return out.empty() ? there : out;
    std::copy_if(there.begin(), there.end(), std::back_inserter(out),
                 [](const Service* one) { return !one->program; });
    return out;
  }

  init::Draft& draft_;
  const fs::path here_;
  SourceFiles files_;
  std::vector<Service> services_;
  std::map<std::string, std::vector<init::VariableRead>> reads_;  // of each file
  std::set<std::string> tls_;                                     // files that serve it
};

}  // namespace

std::vector<init::Reader> variable_reads(const std::string& folder, init::Draft* draft) {
  return Reading(folder, draft).run();
}

}  // namespace filibuster::cli
