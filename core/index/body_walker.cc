#include "core/index/body_walker.h"

#include <algorithm>
#include <cstring>

#include "core/text/ascii.h"
#include "core/text/number.h"

namespace filibuster {
namespace {

// In place of a masked value: a byte that stands in no JSON text and in no form.
constexpr char kMaskedValue = '\0';

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Starts or continues a number, true, false, null.
bool is_scalar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '+' || c == '.';
}

// What every encoder of forms escapes: a body with such a byte is something else.
bool foreign_in_form(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte >= 0x7f || c == '"' || c == '<' || c == '>' || c == '{' || c == '}';
}

}  // namespace

void BodyWalker::begin_request(const RequestMasks* masks, LeafSink* leaves) {
  begin(masks, MaskPlace::kJson, MaskPlace::kForm, leaves);
}

void BodyWalker::begin_response(const RequestMasks* masks, LeafSink* leaves) {
  begin(masks, MaskPlace::kResponse, MaskPlace::kResponse, leaves);
}

void BodyWalker::begin_query(const RequestMasks* masks, LeafSink* leaves) {
  begin(masks, MaskPlace::kQuery, MaskPlace::kQuery, leaves);
  lenient_ = true;
  form_ = BodyForm::kForm;
  begin_name();
}

void BodyWalker::begin(const RequestMasks* masks, MaskPlace json, MaskPlace form,
                       LeafSink* leaves) {
  state_ = State::kStart;
  form_ = BodyForm::kEmpty;
  json_place_ = json;
  form_place_ = form;
  lenient_ = escaped_ = masking_ = masked_ = value_masked_ = false;
  path_whole_ = leaves_whole_ = true;
  digits_left_ = 0;
  code_ = high_surrogate_ = 0;
  depth_ = mask_depth_ = bits_ = 0;
  leaves_ = leaves;
  path_size_ = 0;
  field_count_ = 0;
  if (masks != nullptr) {
    const uint32_t count = std::min<uint32_t>(masks->count, kMaxRequestMasks);
    for (uint32_t i = 0; i < count; ++i) {
      const MaskField& field = masks->fields[i];
      if (field.place != json && field.place != form) continue;
      field_depth_[field_count_] = field.depth;
      field_place_[field_count_] = field.place;
      std::memcpy(names_[field_count_], field.names, sizeof field.names);
      ++field_count_;
    }
  }
  digest_.reset();
}

void BodyWalker::feed(const char* data, size_t size) {
  if (state_ == State::kOther) return;
  from_ = data;
  for (const char* at = data; at != data + size && state_ != State::kOther; ++at) take(at);
  if (!masking_ && state_ != State::kOther)
    digest_.update(from_, static_cast<size_t>(data + size - from_));
}

BodyWalker::Outcome BodyWalker::finish() {
  // A name without a value is a name; an escape that was cut short is as it was sent.
  if (state_ == State::kFormName) end_form_name(nullptr, false);
  if (state_ == State::kFormValue) end_value(nullptr);
  const bool whole = state_ == State::kStart || state_ == State::kEnd ||
                     (form_ == BodyForm::kForm && state_ != State::kOther);
  if (!whole) return {};
  return {form_, masked_, leaves_whole_, digest_.digest()};
}

void BodyWalker::take(const char* at) {
  const char c = *at;
  switch (state_) {
    case State::kStart:
      if (is_blank(c)) return;
      if (c == '{' || c == '[') {
        form_ = BodyForm::kJson;
        bits_ = 0;
        for (uint32_t i = 0; i < field_count_; ++i) {
          if (field_place_[i] == json_place_) bits_ |= 1u << i;
        }
        value_masked_ = false;
        begin_value(at, c);
        return;
      }
      form_ = BodyForm::kForm;
      begin_name();
      take_form_name(at, c);
      return;
    case State::kFirstValue:
      if (c == ']') return close_container(at, c);
      [[fallthrough]];
    case State::kValue:
      if (!is_blank(c)) begin_value(at, c);
      return;
    case State::kFirstKey:
      if (c == '}') return close_container(at, c);
      [[fallthrough]];
    case State::kNextKey:
      if (is_blank(c)) return;
      if (c != '"') {
        state_ = State::kOther;
        return;
      }
      begin_name();
      path_size_ = frames_[depth_ - 1].path_size;
      put_path("/");
      state_ = State::kKey;
      return;
    case State::kKey:
      take_key(c);
      return;
    case State::kColon:
      if (is_blank(c)) return;
      state_ = c == ':' ? State::kValue : State::kOther;
      return;
    case State::kString:
      value_.add(static_cast<unsigned char>(c));
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        end_value(at + 1);
      }
      return;
    case State::kScalar:
      if (is_scalar(c)) {
        value_.add(static_cast<unsigned char>(c));
        return;
      }
      end_value(at);
      [[fallthrough]];
    case State::kAfter:
      if (is_blank(c)) return;
      if (c == ',' && depth_ != 0) {
        state_ = frames_[depth_ - 1].array ? State::kValue : State::kNextKey;
      } else {
        close_container(at, c);
      }
      return;
    case State::kEnd:
      if (!is_blank(c)) state_ = State::kOther;
      return;
    case State::kFormName:
      take_form_name(at, c);
      return;
    case State::kFormValue:
      take_form_value(at, c);
      return;
    case State::kOther:
      return;
  }
}

// --- JSON ---------------------------------------------------------------------------------------

void BodyWalker::begin_value(const char* at, char c) {
  if (depth_ != 0 && frames_[depth_ - 1].array) {
    Frame& frame = frames_[depth_ - 1];
    constexpr char kMark[] = {'/', kElementMark};
    char digits[20];
    const std::string_view number = number_text(frame.index++, 10, digits);
    begin_name();
    name_.add(number);
    path_size_ = frame.path_size;
    put_path({kMark, sizeof kMark});
    put_path(number);
    end_name();
  }
  if (value_masked_ && !masking_) start_mask(at);
  value_ = {};
  value_.add(static_cast<unsigned char>(c));
  if (c == '"') {
    escaped_ = false;
    state_ = State::kString;
  } else if (c == '{' || c == '[') {
    open_container(c == '[');
  } else {
    state_ = is_scalar(c) ? State::kScalar : State::kOther;
  }
}

void BodyWalker::end_value(const char* end) {
  report_leaf(value_.value());
  if (state_ == State::kFormValue) {
    if (masking_) stop_mask(end);
    return;
  }
  if (masking_ && depth_ == mask_depth_) stop_mask(end);
  state_ = State::kAfter;
}

void BodyWalker::open_container(bool array) {
  if (depth_ == kMaxBodyDepth) {
    state_ = State::kOther;
    return;
  }
  frames_[depth_++] = {bits_, 0, static_cast<uint16_t>(path_size_), array};
  state_ = array ? State::kFirstValue : State::kFirstKey;
}

void BodyWalker::close_container(const char* at, char c) {
  if (depth_ == 0 || c != (frames_[depth_ - 1].array ? ']' : '}')) {
    state_ = State::kOther;
    return;
  }
  const bool empty = state_ == State::kFirstValue || state_ == State::kFirstKey;
  path_size_ = frames_[--depth_].path_size;
  // An empty container is a leaf, with the hash of its bracket.
  if (empty) report_leaf(value_.value());
  if (masking_ && depth_ == mask_depth_) stop_mask(at + 1);
  state_ = depth_ == 0 ? State::kEnd : State::kAfter;
}

void BodyWalker::begin_name() {
  name_ = {};
  escaped_ = false;
  digits_left_ = 0;
  high_surrogate_ = 0;
  if (form_ == BodyForm::kForm) {
    path_size_ = 0;
    path_whole_ = true;
    state_ = State::kFormName;
  }
}

void BodyWalker::take_key(char c) {
  if (digits_left_ != 0) {
    const int digit = hex_digit(c);
    if (digit < 0) {
      state_ = State::kOther;
      return;
    }
    code_ = code_ << 4 | static_cast<uint32_t>(digit);
    if (--digits_left_ == 0) put_code_point(code_);
  } else if (escaped_) {
    escaped_ = false;
    take_escape(c);
  } else if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    end_name();
    state_ = State::kColon;
  } else {
    put_name(static_cast<unsigned char>(c));
  }
}

void BodyWalker::take_escape(char c) {
  switch (c) {
    case 'u':
      digits_left_ = 4;
      code_ = 0;
      return;
    case 'b':
      return put_name('\b');
    case 'f':
      return put_name('\f');
    case 'n':
      return put_name('\n');
    case 'r':
      return put_name('\r');
    case 't':
      return put_name('\t');
    default:  // '"', '\\', '/'
      return put_name(static_cast<unsigned char>(c));
  }
}

// Written as UTF-8. The first half of a surrogate pair waits for the second; a second half alone is
// written as it is.
void BodyWalker::put_code_point(uint32_t code) {
  if (code >= 0xd800 && code < 0xdc00) {
    high_surrogate_ = code;
    return;
  }
  if (high_surrogate_ != 0 && code >= 0xdc00 && code < 0xe000)
    code = 0x10000 + ((high_surrogate_ - 0xd800) << 10) + (code - 0xdc00);
  high_surrogate_ = 0;
  const auto put = [this](uint32_t byte) { put_name(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

void BodyWalker::put_name(unsigned char byte) {
  name_.add(byte);
  if (leaves_ == nullptr) return;
  const char c = static_cast<char>(byte);
  if (c == kElementMark) {
    put_path("?");  // a byte of a name: it must not be taken for the mark of an element
  } else if (form_ == BodyForm::kForm) {
    put_path({&c, 1});
  } else if (c == '~') {
    put_path("~0");
  } else if (c == '/') {
    put_path("~1");
  } else {
    put_path({&c, 1});
  }
}

// Finds out which masks go on below the value that comes, and whether the value itself is masked.
void BodyWalker::end_name() {
  const Frame& frame = frames_[depth_ - 1];
  const uint64_t name = name_.value();
  bits_ = 0;
  value_masked_ = false;
  for (uint32_t i = 0; i < field_count_; ++i) {
    if ((frame.bits >> i & 1) == 0 || depth_ > field_depth_[i]) continue;
    const uint64_t wanted = names_[i][depth_ - 1];
    if (wanted != kAnyName && wanted != name) continue;
    if (depth_ == field_depth_[i]) {
      value_masked_ = true;
    } else {
      bits_ |= 1u << i;
    }
  }
}

// --- forms --------------------------------------------------------------------------------------

void BodyWalker::take_form_name(const char* at, char c) {
  if (c == '=' || c == '&') {
    end_form_name(at + 1, c == '=');
    return;
  }
  if (!lenient_ && foreign_in_form(c)) {
    state_ = State::kOther;
    return;
  }
  if (digits_left_ != 0) {
    const int digit = hex_digit(c);
    code_ = code_ << 4 | static_cast<uint32_t>(digit < 0 ? 0 : digit);
    if (--digits_left_ == 0) put_name(static_cast<unsigned char>(code_));
  } else if (c == '%') {
    digits_left_ = 2;
    code_ = 0;
  } else {
    put_name(static_cast<unsigned char>(c == '+' ? ' ' : c));
  }
}

void BodyWalker::end_form_name(const char* value, bool has_value) {
  value_ = {};
  if (!has_value) {
    if (path_size_ != 0 || !path_whole_) report_leaf(value_.value());
    begin_name();
    return;
  }
  const uint64_t name = name_.value();
  for (uint32_t i = 0; i < field_count_ && !masking_; ++i) {
    if (field_place_[i] != form_place_ || field_depth_[i] != 1) continue;
    if (names_[i][0] == kAnyName || names_[i][0] == name) start_mask(value);
  }
  state_ = State::kFormValue;
}

void BodyWalker::take_form_value(const char* at, char c) {
  if (c == '&') {
    end_value(at);
    begin_name();
  } else if (!lenient_ && foreign_in_form(c)) {
    state_ = State::kOther;
  } else {
    value_.add(static_cast<unsigned char>(c));
  }
}

// --- both ---------------------------------------------------------------------------------------

void BodyWalker::put_path(std::string_view text) {
  if (leaves_ == nullptr) return;
  if (text.size() > sizeof path_ - path_size_) {
    path_whole_ = false;
    return;
  }
  std::memcpy(path_ + path_size_, text.data(), text.size());
  path_size_ += text.size();
}

// `at`: the first byte that is masked.
void BodyWalker::start_mask(const char* at) {
  digest_.update(from_, static_cast<size_t>(at - from_));
  digest_.update(&kMaskedValue, 1);
  masking_ = masked_ = true;
  mask_depth_ = depth_;
}

// `at`: the first byte that is not masked any more; nullptr at the end of the body.
void BodyWalker::stop_mask(const char* at) {
  masking_ = false;
  from_ = at;
}

void BodyWalker::report_leaf(uint64_t value) {
  if (leaves_ == nullptr) return;
  // A path that was cut cannot be reported.
  if (path_whole_) {
    leaves_->leaf({path_, path_size_}, value);
  } else {
    leaves_whole_ = false;
  }
}

}  // namespace filibuster
