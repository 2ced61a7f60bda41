// What the two parsers told their handlers, with positions in the stream instead of in the feed:
// equal traces mean that the split into feeds made no difference. Shared by the unit tests and the
// fuzz target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/resp/command_parser.h"
#include "core/resp/reply_parser.h"

namespace filibuster::resp {

struct TracedArgument {
  std::string bytes;
  uint64_t size = 0;
  bool truncated = false;
  bool operator==(const TracedArgument&) const = default;
};

struct TracedCommand {
  std::string name;
  bool name_truncated = false, inline_command = false;
  uint32_t arguments = 0, key_argument = 0;
  TracedArgument first, key;
  Hash128 digest;
  uint64_t size = 0, end = 0;
  bool operator==(const TracedCommand&) const = default;
};

struct TracedReply {
  char type = 0;
  bool is_push = false, is_error = false, is_null = false, text_truncated = false;
  uint32_t elements = 0;
  std::string kind, error_code, error_line, simple;
  Hash128 digest;
  uint64_t size = 0, end = 0;
  bool operator==(const TracedReply&) const = default;
};

// What is common to both tracers. `fed` counts skipped bytes, too.
template <typename Parser, typename Traced>
struct Trace {
  template <typename Handler>
  explicit Trace(Handler* handler) : parser(handler) {}

  auto feed(std::string_view bytes) {
    // A copy of exactly this size: a read beyond the feed is seen by the address sanitizer.
    const std::vector<char> copy(bytes.begin(), bytes.end());
    const auto state = parser.feed(copy.data(), copy.size());
    fed += bytes.size();
    return state;
  }
  auto skip(uint64_t bytes) {
    fed += bytes;
    return parser.skip(bytes);
  }

  Parser parser;
  std::vector<Traced> all;
  uint64_t fed = 0;
};

struct CommandTracer final : CommandHandler, Trace<CommandParser, TracedCommand> {
  CommandTracer() : Trace(static_cast<CommandHandler*>(this)) {}

  void on_command(const Command& c, size_t end) override {
    const auto argument = [](const Argument& a) {
      return TracedArgument{std::string(a.bytes), a.size, a.truncated};
    };
    all.push_back({.name = std::string(c.name),
                   .name_truncated = c.name_truncated,
                   .inline_command = c.inline_command,
                   .arguments = c.arguments,
                   .key_argument = c.key_argument,
                   .first = argument(c.first_argument),
                   .key = argument(c.key),
                   .digest = c.digest,
                   .size = c.size,
                   .end = fed + end});
  }
};

struct ReplyTracer final : ReplyHandler, Trace<ReplyParser, TracedReply> {
  ReplyTracer() : Trace(static_cast<ReplyHandler*>(this)) {}

  void on_reply(const Reply& r, size_t end) override {
    all.push_back({.type = r.type,
                   .is_push = r.is_push,
                   .is_error = r.is_error,
                   .is_null = r.is_null,
                   .text_truncated = r.text_truncated,
                   .elements = r.elements,
                   .kind = std::string(r.kind),
                   .error_code = std::string(r.error_code),
                   .error_line = std::string(r.error_line),
                   .simple = std::string(r.simple),
                   .digest = r.digest,
                   .size = r.size,
                   .end = fed + end});
  }
};

// A command as clients send it.
inline std::string array(const std::vector<std::string>& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return out;
}

}  // namespace filibuster::resp
