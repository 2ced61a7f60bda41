// Takes secrets out of what was recorded, before anything of it is written (docs/record.md has what counts as one). A secret becomes a token of the
// same length and of the same kinds of letters, and the same secret always becomes the same one within a recording: so what is equal
// stays equal, and replays succeed. Tokens are made with a key that is never written.
//
//   Redactor redactor(random_hexadecimal(), SecretRules::compile(config.redact));
//   redactor.redact(&the_case);
//
// Within the recording a case can be replayed with its secrets: restore() puts them back. places() says where its tokens stand.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/cases/model.h"
#include "daemon/redact/rules.h"
#include "daemon/wire/json_node.h"

namespace filibuster::record {

class Redactor {
 public:
  using Rules =
      std::shared_ptr<const SecretRules>;  // of the configuration, or of a set; nullptr: none
  explicit Redactor(std::string key, Rules rules = nullptr)
      : key_(std::move(key)),
        rules_(rules == nullptr ? SecretRules::compile({}) : std::move(rules)) {}
  // All secrets become the same text: what differs in secrets alone is equal then.
  static Redactor masking(Rules rules = nullptr);

  void redact(cases::Case* of);
  void redact(cases::Call* of);
  void redact(cases::Request* of);
  void redact(cases::Answer* of);
  void redact(cases::Opening* of);
  // What counts as a secret, for the set.
  static std::vector<std::string> rules();

  // The token of a secret; of what is a token already, itself.
  std::string token(std::string_view secret);

  // Why what was redacted last must not be kept as whole; "": it may. A case says so by itself.
  const std::string& refusal() const { return refusal_; }

  // The secrets that were found so far (the last thousand of them), by their tokens. They are in memory only, and nothing of them is written.
  const std::map<std::string, std::string, std::less<>>& secrets() const { return made_; }
  // Puts the secrets back in the place of the tokens that this redactor has made, but for those in `but`, in all texts of the case.
  void restore(cases::Case* of, const std::set<std::string>& but = {}) const;
  // What has the name or the form of a secret in a case that was redacted before, and no mark of a token: as places() has it. Somebody has
  // written it there by hand.
  static std::vector<std::pair<std::string, std::string>> unmarked(const cases::Case& of,
                                                                   Rules rules = nullptr);
  // Which of its tokens stand where, in words for a person: "the header authorization of the request", "/json/token of the answer to
  // call 2". In the order of the file; a token has a row for each place.
  std::vector<std::pair<std::string, std::string>> places(const cases::Case& of) const;

 private:
  enum class Mode : uint8_t { kTokens, kMasks, kRestores, kLooks };
  enum class Named : uint8_t { kNothing, kSecret, kKept };
  Named by_name(std::string_view name, bool is_argument = false) const;
  std::string forms(std::string_view text);
  std::string made_token(std::string_view secret, unsigned round) const;
  void take(cases::Request* of);
  void take(cases::Answer* of);
  void take(cases::Headers* headers);
  std::string field_value(const std::string& name, const std::string& value);
  std::string escaped(std::string_view written,
                      const std::function<std::string(const std::string&)>& replace);
  std::string message_body(const std::string& bytes, const cases::Headers& headers,
                           const char* what);
  bool has_known(std::string_view text) const;
  std::string pairs(std::string_view text);
  std::string target(const std::string& target);
  std::string body(const std::string& bytes, const cases::Headers& headers);
  std::string text(std::string_view text);
  void take(wire::JsonNode* node, Named named);
  void take_words(nlohmann::json* words, bool* names_a_secret);
  void take_reply(nlohmann::json* reply, bool is_secret);
  // The second look (known_secrets.cc): what was found to be a secret anywhere is taken out everywhere.
  using Replaced = std::vector<std::pair<std::string, std::string>>;
  Replaced known() const;
  void take_known(cases::Case* of);
  void take_known(cases::Call* of);

  std::string key_;
  Rules rules_;
  SecretPlace place_ = SecretPlace::kAnywhere;  // of what is looked at
  Mode mode_ = Mode::kTokens;
  std::map<std::string, std::string, std::less<>> tokens_;  // by secret
  std::map<std::string, std::string, std::less<>> made_;    // secrets, by token
  std::deque<std::string> in_order_;
  std::string refusal_;
};

}  // namespace filibuster::record
