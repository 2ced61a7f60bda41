#include "core/resp/reply_parser.h"

#include <algorithm>

namespace filibuster::resp {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_text(char type) {
  return type == '+' || type == '-';
}

}  // namespace

static_assert(sizeof(ReplyParser) <= 1152, "one is kept for each connection");

void ReplyParser::fail(const char* reason) {
  state_ = ReplyState::kInvalid;
  reason_ = reason;
}

ReplyState ReplyParser::feed(const char* data, size_t size) {
  size_t at = 0;
  while (at != size && state_ != ReplyState::kInvalid) {
    if (step_ == Step::kBulk) {
      const auto n = static_cast<size_t>(std::min<uint64_t>(size - at, left_));
      take_bulk(data + at, n);
      at += n;
      continue;
    }
    if (step_ == Step::kLine && is_text(type_)) {
      at += take_text(data + at, size - at);
      if (at == size) break;
    }
    ++at;
    take(data[at - 1], at);
  }
  return state_;
}

ReplyState ReplyParser::skip(uint64_t bytes) {
  if (bytes == 0 || state_ == ReplyState::kInvalid) return state_;
  if (bytes > bulk_left()) {
    fail("unseen bytes outside of a bulk string");
    return state_;
  }
  if (keep_ != 0) text_.truncated = true;
  if (attribute_ == 0) skipped_ += bytes;
  reply_bytes_ += bytes;
  left_ -= bytes;
  if (left_ == 0) step_ = Step::kBulkCr;
  return state_;
}

void ReplyParser::take_digest(const char* data, size_t size) {
  if (attribute_ == 0) stream_.update(data, size);
}

// `end` = offset in the feed of the byte after `c`.
void ReplyParser::take(char c, size_t end) {
  if (state_ == ReplyState::kStart) {
    state_ = ReplyState::kReply;
    reply_bytes_ = skipped_ = 0;
    elements_ = 0;
    top_null_ = first_ = false;
    text_.clear();
    stream_.reset();
  }
  ++reply_bytes_;
  switch (step_) {
    case Step::kType:
      return begin_value(c);
    case Step::kLine:
      return take_line(c);
    case Step::kLineLf:
      if (c != '\n') return fail("a line that does not end in CR LF");
      // No line contains a line end, so it ends the line in the digest, too. Nulls have no line there.
      if (type_ != '_') take_digest("\n", 1);
      return complete_value(end);
    case Step::kLength:
      return take_length(c, end);
    case Step::kBulk:
      return;  // feed() takes its bytes
    case Step::kBulkCr:
      if (c != '\r') return fail("a bulk string that does not end in CR LF");
      step_ = Step::kBulkLf;
      return;
    case Step::kBulkLf:
      if (c != '\n') return fail("a bulk string that does not end in CR LF");
      return complete_value(end);
  }
}

void ReplyParser::begin_value(char type) {
  type_ = type;
  keep_ = 0;
  if (depth_ == 0 && type != '|') {
    top_type_ = type;
    keep_ = type == '-' || type == '!' ? kMaxErrorLine : type == '+' ? kMaxSimple : 0;
  } else if (depth_ == 1 && first_ && type != '|') {
    first_ = false;
    keep_ = type == '+' || type == '$' ? kMaxKind : 0;
  }
  switch (type) {
    case '+':
    case '-':
    case ':':
    case ',':
    case '(':
    case '#':
    case '_':
      if (type == '_' && depth_ == 0) top_null_ = true;
      step_ = Step::kLine;
      form_ = Form::kNothing;
      size_ = 0;
      take_digest(&type, 1);
      return;
    case '>':
      if (depth_ != 0) return fail("a push within a reply");
      [[fallthrough]];
    case '$':
    case '!':
    case '=':
    case '*':
    case '~':
    case '%':
    case '|':
      step_ = Step::kLength;
      length_.begin();
      return;
    default:
      return fail("unknown type");
  }
}

// Takes a text line up to its end, or all there is of it. Returns how many bytes.
size_t ReplyParser::take_text(const char* data, size_t size) {
  size_t n = 0;
  while (n != size && data[n] != '\r' && data[n] != '\n') ++n;
  if (n > kMaxLine - size_) {
    fail("a line that is too long");
    return size;
  }
  size_ += n;
  reply_bytes_ += n;
  take_digest(data, n);
  if (keep_ != 0) text_.append(data, n, keep_);
  return n;
}

void ReplyParser::take_line(char c) {
  if (c == '\r') {
    if (!line_may_end()) return fail("a line that its type does not allow");
    step_ = Step::kLineLf;
    return;
  }
  // take_text() has taken everything of a text line but its end.
  if (is_text(type_)) return fail("a line that does not end in CR LF");
  if (++size_ > kMaxLine) return fail("a line that is too long");
  form_ = next_form(c);
  if (form_ == Form::kWrong) return fail("a line that its type does not allow");
  take_digest(&c, 1);
}

ReplyParser::Form ReplyParser::next_form(char c) const {
  if (type_ == '_') return Form::kWrong;
  if (type_ == '#') {
    return form_ == Form::kNothing && (c == 't' || c == 'f') ? Form::kWord : Form::kWrong;
  }
  const bool is_double = type_ == ',';
  switch (form_) {
    case Form::kNothing:
      if (c == '+' || c == '-') return Form::kSign;
      [[fallthrough]];
    case Form::kSign:
      if (is_digit(c)) return Form::kDigits;
      if (is_double && c == 'i') return Form::kI;
      return is_double && c == 'n' ? Form::kN : Form::kWrong;
    case Form::kDigits:
      // An integer has 64 bits.
      if (is_digit(c)) return type_ != ':' || size_ <= 20 ? Form::kDigits : Form::kWrong;
      if (is_double && c == '.') return Form::kPoint;
      return is_double && (c == 'e' || c == 'E') ? Form::kExponent : Form::kWrong;
    case Form::kPoint:
      return is_digit(c) ? Form::kFraction : Form::kWrong;
    case Form::kFraction:
      if (c == 'e' || c == 'E') return Form::kExponent;
      return is_digit(c) ? Form::kFraction : Form::kWrong;
    case Form::kExponent:
      if (c == '+' || c == '-') return Form::kExponentSign;
      [[fallthrough]];
    case Form::kExponentSign:
    case Form::kExponentDigits:
      return is_digit(c) ? Form::kExponentDigits : Form::kWrong;
    case Form::kI:
      return c == 'n' ? Form::kIn : Form::kWrong;
    case Form::kIn:
      return c == 'f' ? Form::kWord : Form::kWrong;
    case Form::kN:
      return c == 'a' ? Form::kNa : Form::kWrong;
    case Form::kNa:
      return c == 'n' ? Form::kWord : Form::kWrong;
    case Form::kWord:
    case Form::kWrong:
      return Form::kWrong;
  }
  return Form::kWrong;
}

bool ReplyParser::line_may_end() const {
  if (is_text(type_)) return true;
  if (type_ == '_') {
    return form_ == Form::kNothing;
  }
  return form_ == Form::kDigits || form_ == Form::kFraction || form_ == Form::kExponentDigits ||
         form_ == Form::kWord;
}

void ReplyParser::take_length(char c, size_t end) {
  const bool bulk = type_ == '$' || type_ == '!' || type_ == '=';
  const bool pairs = type_ == '%' || type_ == '|';
  if (c == '?' && length_.empty()) return fail("a streamed value, whose length is '?'");
  switch (length_.take(c, bulk ? kMaxReplyBulk : pairs ? kMaxElements / 2 : kMaxElements)) {
    case LengthLine::Result::kMore:
      return;
    case LengthLine::Result::kBad:
      return fail("bad length");
    case LengthLine::Result::kDone:
      break;
  }
  if (length_.negative()) {
    if (length_.value() != 1 || (type_ != '$' && type_ != '*')) return fail("bad length");
    take_digest("_", 1);
    if (depth_ == 0) top_null_ = true;
    return complete_value(end);
  }
  if (!bulk) return begin_aggregate(length_.value(), end);
  // The first four bytes of a verbatim string say its format: "txt:".
  if (type_ == '=' && length_.value() < 4) return fail("bad length");
  left_ = size_ = length_.value();
  take_digest(&type_, 1);
  if (attribute_ == 0) digest_length(&stream_, size_);
  step_ = size_ != 0 ? Step::kBulk : Step::kBulkCr;
}

void ReplyParser::begin_aggregate(uint64_t count, size_t end) {
  const bool attribute = type_ == '|';
  if (!attribute) {
    take_digest(&type_, 1);
    if (attribute_ == 0) digest_length(&stream_, count);
    if (depth_ == 0) {
      elements_ = static_cast<uint32_t>(count);
      first_ = type_ == '*' || type_ == '>';
    }
  }
  step_ = Step::kType;
  if (count == 0) {
    if (!attribute) complete_value(end);
    return;
  }
  if (depth_ == kMaxDepth) return fail("too deep");
  const bool pairs = attribute || type_ == '%';
  const auto values = static_cast<uint32_t>(pairs ? 2 * count : count);
  levels_[depth_++] = attribute ? values | kAttribute : values;
  if (attribute && attribute_ == 0) attribute_ = depth_;
}

void ReplyParser::take_bulk(const char* data, size_t size) {
  const uint64_t at = size_ - left_;
  if (type_ == '=' && at < 4 && at + size >= 4 && data[3 - at] != ':') {
    return fail("a verbatim string without its format");
  }
  take_digest(data, size);
  if (keep_ != 0) text_.append(data, size, keep_);
  reply_bytes_ += size;
  left_ -= size;
  if (left_ == 0) step_ = Step::kBulkCr;
}

// The current value is complete, and with it each open aggregate whose last value it is.
void ReplyParser::complete_value(size_t end) {
  step_ = Step::kType;
  while (depth_ != 0) {
    uint32_t& level = levels_[depth_ - 1];
    const bool attribute = (level & kAttribute) != 0;
    if ((--level & ~kAttribute) != 0) return;
    --depth_;
    if (attribute) {
      if (attribute_ == depth_ + 1) attribute_ = 0;
      return;  // the value that it belongs to follows
    }
  }
  complete_reply(end);
}

void ReplyParser::complete_reply(size_t end) {
  Reply reply;
  reply.type = top_type_;
  reply.is_push = top_type_ == '>';
  reply.is_error = top_type_ == '-' || top_type_ == '!';
  reply.is_null = top_null_;
  reply.elements = elements_;
  const std::string_view text = text_.view();
  if (reply.is_error) {
    reply.error_line = text;
    reply.error_code = text.substr(0, std::min(text.find(' '), kMaxErrorCode));
  } else if (top_type_ == '+') {
    reply.simple = text;
  } else {
    reply.kind = text;
  }
  reply.text_truncated = text_.truncated;
  reply.digest = stream_.digest();
  if (skipped_ != 0) reply.digest = combine(reply.digest, skipped_);
  reply.size = reply_bytes_;
  state_ = ReplyState::kStart;
  handler_->on_reply(reply, end);
  reply_bytes_ = 0;
}

}  // namespace filibuster::resp
