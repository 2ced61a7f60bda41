#include "preload/stack/frame_filter.h"

namespace filibuster::preload {
namespace {

// Prefixes of base names. A version or an extension may follow.
constexpr std::string_view kRuntimeModules[] = {
    "libfilibuster.so", "libc.so",   "libc-2",     "libc.musl",      "libpthread",
    "ld-linux",         "ld-2",      "ld.so",      "ld-musl",        "linux-vdso",
    "libstdc++",        "libc++",    "libgcc_s",   "libcurl",        "libssl",
    "libcrypto",        "libgnutls", "libnghttp2", "libcpp-httplib", "libpython",
    "python2",          "python3",   "libunwind",
};

}  // namespace

bool is_runtime_module(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  for (std::string_view prefix : kRuntimeModules) {
    if (name.starts_with(prefix)) return true;
  }
  return name == "python";
}

bool is_library_file(std::string_view file) {
  constexpr std::string_view kDirectories[] = {"/lib/python3", "/lib64/python3", "/lib/python2",
                                               "/site-packages/", "/dist-packages/",
                                               "/node_modules/"};
  if (file.starts_with("<frozen") || file.starts_with("node:")) return true;
  for (std::string_view directory : kDirectories) {
    if (file.find(directory) != std::string_view::npos) return true;
  }
  return false;
}

std::string_view last_two_components(std::string_view path) {
  size_t at = path.rfind('/');
  if (at == std::string_view::npos || at == 0) return path;
  at = path.rfind('/', at - 1);
  return at == std::string_view::npos ? path : path.substr(at + 1);
}

Hash128 frame_hash(std::string_view file, uint32_t line, std::string_view function) {
  return combine(combine(hash_text(last_two_components(file)), hash_text(function)),
                 static_cast<uint64_t>(line));
}

}  // namespace filibuster::preload
