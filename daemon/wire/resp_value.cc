#include "daemon/wire/resp_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/text/ascii.h"
#include "core/text/base64.h"
#include "daemon/wire/json_node.h"

namespace filibuster::wire {
namespace {

using RespJson = nlohmann::json;

// Reads one reply that ReplyParser has accepted, so that each length is right.
class ReplyDecoder {
 public:
  explicit ReplyDecoder(std::string_view bytes) : bytes_(bytes) {}

  // nullopt: deeper than kMostRespDepth, or a number of more than 64 bits.
  std::optional<RespJson> value(size_t depth = 0) {
    if (depth > kMostRespDepth || at_ >= bytes_.size()) return std::nullopt;
    const char type = bytes_[at_++];
    const std::string_view head = line();
    switch (type) {
      case '+':
        return RespJson{{"status", text_or_bytes(head)}};
      case '-':
        return RespJson{{"error", text_or_bytes(head)}};
      case ':':
        return whole(head);
      case ',':
        return RespJson{{"double", head}};
      case '(':
        return RespJson{{"big", head}};
      case '#':
        return RespJson{{"boolean", head == "t"}};
      case '_':
        return RespJson();
      case '$':
        return head == "-1" ? RespJson() : text_or_bytes(bulk(head));
      case '=':
        return RespJson{{"verbatim", text_or_bytes(bulk(head))}};
      case '!':
        return RespJson{{"bulk_error", text_or_bytes(bulk(head))}};
      case '*':
        return head == "-1" ? RespJson{{"null", "array"}} : elements(head, depth);
      case '~':
        return named("set", elements(head, depth));
      case '>':
        return named("push", elements(head, depth));
      case '%':
        return named("map", pairs(head, depth));
      case '|':  // belongs to the value that follows
        if (!pairs(head, depth)) return std::nullopt;
        return value(depth);
      default:
        return std::nullopt;
    }
  }

 private:
  std::string_view line() {
    const size_t end = std::min(bytes_.find('\n', at_), bytes_.size());
    std::string_view out = bytes_.substr(at_, end - at_);
    at_ = std::min(end + 1, bytes_.size());
    if (out.ends_with('\r')) out.remove_suffix(1);
    return out;
  }
  static size_t count(std::string_view head) {
    size_t out = 0;
    std::from_chars(head.data(), head.data() + head.size(), out);
    return out;
  }
  std::string_view bulk(std::string_view head) {
    const std::string_view out = bytes_.substr(at_, count(head));
    at_ = std::min(at_ + out.size() + 2, bytes_.size());
    return out;
  }
  static std::optional<RespJson> whole(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return RespJson(number);
  }
  std::optional<RespJson> elements(std::string_view head, size_t depth) {
    RespJson out = RespJson::array();
    for (size_t left = count(head); left > 0; --left) {
      auto each = value(depth + 1);
      if (!each) return std::nullopt;
      out.push_back(std::move(*each));
    }
    return out;
  }
  std::optional<RespJson> pairs(std::string_view head, size_t depth) {
    RespJson out = RespJson::array();
    for (size_t left = count(head); left > 0; --left) {
      auto key = value(depth + 1);
      auto each = key ? value(depth + 1) : std::nullopt;
      if (!each) return std::nullopt;
      RespJson pair = RespJson::array();
      pair.push_back(std::move(*key));
      pair.push_back(std::move(*each));
      out.push_back(std::move(pair));
    }
    return out;
  }
  static std::optional<RespJson> named(const char* name, std::optional<RespJson> inner) {
    if (!inner) return std::nullopt;
    RespJson out = RespJson::object();
    out[name] = std::move(*inner);
    return out;
  }

  std::string_view bytes_;
  size_t at_ = 0;
};

// What stands behind a backslash in double quotes (sdssplitargs of Redis).
std::string escaped_in_line(std::string_view text, size_t* at) {
  const char c = text[(*at)++];
  if (c == 'x' && *at + 1 < text.size() && hex_digit(text[*at]) >= 0 &&
      hex_digit(text[*at + 1]) >= 0) {
    const int byte = hex_digit(text[*at]) * 16 + hex_digit(text[*at + 1]);
    *at += 2;
    return {static_cast<char>(byte)};
  }
  constexpr std::string_view kNames = "nrtba", kBytes = "\n\r\t\b\a";
  const size_t place = kNames.find(c);
  return {place == std::string_view::npos ? c : kBytes[place]};
}

// A line of words (sdssplitargs of Redis).
std::vector<std::string> words_of_line(std::string_view text) {
  std::vector<std::string> out;
  size_t at = 0;
  while ((at = text.find_first_not_of(" \t\r\n", at)) != std::string_view::npos) {
    std::string word;
    char quote = 0;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (quote == 0 && std::string_view(" \t\r\n").find(c) != std::string_view::npos) break;
      if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (quote != 0 && c == quote) {
        quote = 0;
      } else if (quote == '"' && c == '\\' && at + 1 < text.size()) {
        word += escaped_in_line(text, &++at);
        --at;
      } else if (quote == '\'' && c == '\\' && at + 1 < text.size() && text[at + 1] == '\'') {
        word += text[++at];
      } else {
        word += c;
      }
    }
    out.push_back(std::move(word));
  }
  return out;
}

std::string bulk_bytes(char type, std::string_view text) {
  return type + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

// Nothing in it ends the line early.
std::string line_bytes(char type, std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return type + text + "\r\n";
}

// The forms that are an object of one member.
struct RespForm {
  std::string_view name;
  char type;
  enum class Holds : uint8_t { kLine, kBulk, kWord, kBoolean, kElements, kPairs, kNil } holds;
};
constexpr std::array<RespForm, 11> kRespForms{{
    {"status", '+', RespForm::Holds::kLine},
    {"error", '-', RespForm::Holds::kLine},
    {"double", ',', RespForm::Holds::kWord},
    {"big", '(', RespForm::Holds::kWord},
    {"boolean", '#', RespForm::Holds::kBoolean},
    {"verbatim", '=', RespForm::Holds::kBulk},
    {"bulk_error", '!', RespForm::Holds::kBulk},
    {"set", '~', RespForm::Holds::kElements},
    {"push", '>', RespForm::Holds::kElements},
    {"map", '%', RespForm::Holds::kPairs},
    {"null", '*', RespForm::Holds::kNil},
}};

const RespForm* form_of(const RespJson& value) {
  if (!value.is_object() || value.size() != 1) return nullptr;
  const auto found = std::find_if(kRespForms.begin(), kRespForms.end(), [&](const RespForm& form) {
    return form.name == value.begin().key();
  });
  return found == kRespForms.end() ? nullptr : &*found;
}

bool is_pair(const RespJson& value) {
  return value.is_array() && value.size() == 2;
}

bool form_fits(const RespForm& form, const RespJson& inner) {
  switch (form.holds) {
    case RespForm::Holds::kLine:
    case RespForm::Holds::kBulk:
      return bytes_of_text(inner).has_value();
    case RespForm::Holds::kWord:
      return inner.is_string() && !inner.get_ref<const std::string&>().empty() &&
             inner.get_ref<const std::string&>().find_first_not_of("0123456789+-.eEinfa") ==
                 std::string::npos;
    case RespForm::Holds::kBoolean:
      return inner.is_boolean();
    case RespForm::Holds::kElements:
      return inner.is_array();
    case RespForm::Holds::kPairs:
      return inner.is_array() && std::all_of(inner.begin(), inner.end(), is_pair);
    case RespForm::Holds::kNil:
      return inner == "array";
  }
  return false;
}

std::string form_bytes(const RespForm& form, const RespJson& inner, int version) {
  switch (form.holds) {
    case RespForm::Holds::kLine:
      return line_bytes(form.type, bytes_of_text(inner).value_or(""));
    case RespForm::Holds::kBulk:
      return bulk_bytes(form.type, bytes_of_text(inner).value_or(""));
    case RespForm::Holds::kWord:
      return line_bytes(form.type, inner.get<std::string>());
    case RespForm::Holds::kBoolean:
      return inner.get<bool>() ? "#t\r\n" : "#f\r\n";
    case RespForm::Holds::kNil:
      return "*-1\r\n";
    case RespForm::Holds::kElements:
    case RespForm::Holds::kPairs:
      break;
  }
  std::string out = form.type + std::to_string(inner.size()) + "\r\n";
  for (const RespJson& each : inner) {
    if (form.holds == RespForm::Holds::kElements) {
      out += resp_reply_bytes(each, version);
    } else {
      out += resp_reply_bytes(each[0], version) + resp_reply_bytes(each[1], version);
    }
  }
  return out;
}

}  // namespace

nlohmann::json text_or_bytes(std::string_view bytes) {
  if (json_token(bytes)) return RespJson(bytes);
  return RespJson{{"bytes", to_base64(bytes)}};
}

std::optional<std::string> bytes_of_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || value.size() != 1) return std::nullopt;
  const auto bytes = value.find("bytes");
  if (bytes == value.end() || !bytes->is_string()) return std::nullopt;
  return from_base64(bytes->get_ref<const std::string&>());
}

std::vector<RespMessage> RespReader::feed(std::string_view bytes, uint64_t time_ns) {
  fed_ = bytes;
  time_ns_ = time_ns;
  begin_ = 0;
  if (between()) begun_ns_ = time_ns;
  if (direction_ == Direction::kCommands) {
    commands_.feed(bytes.data(), bytes.size());
  } else {
    replies_.feed(bytes.data(), bytes.size());
  }
  if (problem() == nullptr && !between() && !dropped_) {
    buffer_ += bytes.substr(begin_);
    if (buffer_.size() > kMostRespBytes) {
      dropped_ = true;
      buffer_ = {};
    }
  }
  fed_ = {};
  return std::exchange(whole_, {});
}

const char* RespReader::problem() const {
  return direction_ == Direction::kCommands ? commands_.reason() : replies_.reason();
}

bool RespReader::between() const {
  return direction_ == Direction::kCommands ? commands_.state() == resp::CommandState::kStart
                                            : replies_.state() == resp::ReplyState::kStart;
}

void RespReader::on_command(const resp::Command& command, size_t end) {
  take(command.size, end, false);
}

void RespReader::on_reply(const resp::Reply& reply, size_t end) {
  take(reply.size, end, reply.is_push);
}

void RespReader::take(uint64_t size, size_t end, bool push) {
  RespMessage out;
  out.number = push ? 0 : ++number_;
  out.begun_ns = begun_ns_;
  out.ended_ns = time_ns_;
  buffer_ += fed_.substr(begin_, end - begin_);
  out.too_large = dropped_ || size > kMostRespBytes || buffer_.size() < size;
  if (!out.too_large) {
    // Blank lines and empty arrays may stand before a command.
    const std::string_view bytes =
        std::string_view(buffer_).substr(buffer_.size() - static_cast<size_t>(size));
    if (direction_ == Direction::kCommands) {
      out.value = RespJson::array();
      for (const std::string& word : command_words(bytes)) out.value.push_back(text_or_bytes(word));
    } else {
      auto value = ReplyDecoder(bytes).value();
      out.too_large = !value.has_value();
      if (value) out.value = std::move(*value);
    }
  }
  whole_.push_back(std::move(out));
  buffer_.clear();
  dropped_ = false;
  begin_ = end;
  begun_ns_ = time_ns_;
}

std::vector<std::string> command_words(std::string_view bytes) {
  if (!bytes.starts_with('*')) return words_of_line(bytes);
  std::vector<std::string> out;
  size_t at = bytes.find('\n');
  while (at != std::string_view::npos && at + 1 < bytes.size() && bytes[at + 1] == '$') {
    const size_t end = bytes.find('\n', at + 1);
    size_t size = 0;
    std::from_chars(bytes.data() + at + 2, bytes.data() + bytes.size(), size);
    if (end == std::string_view::npos || end + 1 + size > bytes.size()) break;
    out.emplace_back(bytes.substr(end + 1, size));
    at = bytes.find('\n', end + 1 + size);
  }
  return out;
}

std::string resp_command_bytes(const nlohmann::json& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const RespJson& word : words) out += bulk_bytes('$', bytes_of_text(word).value_or(""));
  return out;
}

std::string resp_reply_bytes(const nlohmann::json& value, int version) {
  if (value.is_null()) return version >= 3 ? "_\r\n" : "$-1\r\n";
  if (const auto text = bytes_of_text(value)) return bulk_bytes('$', *text);
  if (value.is_boolean()) return value.get<bool>() ? ":1\r\n" : ":0\r\n";
  if (value.is_number_integer()) return ":" + value.dump() + "\r\n";
  if (value.is_array()) {
    std::string out = "*" + std::to_string(value.size()) + "\r\n";
    for (const RespJson& each : value) out += resp_reply_bytes(each, version);
    return out;
  }
  const RespForm* form = form_of(value);
  if (form == nullptr || !form_fits(*form, value.begin().value()))
    return bulk_bytes('$', value.dump(-1, ' ', false, RespJson::error_handler_t::replace));
  return form_bytes(*form, value.begin().value(), version);
}

std::string wrong_resp_value(const nlohmann::json& value) {
  if (value.is_null() || bytes_of_text(value)) return "";
  if (value.is_number_integer()) {
    const bool fits = !value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t{INT64_MAX};
    return fits ? "" : "an integer of RESP has 64 bits";
  }
  const RespJson* inner = value.is_array() ? &value : nullptr;
  if (const RespForm* form = form_of(value)) {
    const RespJson& held = value.begin().value();
    const bool ends_early =
        form->holds == RespForm::Holds::kLine &&
        bytes_of_text(held).value_or("").find_first_of("\r\n") != std::string::npos;
    if (ends_early || !form_fits(*form, held))
      return "'" + std::string(form->name) + "' does not hold what it is for";
    if (held.is_array()) inner = &held;
    if (inner == nullptr) return "";
  }
  if (inner == nullptr)
    return "expected a text, a whole number, null, an array, or an object such as {\"status\": "
           "\"OK\"}";
  for (const RespJson& each : *inner) {
    // The two of a pair are an array, and are looked at as such.
    if (std::string wrong = wrong_resp_value(each); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace filibuster::wire
