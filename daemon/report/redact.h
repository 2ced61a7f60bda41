// What must not leave: values of credentials, found by the name before them (redact.cc) or by their
// own form (secret_forms.cc), wherever a document, an event or a text for the terminal is written.
// Text that is no credential stays byte for byte, and what is redacted once stays as it is.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace filibuster {

inline constexpr std::string_view kRedacted = "[redacted]";

// Names: headers with credentials, passwords, tokens, keys and the like, in header lines, query
// strings, forms, JSON, `name=value` and `--name value` texts. Forms: JWT, Bearer and Basic, card numbers, private
// keys, keys of well-known services. Passwords in URLs.
std::string redact(std::string_view text);
// The same of the text of a JSON object, which stays one; "null" of what is none.
std::string redact_object(const std::string& text);
// The same of a command, with more names of options: --key VALUE, --db-pass VALUE.
std::string redact_command(std::string_view text);
// The value of an environment variable; more names are those of secrets there (STRIPE_KEY, DB_PASS).
std::string redact_variable(std::string_view name, std::string_view value);
// Is the value of an option or member of this name a secret (--api-token, "password")?
bool is_secret_name(std::string_view name);

// Only what has the form of a secret, whatever stands before it.
std::string redact_forms(std::string_view text);

// Every text in a document or an event. Names of members say what filibuster means by them, and count
// for nothing.
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
