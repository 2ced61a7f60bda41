// Secrets in commands and replies of Redis: a word that is the name of a secret, a key or a field, says what the word behind it is.
#include <algorithm>
#include <cctype>
#include <utility>

#include "daemon/record/redactor.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::record {
namespace {

using nlohmann::json;

std::string word_of(const json& value) {
  return wire::bytes_of_text(value).value_or("");
}

// May it be a key or a field, which says what its value is? A value may hold such a word as well.
bool is_name(std::string_view word) {
  constexpr size_t kMost = 64;
  return word.size() <= kMost && std::all_of(word.begin(), word.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                  c == ':' || c == '.';
         });
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return text;
}

}  // namespace

void Redactor::take_words(json* words, bool* names_a_secret) {
  if (!words->is_array() || words->empty()) return;
  const std::string name = in_capitals(word_of((*words)[0]));
  bool credentials = name == "AUTH";
  Named named_before = Named::kNothing;
  for (size_t i = 1; i < words->size(); ++i) {
    json& word = (*words)[i];
    if (word.is_array()) {  // a command of a transaction
      take_words(&word, names_a_secret);
      continue;
    }
    const std::string value = word_of(word);
    // A field, or the key, names what follows it.
    const Named says = is_name(value) ? by_name(value) : Named::kNothing;
    const bool names = says == Named::kSecret;
    const Named named = std::exchange(named_before, says);
    *names_a_secret = *names_a_secret || names;
    if (credentials || named == Named::kSecret) {
      word = wire::text_or_bytes(token(value));
    } else if (!names && named != Named::kKept) {
      word = wire::text_or_bytes(body(value, {}));
    }
    // HELLO 3 AUTH user password
    if (name == "HELLO" && in_capitals(value) == "AUTH") credentials = true;
    if (name == "HELLO" && in_capitals(value) == "SETNAME") credentials = false;
  }
}

void Redactor::take_reply(json* reply, bool is_secret) {
  if (reply->is_string()) {
    const std::string value = reply->get<std::string>();
    *reply = wire::text_or_bytes(is_secret ? token(value) : body(value, {}));
  } else if (reply->is_array()) {
    bool named = false;
    for (json& each : *reply) {
      take_reply(&each, is_secret || named);
      const std::string name = each.is_string() ? each.get<std::string>() : std::string();
      named = is_name(name) && by_name(name) == Named::kSecret;
    }
  } else if (reply->is_object()) {
    for (auto& [key, value] : reply->items()) {
      if (key == "map" && value.is_array()) {
        for (json& pair : value) take_reply(&pair, is_secret);
      } else if (key == "bytes" && is_secret) {
        *reply = wire::text_or_bytes(token(word_of(*reply)));
        return;
      } else if (value.is_structured()) {
        take_reply(&value, is_secret);
      } else if (value.is_string() && key != "bytes" && key != "null") {
        const auto before = value.get<std::string>();
        value = is_secret && key != "error" ? token(before) : text(before);
      }
    }
  }
}

}  // namespace filibuster::record
