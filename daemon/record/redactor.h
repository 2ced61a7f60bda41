// Takes secrets out of what was recorded, before anything of it is written (docs/record.md has what counts as one). A secret becomes a token of the
// same length and of the same kinds of letters, and the same secret always becomes the same one within a recording: so what is equal
// stays equal, and replays succeed. Tokens are made with a key that is never written.
//
//   Redactor redactor(random_hexadecimal());
//   redactor.redact(&the_case);
//
// Within the recording a case can be replayed with its secrets: restore() puts them back. places() says where its tokens stand.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/cases/model.h"
#include "daemon/wire/json_node.h"

namespace filibuster::record {

class Redactor {
 public:
  explicit Redactor(std::string key) : key_(std::move(key)) {}
  // All secrets become the same text: what differs in secrets alone is equal then.
  static Redactor masking();

  void redact(cases::Case* of);
  void redact(cases::Call* of);
  void redact(cases::Request* of);
  void redact(cases::Answer* of);
  void redact(cases::Opening* of);
  // What counts as a secret, for the set.
  static std::vector<std::string> rules();

  // The token of a secret; of what is a token already, itself.
  std::string token(std::string_view secret);

  // The secrets that were found so far (the last thousand of them), by their tokens. They are in memory only, and nothing of them is written.
  const std::map<std::string, std::string, std::less<>>& secrets() const { return made_; }
  // Puts the secrets back in the place of the tokens that this redactor has made, but for those in `but`, in all texts of the case.
  void restore(cases::Case* of, const std::set<std::string>& but = {}) const;
  // Which of its tokens stand where, in words for a person: "the header authorization of the request", "/json/token of the answer to
  // call 2". In the order of the file; a token has a row for each place.
  std::vector<std::pair<std::string, std::string>> places(const cases::Case& of) const;

 private:
  enum class Mode : uint8_t { kTokens, kMasks, kRestores };
  void take(cases::Request* of);
  void take(cases::Answer* of);
  void take(cases::Headers* headers);
  std::string field_value(const std::string& name, const std::string& value);
  std::string escaped(std::string_view written);
  std::string pairs(std::string_view text);
  std::string target(const std::string& target);
  std::string body(const std::string& bytes, const cases::Headers& headers);
  std::string text(std::string_view text);
  void take(wire::JsonNode* node, bool is_secret);
  void take_words(nlohmann::json* words, bool* names_a_secret);
  void take_reply(nlohmann::json* reply, bool is_secret);
  // The second look (known_secrets.cc): what was found to be a secret anywhere is taken out everywhere.
  using Replaced = std::vector<std::pair<std::string, std::string>>;
  Replaced known() const;
  void take_known(cases::Case* of);
  void take_known(cases::Call* of);

  std::string key_;
  Mode mode_ = Mode::kTokens;
  std::map<std::string, std::string, std::less<>> tokens_;  // by secret
  std::map<std::string, std::string, std::less<>> made_;    // secrets, by token
  std::deque<std::string> in_order_;
};

}  // namespace filibuster::record
