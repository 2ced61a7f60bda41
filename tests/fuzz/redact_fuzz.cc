// A pattern up to the first end of line, then a text: what is a secret by the pattern, and the tokens of secrets. A match is found from its
// beginning, a token has as many bytes as its secret or is JSON, and what a redactor has replaced it restores.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/record/inflate.h"
#include "daemon/record/redactor.h"
#include "daemon/record/token.h"
#include "daemon/redact/expression.h"

using namespace filibuster;

namespace {

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view source = all.substr(0, all.find('\n'));
  const std::string_view text = all.substr(std::min(source.size() + 1, all.size()));
  const auto compiled = Expression::compile(source);
  if (const auto* pattern = std::get_if<Expression>(&compiled)) {
    for (size_t at = 0; at < std::min<size_t>(text.size(), 64); ++at) {
      const auto end = pattern->end(text, at, text.size());
      demand(!end || (*end > at && *end <= text.size()), "a match ends behind its beginning");
      demand(!end || pattern->next(text, at) == at, "where a match begins one may begin");
    }
  }
  const std::string token = record::token_of(text, "key", 0);
  demand(
      token.size() == text.size() || text.find("eyJ") != text.npos ||
          token.find_first_not_of(
              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_") == token.npos,
      "a token has the size of its secret");
  record::lacks_mark(text);
  record::inflated(text);
  RedactRule rule;
  rule.pattern = source;
  record::Redactor redactor("key", SecretRules::compile({rule}));
  cases::Case value;
  value.request.target = "/x?token=" + std::string(text.substr(0, text.find_first_of("&%+")));
  value.request.body = text;
  redactor.redact(&value);
  const cases::Case written = value;
  redactor.restore(&value);
  redactor.places(written);
  record::Redactor::unmarked(written);
  return 0;
}
