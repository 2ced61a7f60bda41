#include "core/resp/render.h"

#include <cstring>

namespace filibuster::resp {
namespace {

char* put(char* out, std::string_view text) {
  for (const char c : text) *out++ = c == '\r' || c == '\n' ? ' ' : c;
  return out;
}

}  // namespace

size_t error_reply(char* out, size_t size, std::string_view code, std::string_view message) {
  const size_t blank = message.empty() ? 0 : 1;
  const size_t wanted = 1 + code.size() + blank + message.size() + 2;
  if (wanted > size) return 0;
  *out++ = '-';
  out = put(out, code);
  if (blank != 0) *out++ = ' ';
  out = put(out, message);
  std::memcpy(out, "\r\n", 2);
  return wanted;
}

size_t nil_reply(char* out, size_t size, int protocol) {
  const std::string_view reply = protocol >= 3 ? "_\r\n" : "$-1\r\n";
  if (reply.size() > size) return 0;
  std::memcpy(out, reply.data(), reply.size());
  return reply.size();
}

}  // namespace filibuster::resp
