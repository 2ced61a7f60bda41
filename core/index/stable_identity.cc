#include "core/index/stable_identity.h"

namespace filibuster {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// "users.py" of "users.py:31", "libshop.so" of "libshop.so+0x1234".
std::string_view without_place(std::string_view file) {
  const size_t colon = file.find_last_of(':');
  if (colon != file.npos && colon + 1 < file.size() &&
      file.find_first_not_of("0123456789", colon + 1) == file.npos)
    return file.substr(0, colon);
  return file.substr(0, file.rfind("+0x"));
}

}  // namespace

std::string frame_without_line(std::string_view frame) {
  const size_t function = frame.find(" (");
  const std::string_view file = file_name(without_place(frame.substr(0, function)));
  std::string out(file);
  if (function != frame.npos && frame.ends_with(')'))
    out.append(" ").append(frame.substr(function + 2, frame.size() - function - 3));
  return out;
}

Hash128 stable_kind(Hash128 parent_identity, std::string_view call,
                    std::span<const std::string> stack) {
  Hash128 kind = combine(parent_identity, hash_text(call));
  for (const std::string& frame : stack) kind = combine(kind, hash_text(frame_without_line(frame)));
  return kind;
}

Hash128 stable_identity(Hash128 kind, uint32_t number) {
  return combine(kind, uint64_t{number});
}

}  // namespace filibuster
