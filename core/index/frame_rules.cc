#include "core/index/frame_rules.h"

#include <algorithm>

#include "core/text/glob.h"

namespace filibuster {
namespace {

constexpr size_t kMaxDotted = 512;

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// The pattern itself, or anything in what it names: "a.b" covers "a.b", "a.b.c" and "a.b$c".
bool covers(std::string_view pattern, std::string_view name) {
  if (glob_match(pattern, name)) return true;
  for (size_t at = 0; at < name.size(); ++at) {
    if ((name[at] == '.' || name[at] == '$') && glob_match(pattern, name.substr(0, at)))
      return true;
  }
  return false;
}

bool matches_path(std::string_view pattern, std::string_view path) {
  if (glob_match(pattern, path)) return true;
  if (pattern.find('/') == std::string_view::npos) return false;
  for (size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    if (glob_match(pattern, path.substr(at + 1))) return true;
  }
  return false;
}

// ".../node_modules/@scope/name/lib/file.js": "@scope/name". Empty: none.
std::string_view node_package(std::string_view path) {
  constexpr std::string_view kDirectory = "/node_modules/";
  const size_t at = path.rfind(kDirectory);
  if (at == std::string_view::npos) return {};
  path.remove_prefix(at + kDirectory.size());
  size_t end = path.find('/');
  if (path.starts_with('@') && end != std::string_view::npos) end = path.find('/', end + 1);
  return path.substr(0, end);
}

// "/srv/shop/cart.py" as ".srv.shop.cart" into `out`.
std::string_view dotted_module(std::string_view path, char (&out)[kMaxDotted]) {
  if (!path.ends_with(".py")) return {};
  path.remove_suffix(3);
  if (path.ends_with("/__init__")) path.remove_suffix(9);
  if (path.size() > sizeof out) path.remove_prefix(path.size() - sizeof out);
  std::replace_copy(path.begin(), path.end(), out, '/', '.');
  return {out, path.size()};
}

bool matches_module(std::string_view pattern, std::string_view dotted) {
  for (size_t at = 0; at < dotted.size(); ++at) {
    if ((at == 0 || dotted[at - 1] == '.') && covers(pattern, dotted.substr(at))) return true;
  }
  return false;
}

}  // namespace

bool frame_matches(std::string_view pattern, FrameKind kind, std::string_view name) {
  if (pattern.empty() || name.empty()) return false;
  switch (kind) {
    case FrameKind::kClass:
      return covers(pattern, name);
    case FrameKind::kModule:
      return glob_match(pattern, base_name(name)) || matches_path(pattern, name);
    case FrameKind::kFile:
      break;
  }
  if (glob_match(pattern, base_name(name)) || matches_path(pattern, name)) return true;
  const std::string_view package = node_package(name);
  if (!package.empty() && glob_match(pattern, package)) return true;
  char dotted[kMaxDotted];
  return matches_module(pattern, dotted_module(name, dotted));
}

FrameVerdict frame_verdict(const FrameTable& table, FrameKind kind, std::string_view name) {
  FrameVerdict verdict = FrameVerdict::kDefault;
  const uint32_t count = std::min(table.count, kMaxFrameRules);
  for (uint32_t i = 0; i < count; ++i) {
    const FrameRule& rule = table.rules[i];
    if (!frame_matches(rule.text(), kind, name)) continue;
    if (rule.deny == 0) return FrameVerdict::kCounts;
    verdict = FrameVerdict::kLeftOut;
  }
  return verdict;
}

}  // namespace filibuster
