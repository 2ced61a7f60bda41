// A passive parser of what Redis sends to a client: RESP2 and RESP3
// (https://redis.io/docs/latest/develop/reference/protocol-spec/), whichever the connection speaks.
//
// Feed it the bytes of the stream in any split; it calls the handler once for each reply or push,
// with positions relative to the start of the current feed. It never guesses: what is not RESP, or
// is beyond its bounds, makes it kInvalid for good. It never allocates: of nested aggregates it
// keeps what is left of each level, of texts a few first bytes, all others go into a digest. What
// it reports does not depend on the split.
//
// Attributes ('|') are no replies: they belong to the value that follows, add to its size and to
// nothing else. Streamed strings and aggregates ('$?', '*?') are kInvalid: Redis never sends them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/hash.h"
#include "core/resp/pieces.h"

namespace filibuster::resp {

// Bounds of ours. Redis has none for its replies but its memory.
inline constexpr uint32_t kMaxDepth = 64;             // of nested aggregates and attributes
inline constexpr uint64_t kMaxElements = 0x7fffffff;  // of one aggregate; a pair is two
inline constexpr uint64_t kMaxReplyBulk = 1ull << 40;
inline constexpr uint64_t kMaxLine = 1024 * 1024;  // of a simple string, an error or a number

inline constexpr size_t kMaxErrorLine = 128;  // bytes of each that are kept
inline constexpr size_t kMaxErrorCode = 32;
inline constexpr size_t kMaxKind = 32;
inline constexpr size_t kMaxSimple = 16;

enum class ReplyState : uint8_t {
  kStart,    // between replies: all bytes belong to something that is complete
  kReply,    // in a reply, or in the attributes before one
  kInvalid,  // not RESP, or beyond the bounds: nothing is parsed any more
};

// The texts of a reply are valid during on_reply only.
struct Reply {
  char type = 0;  // its type byte: one of + - : $ * _ # , ( ! = % ~ >
  // True for '>'. A push answers nothing, unless its kind is that of a command: SUBSCRIBE and its like
  // are answered with pushes, one for each channel.
  bool is_push = false;
  bool is_error = false;  // '-' or '!'; errors within an aggregate do not count
  bool is_null = false;   // in any of its forms: $-1 *-1 _
  // What an aggregate's header says: elements, of a map pairs.
  uint32_t elements = 0;
  // The first element of a push or an array, if it is a string ("message", "invalidate"), at most
  // kMaxKind bytes: under RESP2 publish/subscribe sends arrays.
  std::string_view kind;
  // The first word of an error (LOADING, MOVED), at most kMaxErrorCode bytes, and its line without
  // '-', at most kMaxErrorLine.
  std::string_view error_code;
  std::string_view error_line;
  std::string_view simple;  // of a simple string: at most kMaxSimple bytes
  // The one of these texts that the reply has is cut.
  bool text_truncated = false;
  // Covers types, lengths and bytes; all nulls are alike. Of bytes that were skipped only the number
  // enters it.
  Hash128 digest;
  uint64_t size = 0;  // in bytes; the reply begins at end - size (below 0: in an earlier feed)
};

class ReplyHandler {
 public:
  // `end` = offset in this feed of the first byte after the reply.
  virtual void on_reply(const Reply& reply, size_t end) = 0;

 protected:
  ~ReplyHandler() = default;
};

class ReplyParser {
 public:
  // `handler` outlives the parser.
  explicit ReplyParser(ReplyHandler* handler) : handler_(handler) {}
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // Consumes all of it unless the state becomes kInvalid; returns the state after it.
  ReplyState feed(const char* data, size_t size);
  // Bytes that went by unseen (splice): at most bulk_left(). Returns the state; kInvalid if there
  // are not so many to skip.
  ReplyState skip(uint64_t bytes);

  ReplyState state() const { return state_; }
  // Why it is kInvalid, in a few words ("too deep"); nullptr if it is not.
  const char* reason() const { return reason_; }
  // Bytes to come of the bulk string that is being read, without its line end.
  uint64_t bulk_left() const { return step_ == Step::kBulk ? left_ : 0; }

 private:
  enum class Step : uint8_t {
    kType,
    kLine,  // of a simple string, an error, a number, ...
    kLineLf,
    kLength,
    kBulk,
    kBulkCr,
    kBulkLf,
  };
  // What was read of a line that is not just text.
  enum class Form : uint8_t {
    kNothing,
    kSign,
    kDigits,
    kPoint,
    kFraction,
    kExponent,  // its letter
    kExponentSign,
    kExponentDigits,
    kI,  // of "inf"
    kIn,
    kN,  // of "nan"
    kNa,
    kWord,  // "inf", "nan", "t" or "f": nothing may follow
    kWrong,
  };

  void take(char c, size_t end);
  void begin_value(char type);
  void take_line(char c);
  size_t take_text(const char* data, size_t size);
  Form next_form(char c) const;
  bool line_may_end() const;
  void take_length(char c, size_t end);
  void begin_aggregate(uint64_t count, size_t end);
  void take_bulk(const char* data, size_t size);
  void complete_value(size_t end);
  void complete_reply(size_t end);
  void take_digest(const char* data, size_t size);
  void fail(const char* reason);

  ReplyHandler* handler_;
  const char* reason_ = nullptr;
  uint64_t reply_bytes_ = 0;
  uint64_t left_ = 0;     // of the current bulk string
  uint64_t size_ = 0;     // of the current bulk string or line
  uint64_t skipped_ = 0;  // of this reply
  LengthLine length_;

  ReplyState state_ = ReplyState::kStart;
  Step step_ = Step::kType;
  Form form_ = Form::kNothing;
  char type_ = 0;      // of the current value
  char top_type_ = 0;  // of the reply
  bool top_null_ = false;
  bool first_ = false;     // the next value of depth 1 is the first element, which may be the kind
  uint8_t keep_ = 0;       // how much of the current value goes into text_
  uint8_t depth_ = 0;      // open aggregates
  uint8_t attribute_ = 0;  // the depth in the outermost open attribute; 0: there is none
  uint32_t elements_ = 0;
  // Elements to come of each open aggregate, with kAttribute.
  static constexpr uint32_t kAttribute = 0x80000000;
  uint32_t levels_[kMaxDepth];
  KeptText<kMaxErrorLine> text_;
  HashStream stream_;
};

}  // namespace filibuster::resp
