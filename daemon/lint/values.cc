#include "daemon/lint/values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/index/execution_index.h"
#include "core/text/uri.h"

namespace filibuster::lint {
namespace {

using Json = nlohmann::json;

constexpr size_t kLeastLength = 4;    // shorter values occur by chance: see is_telling()
constexpr size_t kLongestPlain = 64;  // bytes; a longer plain text is not read as one value
constexpr std::array<std::string_view, 20> kCommon = {
    "true",    "false", "null",  "none", "undefined", "unknown", "default",
    "success", "error", "name",  "test", "active",    "enabled", "status",
    "string",  "value", "items", "list", "http",      "json"};

// Collects the values of a JSON text that may be cut anywhere.
class ValueReader : public nlohmann::json_sax<Json> {
 public:
  explicit ValueReader(Body* out) : out_(out) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return number(text); }
  bool string(string_t& text) override {
    last_is_number_ = false;
    out_->values.push_back({text, name_});
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& text) override {
    name_ = text;
    out_->names.push_back(text);
    return true;
  }
  bool start_object(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  // For a text that was cut: digits at its end may be the start of a longer number.
  void drop_cut_number() {
    if (last_is_number_) out_->values.pop_back();
  }

 private:
  bool number(std::string text) {
    out_->values.push_back({std::move(text), name_});
    last_is_number_ = true;
    return true;
  }
  bool enter() {
    last_is_number_ = false;
    around_.push_back(name_);
    return true;
  }
  bool leave() {
    last_is_number_ = false;
    name_ = around_.back();
    around_.pop_back();
    return true;
  }

  Body* out_;
  std::string name_;
  std::vector<std::string> around_;
  bool last_is_number_ = false;
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// "a=1&b=2" -> its pairs, decoded.
std::vector<Value> arguments_of(std::string_view text) {
  std::vector<Value> out;
  while (!text.empty()) {
    const size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    const size_t equals = pair.find('=');
    if (equals == pair.npos) continue;
    out.push_back({percent_decoded(pair.substr(equals + 1), true),
                   percent_decoded(pair.substr(0, equals), true)});
  }
  return out;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

// "user=7&show=all": the first name has letters, digits, '_' and '-' only, and there are no blanks.
bool is_form(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != text.npos && equals > 0 && is_plain(text) &&
         std::all_of(text.begin(), text.begin() + static_cast<ptrdiff_t>(equals),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

}  // namespace

Body read_body(std::string_view sample, bool whole) {
  Body out;
  const std::string_view text = trimmed(sample);
  if (text.empty()) {
    out.whole = whole;
    return out;
  }
  if (text.front() == '{' || text.front() == '[' || text.front() == '"') {
    ValueReader reader(&out);
    out.whole = Json::sax_parse(text.begin(), text.end(), &reader) && whole;
    if (!whole) reader.drop_cut_number();
    return out;
  }
  if (is_form(text)) {
    out.values = arguments_of(text);
    if (!whole && !out.values.empty()) out.values.pop_back();
    for (const Value& value : out.values) out.names.push_back(value.name);
    out.whole = whole;
  } else if (whole && text.size() <= kLongestPlain && is_plain(text)) {
    out.values.push_back({std::string(text), ""});
    out.whole = true;
  }
  return out;
}

Body answer_of(const RpcRecord& rpc) {
  return read_body(rpc.response_sample, rpc.response_size == rpc.response_sample.size());
}

std::vector<Value> values_of_request(const RpcRecord& rpc) {
  std::vector<Value> out;
  const bool whole = (rpc.flags & (kRpcPayloadTruncated | kRpcPreliminary)) == 0;
  if (rpc.is_redis()) {  // the target is only the pattern of the key and holds no value
    for (Value& value : read_body(rpc.body_sample, whole).values)
      out.push_back({std::move(value.text), "argument"});
    return out;
  }
  const Target target = split_target(rpc.target);
  for (size_t begin = 0; begin < target.path.size();) {
    const size_t end = std::min(target.path.find('/', begin), target.path.size());
    if (end > begin)
      out.push_back({percent_decoded(target.path.substr(begin, end - begin), false), "path"});
    begin = end + 1;
  }
  // The whole target, too: it may be a link that an earlier answer held.
  out.push_back({rpc.target, "path"});
  for (Value& value : arguments_of(target.query)) {
    out.push_back({std::move(value.text), "query argument '" + value.name + "'"});
  }
  for (Value& value : read_body(rpc.body_sample, whole).values) {
    out.push_back(
        {std::move(value.text), value.name.empty() ? "body" : "body (field '" + value.name + "')"});
  }
  return out;
}

bool is_telling(std::string_view text) {
  if (text.size() < kLeastLength) return false;
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kCommon.begin(), kCommon.end(), lower) == kCommon.end();
}

}  // namespace filibuster::lint
