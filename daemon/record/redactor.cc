#include "daemon/record/redactor.h"

#include <algorithm>
#include <cctype>

#include "core/text/ascii.h"
#include "core/text/uri.h"
#include "daemon/record/token.h"
#include "daemon/redact/redact.h"
#include "daemon/wire/body_form.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::record {
namespace {

using nlohmann::json;
using wire::JsonNode;

// So many secrets are looked for everywhere: those that were found last.
constexpr size_t kMostKnown = 1000;
constexpr size_t kLeastToken = 8;

std::string trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const size_t end = text.find_last_not_of(" \t");
  return std::string(text.substr(begin, end == text.npos ? 0 : end + 1 - begin));
}

bool is_form(const cases::Headers& headers) {
  return std::any_of(headers.begin(), headers.end(), [](const auto& each) {
    return equal_ignoring_case(each.first, "content-type") &&
           each.second.find("x-www-form-urlencoded") != std::string::npos;
  });
}

std::string word_of(const json& value) {
  return wire::bytes_of_text(value).value_or("");
}

// A key or a field that says what its value is. A value may hold such a word as well.
bool names_secret(std::string_view word) {
  constexpr size_t kMost = 64;
  return word.size() <= kMost &&
         std::all_of(word.begin(), word.end(),
                     [](char c) {
                       return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
                              c == '-' || c == ':' || c == '.';
                     }) &&
         is_secret_name(word);
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return text;
}

}  // namespace

std::vector<std::string> Redactor::rules() {
  return {"values of header fields, parameters, members and Redis fields with names of secrets",
          "texts with the form of a secret", "what a client of Redis authenticates with"};
}

Redactor Redactor::masking() {
  Redactor out("");
  out.mode_ = Mode::kMasks;
  return out;
}

std::string Redactor::token(std::string_view secret) {
  const auto of_token = made_.find(secret);
  if (mode_ == Mode::kRestores)
    return of_token == made_.end() ? std::string(secret) : of_token->second;
  // A text may be looked at twice. A short one is a token by chance.
  if (secret.empty() || (of_token != made_.end() && secret.size() >= kLeastToken))
    return std::string(secret);
  if (const auto known = tokens_.find(secret); known != tokens_.end()) return known->second;
  std::string out = mode_ == Mode::kMasks ? mask_of(secret) : std::string();
  // Of a short one the token may be the secret by chance, or that of another one.
  constexpr unsigned kRounds = 32;
  for (unsigned round = 0; mode_ == Mode::kTokens && round < kRounds; ++round) {
    out = token_of(secret, key_, round);
    const bool is_secret = out.size() >= kLeastToken && tokens_.contains(out);
    if (out != secret && !made_.contains(out) && !is_secret) break;
  }
  if (mode_ == Mode::kTokens) made_.emplace(out, secret);
  tokens_.emplace(std::string(secret), out);
  in_order_.emplace_back(secret);
  if (in_order_.size() > kMostKnown) {
    const auto oldest = tokens_.find(in_order_.front());
    made_.erase(oldest->second);
    tokens_.erase(oldest);
    in_order_.pop_front();
  }
  return out;
}

std::string Redactor::text(std::string_view text) {
  return filibuster::redact(text, [this](std::string_view secret) { return token(secret); });
}

// --- HTTP -----------------------------------------------------------------------------------------

std::string Redactor::field_value(const std::string& name, const std::string& value) {
  const bool cookie = equal_ignoring_case(name, "cookie");
  const bool set_cookie = equal_ignoring_case(name, "set-cookie");
  if (cookie || set_cookie) {
    std::string out;
    bool first = true;
    for (std::string_view rest = value; !rest.empty(); first = false) {
      const std::string_view part = rest.substr(0, std::min(rest.find(';'), rest.size()));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      const size_t equals = part.find('=');
      // What follows the first pair of a Set-Cookie says how long and where it is valid.
      const bool keeps = equals == part.npos || (set_cookie && !first);
      out += (first ? "" : ";") + std::string(part.substr(0, keeps ? part.size() : equals + 1));
      if (!keeps) out += token(part.substr(equals + 1));
    }
    return out;
  }
  if (!is_secret_name(name)) return text(value);
  // "Bearer": the scheme says what was there.
  const size_t blank = value.find(' ');
  const bool scheme = blank != value.npos && name.size() >= 13 &&
                      equal_ignoring_case(name.substr(name.size() - 13), "authorization");
  if (!scheme) return token(value);
  return value.substr(0, blank + 1) + token(trimmed(value.substr(blank + 1)));
}

void Redactor::take(cases::Headers* headers) {
  for (auto& [name, value] : *headers) value = field_value(name, value);
}

// "p%C3%A4ss+word": what stands there is the same secret as elsewhere, and its token has the same escapes.
std::string Redactor::escaped(std::string_view written) {
  if (written.find_first_of("%+") == written.npos) return token(written);
  const std::string secret = percent_decoded(written, true);
  std::string other = token(secret);
  if (other.size() != secret.size()) return other;  // a mask
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (size_t i = 0, at = 0; i < secret.size(); ++i) {
    const bool is_escape =
        percent_decoded(written.substr(at, 3), true).size() == 1 && written[at] == '%';
    const std::string_view unit = written.substr(at, is_escape ? 3 : 1);
    at += unit.size();
    if (other[i] == secret[i]) {
      out += unit;
    } else if (is_escape) {
      const auto byte = static_cast<unsigned char>(other[i]);
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out += other[i];
    }
  }
  return out;
}

// "a=1&token=x"
std::string Redactor::pairs(std::string_view text) {
  std::string out;
  while (true) {
    const std::string_view part = text.substr(0, std::min(text.find('&'), text.size()));
    const size_t equals = part.find('=');
    const bool secret = equals != part.npos && is_secret_argument(part.substr(0, equals));
    if (secret) {
      out.append(part.substr(0, equals + 1)).append(escaped(part.substr(equals + 1)));
    } else {
      out += redact_forms(part, [this](std::string_view each) { return token(each); });
    }
    if (part.size() == text.size()) return out;
    out += '&';
    text.remove_prefix(part.size() + 1);
  }
}

std::string Redactor::target(const std::string& target) {
  const size_t query = target.find('?');
  const std::string path = redact_forms(std::string_view(target).substr(0, query),
                                        [this](std::string_view each) { return token(each); });
  return query == target.npos ? path
                              : path + "?" + pairs(std::string_view(target).substr(query + 1));
}

void Redactor::take(JsonNode* node, bool is_secret) {
  switch (node->kind) {
    case JsonNode::Kind::kObject:
      for (JsonNode& each : node->children)
        take(&each, is_secret || is_secret_name(wire::json_token_text(each.key)));
      return;
    case JsonNode::Kind::kArray:
      for (JsonNode& each : node->children) take(&each, is_secret);
      return;
    case JsonNode::Kind::kScalar:
      break;
  }
  if (!node->token.starts_with('"')) {
    // Of true, false and null nothing is left but which one it is.
    const bool number =
        !node->token.empty() &&
        (std::isdigit(static_cast<unsigned char>(node->token[0])) != 0 || node->token[0] == '-');
    if (is_secret && number && node->token.find_first_of(".eE") == std::string::npos)
      node->token = token(node->token);
    return;
  }
  const std::string value = wire::json_token_text(node->token);
  const std::string other = is_secret ? token(value) : text(value);
  if (other != value) node->token = wire::json_token(other).value_or(node->token);
}

std::string Redactor::body(const std::string& bytes, const cases::Headers& headers) {
  if (bytes.empty()) return bytes;
  if (auto node = wire::parse_json_node(bytes, wire::kMostJsonDepth)) {
    const auto style = wire::json_style_of(*node, bytes);
    JsonNode before = *node;
    take(&*node, false);
    if (*node == before) return bytes;
    return wire::print_json(*node, style.value_or(wire::JsonStyle()));
  }
  if (is_form(headers)) return pairs(bytes);
  // What is no text is left as it is, but for secrets that are known.
  return wire::json_token(bytes) ? text(bytes) : bytes;
}

void Redactor::take(cases::Request* of) {
  of->target = target(of->target);
  of->body = body(of->body, of->headers);
  take(&of->headers);
}

void Redactor::take(cases::Answer* of) {
  const size_t before = of->body.size();
  of->body = body(of->body, of->headers);
  if (of->body.size() != before) of->pieces.clear();
  take(&of->headers);
  take(&of->trailers);
}

// --- Redis ----------------------------------------------------------------------------------------

void Redactor::take_words(json* words, bool* names_a_secret) {
  if (!words->is_array() || words->empty()) return;
  const std::string name = in_capitals(word_of((*words)[0]));
  bool credentials = name == "AUTH", named_before = false;
  for (size_t i = 1; i < words->size(); ++i) {
    json& word = (*words)[i];
    if (word.is_array()) {  // a command of a transaction
      take_words(&word, names_a_secret);
      continue;
    }
    const std::string value = word_of(word);
    // A field, or the key, names what follows it.
    const bool names = names_secret(value);
    const bool named = named_before;
    named_before = names;
    *names_a_secret = *names_a_secret || names;
    if (credentials || named) {
      word = wire::text_or_bytes(token(value));
    } else if (!names) {
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
      named = each.is_string() && names_secret(each.get<std::string>());
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

// --- all of it ------------------------------------------------------------------------------------

void Redactor::redact(cases::Call* of) {
  if (of->input.kind == cases::Kind::kRedis) {
    bool names_a_secret = false;
    take_words(&of->input.command, &names_a_secret);
    if (of->reply) take_reply(&*of->reply, names_a_secret);
  } else {
    take(&of->input.http);
    take(&of->answer);
  }
  take_known(of);
}

void Redactor::redact(cases::Case* of) {
  take(&of->request);
  take(&of->answer);
  for (cases::Call& call : of->calls) redact(&call);
  // Reasons name calls by their targets.
  of->partial = text(of->partial);
  take_known(of);
}

}  // namespace filibuster::record
