#include "preload/runtimes/go_files.h"

#include <algorithm>

namespace filibuster::preload {
namespace {

// The folders of Go's standard library. No dot stands in them, as one does in the first part of other people's packages.
constexpr std::string_view kStandard[] = {
    "archive",  "bufio",   "bytes",   "cmp",      "compress", "container", "context", "crypto",
    "database", "debug",   "embed",   "encoding", "errors",   "expvar",    "flag",    "fmt",
    "go",       "hash",    "html",    "image",    "index",    "internal",  "io",      "iter",
    "log",      "maps",    "math",    "mime",     "net",      "os",        "path",    "plugin",
    "reflect",  "regexp",  "runtime", "slices",   "sort",     "strconv",   "strings", "structs",
    "sync",     "syscall", "testing", "text",     "time",     "unicode",   "unique",  "unsafe",
    "vendor",   "weak",
};

bool begins_with_standard_folder(std::string_view rest) {
  const std::string_view folder = rest.substr(0, rest.find('/'));
  return folder.size() < rest.size() && std::ranges::find(kStandard, folder) != std::end(kStandard);
}

}  // namespace

bool is_go_library_file(std::string_view file) {
  if (!file.ends_with(".go") && !file.ends_with(".s")) return false;
  // "/root/go/pkg/mod/github.com/gorilla/mux@v1.8.0/mux.go"; with -trimpath from the name on.
  if (file.find("/pkg/mod/") != std::string_view::npos || file.find("@v") != std::string_view::npos)
    return true;
  if (file.find("/gocode/src/") != std::string_view::npos || file.ends_with(".pb.go")) return true;
  // "/usr/lib/go-1.19/src/net/http/client.go", "/usr/local/go/src/..."; with -trimpath "net/http/client.go".
  if (!file.starts_with('/')) return begins_with_standard_folder(file);
  constexpr std::string_view kSource = "/src/";
  const size_t source = file.find(kSource);
  if (source == std::string_view::npos) return false;
  const std::string_view root = file.substr(0, source);
  const std::string_view last = root.substr(root.rfind('/') + 1);
  return (last == "go" || last.starts_with("go1") || last.starts_with("go-1")) &&
         begins_with_standard_folder(file.substr(source + kSource.size()));
}

}  // namespace filibuster::preload
