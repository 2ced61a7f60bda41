// A passive parser of what a client sends to Redis (RESP, https://redis.io/docs/latest/develop/
// reference/protocol-spec/): arrays of bulk strings, and inline commands.
//
// Feed it the bytes of the stream in any split; it calls the handler once for each command, with
// positions relative to the start of the current feed. It never guesses: what is not RESP makes it
// kInvalid for good. It never allocates: a few first bytes are kept in fixed buffers (truncation is
// flagged), all others go into a digest. What it reports does not depend on the split.
//
// It is stricter than Redis, which looks at no byte of a line end but its CR and at none after a
// bulk string: clients write them all. Empty and null arrays and blank lines are no commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/hash.h"
#include "core/resp/pieces.h"

namespace filibuster::resp {

inline constexpr size_t kMaxName = 32;      // bytes of a name that are kept
inline constexpr size_t kMaxArgument = 64;  // bytes of an argument that are kept
// Bounds of Redis: of an array with the command's name (up to version 6; later ones take more,
// which no client sends), of a bulk string (proto-max-bulk-len unless configured), of an inline
// command.
inline constexpr uint64_t kMaxArray = 1024 * 1024;
inline constexpr uint64_t kMaxCommandBulk = 512ull * 1024 * 1024;
inline constexpr uint64_t kMaxInlineLine = 64 * 1024;

enum class CommandState : uint8_t {
  kStart,    // between commands: all bytes belong to something that is complete
  kCommand,  // in a command, or in what may turn out to be none (a blank line, an empty array)
  kInvalid,  // not RESP, or beyond the bounds: nothing is parsed any more
};

struct Argument {
  std::string_view bytes;  // as sent; its first kMaxArgument bytes
  uint64_t size = 0;       // of all of it
  bool truncated = false;  // `bytes` is not all of it
};

// The texts of a command are valid during on_command only.
struct Command {
  // In capital letters (ASCII), at most kMaxName bytes.
  std::string_view name;
  bool name_truncated = false;
  uint32_t arguments = 0;  // without the name
  Argument first_argument;
  // The number of the argument that is the first key (commands.h), and that one; 0: none, not
  // known, or not among the arguments.
  uint32_t key_argument = 0;
  Argument key;
  // Covers all arguments and their lengths, without the name; equal for equal arguments. Of bytes that
  // were skipped only the number enters it.
  Hash128 digest;
  uint64_t size = 0;  // in bytes; the command begins at end - size (below 0: in an earlier feed)
  // The command is a line of words. Its name is the first word as it stands between its quotes; of the
  // other words there are only number and digest (of the words as sent, whatever space is between them).
  bool inline_command = false;
};

// The subcommand of a container command (CONFIG GET): its first argument in capital letters, in
// `out`. Empty for all other commands, and if it is longer than any subcommand.
std::string_view subcommand(const Command& command, char (&out)[kMaxName]);

class CommandHandler {
 public:
  // `end` = offset in this feed of the first byte after the command.
  virtual void on_command(const Command& command, size_t end) = 0;

 protected:
  ~CommandHandler() = default;
};

class CommandParser {
 public:
  // `handler` outlives the parser.
  explicit CommandParser(CommandHandler* handler) : handler_(handler) {}
  CommandParser(const CommandParser&) = delete;
  CommandParser& operator=(const CommandParser&) = delete;

  // Consumes all of it unless the state becomes kInvalid; returns the state after it.
  CommandState feed(const char* data, size_t size);
  // Bytes that went by unseen (sendfile, splice): at most bulk_left(). Returns the state; kInvalid
  // if there are not so many to skip.
  CommandState skip(uint64_t bytes);

  CommandState state() const { return state_; }
  // Why it is kInvalid, in a few words; nullptr if it is not.
  const char* reason() const { return reason_; }
  // Bytes to come of the argument that is being read, without its line end; 0 in the name, which
  // must be seen.
  uint64_t bulk_left() const { return step_ == Step::kBulk && index_ != 0 ? left_ : 0; }

 private:
  enum class Step : uint8_t {
    kStart,
    kCount,   // of an array
    kDollar,  // before a bulk string
    kLength,  // of a bulk string
    kBulk,
    kBulkCr,
    kBulkLf,
    kInline,
  };
  // Where an inline command is (sdssplitargs of Redis).
  enum class Word : uint8_t {
    kNone,  // between words
    kPlain,
    kDouble,  // in double quotes
    kDoubleEscape,
    kSingle,  // in single quotes
    kSingleBackslash,
    kClosed,  // after a closing quote: only space may follow
  };

  void begin_command();
  void take(char c, size_t end);
  void take_bulk(const char* data, size_t size);
  void begin_argument(uint64_t size);
  void end_argument(size_t end);
  void end_name();
  void take_inline(char c, size_t end);
  void take_word_byte(char c, bool of_name);
  void end_word();
  void complete(size_t end, bool inline_command);
  void fail(const char* reason);

  CommandHandler* handler_;
  const char* reason_ = nullptr;
  uint64_t command_bytes_ = 0;
  uint64_t left_ = 0;     // of the current bulk string
  uint64_t skipped_ = 0;  // of the arguments of this command
  uint64_t size_ = 0;     // of the current argument
  uint64_t first_size_ = 0;
  uint64_t key_size_ = 0;
  LengthLine length_;
  CommandState state_ = CommandState::kStart;
  Step step_ = Step::kStart;
  Word word_ = Word::kNone;
  bool counts_keys_ = false;   // the argument before the key is the number of keys
  uint32_t key_argument_ = 0;  // 0: none
  uint32_t index_ = 0;         // of the current argument or word; the name is 0
  uint32_t count_ = 0;         // of the array
  KeptText<kMaxName> name_;
  KeptText<kMaxArgument> first_;
  KeptText<kMaxArgument> key_;  // unless it is the first argument
  HashStream stream_;
};

// Whether the first bytes of a stream of unknown protocol begin a command: an array of bulk strings
// whose first one is a name. Inline commands are never taken for one: they could be anything.
// kMaxSniff bytes decide.
enum class Sniff : uint8_t { kCommand, kNeedMore, kOther };
inline constexpr size_t kMaxSniff = 81;
Sniff sniff(const char* data, size_t size);

}  // namespace filibuster::resp
