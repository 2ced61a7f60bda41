#include "core/resp/command_parser.h"

namespace filibuster::resp {
namespace {

constexpr uint64_t kLongestName = 64;  // no command of Redis or of its modules comes near it

// Takes a type byte and the length behind it off the start of `text`. kCommand: both are there.
Sniff take_length(std::string_view* text, char type, uint64_t most, uint64_t* value) {
  if (text->empty()) return Sniff::kNeedMore;
  if (text->front() != type) return Sniff::kOther;
  text->remove_prefix(1);
  LengthLine line;
  while (!text->empty()) {
    const LengthLine::Result result = line.take(text->front(), most);
    text->remove_prefix(1);
    if (result == LengthLine::Result::kBad || line.negative()) return Sniff::kOther;
    if (result == LengthLine::Result::kDone) {
      *value = line.value();
      return *value != 0 ? Sniff::kCommand : Sniff::kOther;
    }
  }
  return Sniff::kNeedMore;
}

bool is_letter(char c) {
  return to_upper(c) >= 'A' && to_upper(c) <= 'Z';
}

// Names of modules have a dot (JSON.SET, FT._LIST); some of Redis have a dash or an underscore.
bool is_name_byte(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

Sniff sniff(const char* data, size_t size) {
  std::string_view text(data, size);
  uint64_t count = 0;
  uint64_t length = 0;
  Sniff result = take_length(&text, '*', kMaxArray, &count);
  if (result == Sniff::kCommand) result = take_length(&text, '$', kLongestName, &length);
  if (result != Sniff::kCommand) return result;
  const std::string_view name = text.substr(0, static_cast<size_t>(length));
  if (!name.empty() && !is_letter(name.front()) && name.front() != '_') return Sniff::kOther;
  for (const char c : name) {
    if (!is_name_byte(c)) return Sniff::kOther;
  }
  text.remove_prefix(name.size());
  if (name.size() < length) return Sniff::kNeedMore;
  const std::string_view line_end = "\r\n";
  if (text.substr(0, 2) == line_end) return Sniff::kCommand;
  return text.size() < 2 && line_end.substr(0, text.size()) == text ? Sniff::kNeedMore
                                                                    : Sniff::kOther;
}

}  // namespace filibuster::resp
