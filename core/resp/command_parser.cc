#include "core/resp/command_parser.h"

#include <algorithm>

#include "core/resp/commands.h"

namespace filibuster::resp {
namespace {

// isspace() of the C locale, which Redis splits inline commands at.
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

static_assert(sizeof(CommandParser) <= 1024, "one is kept for each connection");

std::string_view subcommand(const Command& command, char (&out)[kMaxName]) {
  const CommandProperties* properties = find_command(command.name);
  const std::string_view text = command.first_argument.bytes;
  if (properties == nullptr || !properties->has(kContainer) || text.size() > kMaxName ||
      command.first_argument.truncated) {
    return {};
  }
  std::transform(text.begin(), text.end(), out, to_upper);
  return {out, text.size()};
}

void CommandParser::fail(const char* reason) {
  state_ = CommandState::kInvalid;
  reason_ = reason;
}

CommandState CommandParser::feed(const char* data, size_t size) {
  size_t at = 0;
  while (at != size && state_ != CommandState::kInvalid) {
    if (step_ == Step::kBulk) {
      const auto n = static_cast<size_t>(std::min<uint64_t>(size - at, left_));
      take_bulk(data + at, n);
      at += n;
    } else {
      ++at;
      take(data[at - 1], at);
    }
  }
  return state_;
}

CommandState CommandParser::skip(uint64_t bytes) {
  if (bytes == 0 || state_ == CommandState::kInvalid) return state_;
  if (bytes > bulk_left()) {
    fail("unseen bytes outside of an argument");
    return state_;
  }
  if (index_ == 1) first_.truncated = true;
  if (index_ == key_argument_) key_.truncated = true;
  // The number of keys was not seen, so it is not known whether there is a key.
  if (counts_keys_ && index_ + 1 == key_argument_) key_argument_ = 0;
  skipped_ += bytes;
  command_bytes_ += bytes;
  left_ -= bytes;
  if (left_ == 0) step_ = Step::kBulkCr;
  return state_;
}

void CommandParser::begin_command() {
  state_ = CommandState::kCommand;
  command_bytes_ = skipped_ = first_size_ = key_size_ = 0;
  index_ = count_ = key_argument_ = 0;
  counts_keys_ = false;
  name_.clear();
  first_.clear();
  key_.clear();
  stream_.reset();
}

// `end` = offset in the feed of the byte after `c`.
void CommandParser::take(char c, size_t end) {
  if (step_ == Step::kStart) {
    begin_command();
    if (c != '*') {
      step_ = Step::kInline;
      word_ = Word::kNone;
    }
  }
  ++command_bytes_;
  switch (step_) {
    case Step::kStart:
      length_.begin();
      step_ = Step::kCount;
      return;
    case Step::kCount:
      switch (length_.take(c, kMaxArray)) {
        case LengthLine::Result::kMore:
          return;
        case LengthLine::Result::kBad:
          return fail("bad number of arguments");
        case LengthLine::Result::kDone:
          if (length_.negative() || length_.value() == 0) {
            state_ = CommandState::kStart;
            step_ = Step::kStart;
            command_bytes_ = 0;
          } else {
            count_ = static_cast<uint32_t>(length_.value());
            step_ = Step::kDollar;
          }
          return;
      }
      return;
    case Step::kDollar:
      if (c != '$') return fail("an argument that is no bulk string");
      length_.begin();
      step_ = Step::kLength;
      return;
    case Step::kLength:
      switch (length_.take(c, kMaxCommandBulk)) {
        case LengthLine::Result::kMore:
          return;
        case LengthLine::Result::kBad:
          return fail("bad length of an argument");
        case LengthLine::Result::kDone:
          if (length_.negative()) return fail("bad length of an argument");
          begin_argument(length_.value());
          return;
      }
      return;
    case Step::kBulk:
      return;  // feed() takes its bytes
    case Step::kBulkCr:
      if (c != '\r') return fail("an argument without its line end");
      step_ = Step::kBulkLf;
      return;
    case Step::kBulkLf:
      if (c != '\n') return fail("an argument without its line end");
      end_argument(end);
      return;
    case Step::kInline:
      take_inline(c, end);
      return;
  }
}

void CommandParser::begin_argument(uint64_t size) {
  left_ = size_ = size;
  if (index_ != 0) digest_length(&stream_, size);
  step_ = size != 0 ? Step::kBulk : Step::kBulkCr;
}

void CommandParser::take_bulk(const char* data, size_t size) {
  if (index_ == 0) {
    name_.append(data, size);
  } else {
    stream_.update(data, size);
    if (index_ == 1) first_.append(data, size);
    if (index_ == key_argument_ && index_ != 1) key_.append(data, size);
    // A script without keys: what follows are arguments of another kind.
    if (counts_keys_ && index_ + 1 == key_argument_ && size_ == 1 && *data == '0') {
      key_argument_ = 0;
    }
  }
  command_bytes_ += size;
  left_ -= size;
  if (left_ == 0) step_ = Step::kBulkCr;
}

void CommandParser::end_argument(size_t end) {
  if (index_ == 0) {
    end_name();
  } else {
    if (index_ == 1) first_size_ = size_;
    if (index_ == key_argument_) key_size_ = size_;
  }
  step_ = Step::kDollar;
  if (++index_ == count_) complete(end, false);
}

void CommandParser::end_name() {
  std::transform(name_.bytes, name_.bytes + name_.size, name_.bytes, to_upper);
  if (name_.truncated) return;
  const CommandProperties* properties = find_command(name_.view());
  if (properties == nullptr) return;
  key_argument_ = properties->first_key;
  counts_keys_ = properties->has(kCountsKeys);
}

// Redis reads an inline command up to LF, stops at a zero byte, and refuses quotes that are left open.
void CommandParser::take_inline(char c, size_t end) {
  if (c == '\0') return fail("a zero byte in an inline command");
  if (c == '\n') {
    if (word_ != Word::kNone && word_ != Word::kPlain && word_ != Word::kClosed) {
      return fail("open quotes in an inline command");
    }
    if (word_ != Word::kNone) end_word();
    if (index_ == 0) {
      state_ = CommandState::kStart;
      step_ = Step::kStart;
      command_bytes_ = 0;
      return;
    }
    count_ = index_;
    return complete(end, true);
  }
  if (command_bytes_ > kMaxInlineLine) return fail("an inline command that is too long");
  switch (word_) {
    case Word::kNone:
    case Word::kPlain:
      if (is_space(c)) {
        if (word_ == Word::kPlain) end_word();
        word_ = Word::kNone;
      } else {
        word_ = c == '"' ? Word::kDouble : c == '\'' ? Word::kSingle : Word::kPlain;
        take_word_byte(c, word_ == Word::kPlain);
      }
      return;
    case Word::kDouble:
      word_ = c == '\\' ? Word::kDoubleEscape : c == '"' ? Word::kClosed : Word::kDouble;
      take_word_byte(c, word_ != Word::kClosed);
      return;
    case Word::kDoubleEscape:
      word_ = Word::kDouble;
      take_word_byte(c, true);
      return;
    case Word::kSingle:
      word_ = c == '\\' ? Word::kSingleBackslash : c == '\'' ? Word::kClosed : Word::kSingle;
      take_word_byte(c, word_ != Word::kClosed);
      return;
    case Word::kSingleBackslash:
      // A backslash in single quotes escapes a quote and nothing else.
      word_ = c == '\\' ? Word::kSingleBackslash : Word::kSingle;
      take_word_byte(c, true);
      return;
    case Word::kClosed:
      if (!is_space(c)) return fail("text after quotes in an inline command");
      end_word();
      word_ = Word::kNone;
      return;
  }
}

// `of_name`: `c` belongs to the name if this word is the name; false for the quotes around it.
void CommandParser::take_word_byte(char c, bool of_name) {
  if (index_ != 0) {
    stream_.update(&c, 1);
  } else if (of_name) {
    name_.append(&c, 1);
  }
}

void CommandParser::end_word() {
  if (index_ == 0) {
    std::transform(name_.bytes, name_.bytes + name_.size, name_.bytes, to_upper);
  } else {
    stream_.update("", 1);  // a zero byte ends the word: no word contains one
  }
  ++index_;
}

void CommandParser::complete(size_t end, bool inline_command) {
  Command command;
  command.name = name_.view();
  command.name_truncated = name_.truncated;
  command.arguments = count_ - 1;
  command.first_argument = {first_.view(), first_size_, first_.truncated};
  if (key_argument_ != 0 && key_argument_ < count_) {
    command.key_argument = key_argument_;
    command.key = key_argument_ == 1 ? command.first_argument
                                     : Argument{key_.view(), key_size_, key_.truncated};
  }
  command.digest = stream_.digest();
  if (skipped_ != 0) command.digest = combine(command.digest, skipped_);
  command.size = command_bytes_;
  command.inline_command = inline_command;
  state_ = CommandState::kStart;
  step_ = Step::kStart;
  handler_->on_command(command, end);
  command_bytes_ = 0;
}

}  // namespace filibuster::resp
