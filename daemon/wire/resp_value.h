// Values of RESP (the protocol of Redis, versions 2 and 3) as JSON: whole commands and replies from
// the bytes of one direction, in any split, and back to bytes. The form is that of stubs
// (docs/stubs.md), and goes further:
//
//   a text          a bulk string            {"status": "OK"}       a simple string
//   7               an integer               {"error": "ERR no"}    an error
//   null            nil                      {"null": "array"}      the nil of an array (version 2)
//   [...]           an array                 {"map": [[k, v], ...]} {"set": [...]} {"push": [...]}
//   {"double": "1.5"} {"boolean": true} {"big": "123"} {"verbatim": "txt:..."}
//   {"bulk_error": "ERR ..."}
//   {"bytes": "<base64>"} stands where a text would, which is not UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/resp/command_parser.h"
#include "core/resp/reply_parser.h"

namespace filibuster::wire {

inline constexpr size_t kMostRespBytes = 4 * 1024 * 1024;  // of one command or reply
inline constexpr size_t kMostRespDepth = 16;

struct RespMessage {
  // The n-th command, from 1, or the answer to the n-th one. 0: a push, which answers nothing
  // (core/resp/reply_parser.h, Reply::is_push).
  uint64_t number = 0;
  nlohmann::json value;    // a command: an array of its words
  bool too_large = false;  // by size or depth: `value` is null
  uint64_t begun_ns = 0, ended_ns = 0;
};

class RespReader final : resp::CommandHandler, resp::ReplyHandler {
 public:
  enum class Direction : uint8_t { kCommands, kReplies };
  explicit RespReader(Direction direction)
      : direction_(direction), commands_(this), replies_(this) {}

  // Times do not go back. The messages that are whole now.
  std::vector<RespMessage> feed(std::string_view bytes, uint64_t time_ns);
  // Why nothing is read any more, in a few words; nullptr: it is.
  const char* problem() const;
  // Nothing is open.
  bool between() const;

 private:
  void on_command(const resp::Command& command, size_t end) override;
  void on_reply(const resp::Reply& reply, size_t end) override;
  void take(uint64_t size, size_t end, bool push);

  Direction direction_;
  resp::CommandParser commands_;
  resp::ReplyParser replies_;
  std::vector<RespMessage> whole_;
  std::string buffer_;    // of a message that is not whole
  bool dropped_ = false;  // its bytes are not kept
  std::string_view fed_;  // the current feed
  size_t begin_ = 0;      // in `fed_`: of the next message
  uint64_t time_ns_ = 0, begun_ns_ = 0, number_ = 0;
};

// A text, or {"bytes": base64} where it is not UTF-8; and back. nullopt: it is neither.
nlohmann::json text_or_bytes(std::string_view bytes);
std::optional<std::string> bytes_of_text(const nlohmann::json& value);

// The words of one whole command: an array of bulk strings, or a line, as CommandParser has
// accepted it.
std::vector<std::string> command_words(std::string_view bytes);

// The bytes of a command that a client sends, and of a reply. `version` is that of the protocol, 2
// or 3, and decides how nil is written. What has no form of its own is the bulk string of its JSON.
std::string resp_command_bytes(const nlohmann::json& words);
std::string resp_reply_bytes(const nlohmann::json& value, int version);
// "": resp_reply_bytes() writes the value as what it says. Otherwise what is wrong with it.
std::string wrong_resp_value(const nlohmann::json& value);

}  // namespace filibuster::wire
