// The request of a command, read backwards: which command a request is, and with which value (docs/stubs.md 'A model in place of stubs').
// It is the opposite of http_commands.h.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/stubs/stub.h"

namespace filibuster::property {

// A text with placeholders, "item-${key}".
class TextPattern {
 public:
  explicit TextPattern(std::string_view text);
  using Members = std::map<std::string, std::string>;
  // What the placeholders stand for; the shortest that fits for each, from the left. nullopt: the text is another one.
  std::optional<Members> match(std::string_view text) const;
  // Bytes that are no placeholders.
  size_t fixed() const;

 private:
  struct Piece {
    bool is_placeholder;
    std::string text;  // or its name
  };
  bool match_from(size_t piece, std::string_view text, Members* out) const;
  std::vector<Piece> pieces_;
};

// What a value has to be made of.
struct ValueShape {
  // The names of its members; {"value"}: the value itself; empty: there is none. nullopt: whatever the request has.
  std::optional<std::vector<std::string>> members = std::nullopt;
  bool texts = false;  // values that are written as text stay texts: "3" is no number
};

class RequestPattern {
 public:
  // `json`: a command as daemon/config/http_client.cc has checked it. Error: a member of the value is not in what is read of a request,
  // which is its path, its query and its body.
  static Result<RequestPattern> make(const nlohmann::json& json, ValueShape shape);

  // The value of the command that this request is. nullopt: it is another one.
  std::optional<nlohmann::json> match(const stubs::Call& call) const;
  // How much of the request the pattern fixes: of two that match, the one that fixes more is meant.
  size_t fixed() const { return fixed_; }

 private:
  using Members = std::map<std::string, nlohmann::json>;
  struct Parameter {
    std::string name;
    TextPattern value;
  };

  explicit RequestPattern(ValueShape shape) : shape_(std::move(shape)) {}
  bool match_text(const TextPattern& pattern, const std::string& text, Members* out) const;
  bool match_path(std::string_view path, Members* out) const;
  bool match_json(const nlohmann::json& wanted, const nlohmann::json& found, Members* out) const;
  nlohmann::json typed(const std::string& name, const std::string& text) const;

  ValueShape shape_;
  std::string method_;
  std::vector<TextPattern> segments_;
  std::vector<Parameter> query_;
  std::optional<nlohmann::json> body_;
  std::optional<TextPattern> text_;
  size_t fixed_ = 0;
};

// The answer of a command that was answered `value`, as its client reads it (HttpCommand::meaning). `base`: the answer that the value is put
// into.
stubs::Answer answer_with(const nlohmann::json& json, const nlohmann::json& value,
                          stubs::Answer base);

}  // namespace filibuster::property
