// Removes credentials from all documents, events and texts for the terminal (docs/laws.md, law 9). A
// credential is recognised by the name before it (redact.cc) or by its own form (secret_forms.cc).
// Other text stays byte for byte, and redacting a text twice changes nothing more.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace filibuster {

inline constexpr std::string_view kRedacted = "[redacted]";

// Redacts values after names of credentials (headers, passwords, tokens, keys and the like) in header
// lines, query strings, forms, JSON, `name=value` and `--name value`. Redacts what has the form of a
// secret: JWT, Bearer and Basic, card numbers, private keys, keys of well-known services. Redacts
// passwords in URLs.
std::string redact(std::string_view text);
// The same with another text in the place of each secret. `replace` may be given what it returned before: a text is looked at by its
// forms first, and by its names then.
using Replacement = std::function<std::string(std::string_view secret)>;
std::string redact(std::string_view text, const Replacement& replace);
// redact() for the text of a JSON object: the result is a JSON object, or "null" if `text` is none.
std::string redact_object(const std::string& text);
// redact() for a command: more names of options count, as in --key VALUE, --db-pass VALUE.
std::string redact_command(std::string_view text);
// redact() for the value of an environment variable: more names count, as STRIPE_KEY, DB_PASS.
std::string redact_variable(std::string_view name, std::string_view value);
// True if an option or member of this name has a secret value (--api-token, "password").
bool is_secret_name(std::string_view name);
// The same for a parameter of a query or a form, where more names count (?key=, ?code=).
bool is_secret_argument(std::string_view name);

// Redacts only what has the form of a secret, whatever stands before it.
std::string redact_forms(std::string_view text);
std::string redact_forms(std::string_view text, const Replacement& replace);

// How many letters of a key of a well-known service say whose key it is ("ghp_"); 0: it is none.
size_t known_key_prefix(std::string_view text);

// Redacts every text in a document or an event. The names of its members do not count, since they are
// Filibuster's own.
template <class Json>
void redact_texts(Json* json) {
  if (json->is_string()) {
    const auto& text = json->template get_ref<const std::string&>();
    if (std::string redacted = redact(text); redacted != text) *json = std::move(redacted);
  } else if (json->is_structured()) {
    for (auto& value : *json) redact_texts(&value);
  }
}

}  // namespace filibuster
