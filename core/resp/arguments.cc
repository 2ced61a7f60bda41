#include "core/resp/arguments.h"

namespace filibuster::resp {
namespace {

// Bytes of a JSON string that stand as they are (RFC 8259 §7).
bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

}  // namespace

void ArgumentText::feed(const char* data, size_t size) {
  while (size != 0) {
    if (step_ == Step::kBulk && left_ != 0) {
      const size_t take_now = left_ < size ? static_cast<size_t>(left_) : size;
      if (is_written()) put_escaped(data, take_now);
      left_ -= take_now;
      data += take_now;
      size -= take_now;
      continue;
    }
    take(*data);
    ++data;
    --size;
  }
}

void ArgumentText::finish() {
  if (!begun_) put("{", 1);
  put("}", 1);
}

void ArgumentText::take(char c) {
  switch (step_) {
    case Step::kType:
      if (c == '*') {
        step_ = Step::kCount;
        number_ = 0;
      } else if (c == '$') {
        step_ = Step::kLength;
        number_ = 0;
      }
      break;
    case Step::kCount:
    case Step::kLength:
      if (c >= '0' && c <= '9') number_ = number_ * 10 + static_cast<uint64_t>(c - '0');
      if (c != '\n') break;
      if (step_ == Step::kCount) {
        begin_command(number_);
        step_ = Step::kType;
      } else {
        left_ = number_;
        begin_argument();
        step_ = Step::kBulk;
      }
      break;
    case Step::kBulk:  // all of it was read: `c` is the CR behind it
      step_ = Step::kEnd;
      break;
    case Step::kEnd:
      end_argument();
      step_ = Step::kType;
      break;
  }
}

void ArgumentText::begin_command(uint64_t count) {
  arguments_ = count;
  index_ = 0;
  if (!nested_ || count == 0) return;
  skipping_ = written_ == 0 && !begun_;
  if (skipping_) {  // MULTI
    begun_ = true;
    put("{", 1);
    return;
  }
  skipping_ = written_ == members_;
  if (skipping_) return;
  if (written_++ != 0) put(",", 1);
  put_name(written_);
  put("{", 1);
}

bool ArgumentText::is_written() const {
  return !skipping_ && (nested_ || index_ != 0);
}

void ArgumentText::begin_argument() {
  if (!is_written()) return;
  const uint64_t first = nested_ ? 0 : 1;
  if (!nested_ && !begun_) {
    begun_ = true;
    put("{", 1);
  }
  if (index_ != first) put(",", 1);
  put_name(index_);
  put("\"", 1);
}

void ArgumentText::end_argument() {
  if (is_written()) put("\"", 1);
  ++index_;
  if (nested_ && !skipping_ && index_ == arguments_) put("}", 1);
}

void ArgumentText::put_name(uint64_t number) {
  char text[24];
  char* from = text + sizeof text;
  *--from = ':';
  *--from = '"';
  do {
    *--from = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  *--from = '"';
  put(from, static_cast<size_t>(text + sizeof text - from));
}

void ArgumentText::put_escaped(const char* data, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  size_t from = 0;
  for (size_t i = 0; i < size; ++i) {
    const char c = data[i];
    if (is_plain(c)) continue;
    put(data + from, i - from);
    from = i + 1;
    if (c == '"' || c == '\\') {
      const char escaped[2] = {'\\', c};
      put(escaped, sizeof escaped);
    } else {
      const char escaped[6] = {'\\', 'u', '0', '0', kDigits[(c >> 4) & 0xf], kDigits[c & 0xf]};
      put(escaped, sizeof escaped);
    }
  }
  if (from != size) put(data + from, size - from);
}

}  // namespace filibuster::resp
