#include "daemon/record/redactor.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/text/ascii.h"
#include "core/text/uri.h"
#include "daemon/record/inflate.h"
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

// By its field, or by its first bytes (RFC 1952 §2.3.1): who passes a body on may leave out the field.
bool is_compressed(const std::string& bytes, const cases::Headers& headers) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  return bytes.starts_with(kGzip) ||
         std::any_of(headers.begin(), headers.end(), [](const auto& each) {
           return equal_ignoring_case(each.first, "content-encoding") &&
                  (each.second.find("gzip") != std::string::npos ||
                   each.second.find("deflate") != std::string::npos);
         });
}

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

}  // namespace

std::vector<std::string> Redactor::rules() {
  return {"values of header fields, parameters, members and Redis fields with names of secrets",
          "texts with the form of a secret", "what a client of Redis authenticates with"};
}

Redactor Redactor::masking(Rules rules) {
  Redactor out("", std::move(rules));
  out.mode_ = Mode::kMasks;
  return out;
}

std::string Redactor::token(std::string_view secret) {
  const auto of_token = made_.find(secret);
  if (mode_ == Mode::kRestores)
    return of_token == made_.end() ? std::string(secret) : of_token->second;
  if (mode_ == Mode::kLooks) {
    if (lacks_mark(secret)) made_.emplace(secret, secret);
    return std::string(secret);
  }
  // A text may be looked at twice. A short one is a token by chance.
  if (secret.empty() || (of_token != made_.end() && secret.size() >= kLeastToken))
    return std::string(secret);
  if (const auto known = tokens_.find(secret); known != tokens_.end()) return known->second;
  std::string out = mode_ == Mode::kMasks ? mask_of(secret) : std::string();
  // Of a short one the token may be the secret by chance, or that of another one.
  constexpr unsigned kRounds = 32;
  for (unsigned round = 0; mode_ == Mode::kTokens && round < kRounds; ++round) {
    out = made_token(secret, round);
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

// What is a secret by the form of a rule has a token of that form.
std::string Redactor::made_token(std::string_view secret, unsigned round) const {
  constexpr size_t kMost = 256;
  std::string out = token_of(secret, key_, round);
  if (rules_->fits(secret, out) || secret.size() > kMost) return out;
  std::string near(secret);
  for (size_t i = 0; i < near.size(); ++i) {
    const char before = std::exchange(near[i], out[i]);
    if (!rules_->fits(secret, near)) near[i] = before;
  }
  if (near == secret) return out;
  std::string with_mark = marked(near);
  return with_mark != secret && rules_->fits(secret, with_mark) ? with_mark : near;
}

Redactor::Named Redactor::by_name(std::string_view name, bool is_argument) const {
  if (const auto said = rules_->named(name, place_)) return *said ? Named::kSecret : Named::kKept;
  const bool is_secret = is_argument ? is_secret_argument(name) : is_secret_name(name);
  return is_secret ? Named::kSecret : Named::kNothing;
}

std::string Redactor::forms(std::string_view text) {
  const auto replace = [this](std::string_view secret) { return token(secret); };
  return redact_forms(rules_->replaced(text, place_, replace), replace);
}

std::string Redactor::text(std::string_view text) {
  const auto replace = [this](std::string_view secret) { return token(secret); };
  return filibuster::redact(rules_->replaced(text, place_, replace), replace);
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
      const bool keeps = equals == part.npos || (set_cookie && !first) ||
                         rules_->named(trimmed(part.substr(0, equals)), place_) == false;
      out += (first ? "" : ";") + std::string(part.substr(0, keeps ? part.size() : equals + 1));
      if (!keeps) out += token(part.substr(equals + 1));
    }
    return out;
  }
  const Named named = by_name(name);
  if (named != Named::kSecret) return named == Named::kKept ? value : text(value);
  // "Bearer": the scheme says what was there.
  const size_t blank = value.find(' ');
  const bool scheme = blank != value.npos && name.size() >= 13 &&
                      equal_ignoring_case(name.substr(name.size() - 13), "authorization");
  if (!scheme) return token(value);
  return value.substr(0, blank + 1) + token(trimmed(value.substr(blank + 1)));
}

void Redactor::take(cases::Headers* headers) {
  place_ = SecretPlace::kHeader;
  for (auto& [name, value] : *headers) value = field_value(name, value);
}

// "p%C3%A4ss+word": what stands there is the same secret as elsewhere, and its token has the same escapes.
std::string Redactor::escaped(std::string_view written,
                              const std::function<std::string(const std::string&)>& replace) {
  const std::string secret = percent_decoded(written, true);
  std::string other = replace(secret);
  if (other == secret) return std::string(written);
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
    const Named named =
        equals == part.npos ? Named::kNothing : by_name(part.substr(0, equals), true);
    const size_t value = equals == part.npos ? 0 : equals + 1;
    out += part.substr(0, value);
    if (named == Named::kKept) {
      out += part.substr(value);
    } else {
      out += escaped(part.substr(value), [&](const std::string& each) {
        return named == Named::kSecret ? token(each) : forms(each);
      });
    }
    if (part.size() == text.size()) return out;
    out += '&';
    text.remove_prefix(part.size() + 1);
  }
}

std::string Redactor::target(const std::string& target) {
  const size_t query = target.find('?');
  place_ = SecretPlace::kPath;
  std::string out = forms(std::string_view(target).substr(0, query));
  place_ = SecretPlace::kQuery;
  if (query != target.npos) out += "?" + pairs(std::string_view(target).substr(query + 1));
  return out;
}

void Redactor::take(JsonNode* node, Named named) {
  switch (node->kind) {
    case JsonNode::Kind::kObject:
      for (JsonNode& each : node->children) {
        const std::string name = wire::json_token_text(each.key);
        const Named own = by_name(name);
        take(&each, own == Named::kNothing ? named : own);
        if (const std::string other = forms(name); other != name)
          each.key = wire::json_token(other).value_or(each.key);
      }
      return;
    case JsonNode::Kind::kArray:
      for (JsonNode& each : node->children) take(&each, named);
      return;
    case JsonNode::Kind::kScalar:
      break;
  }
  if (named == Named::kKept) return;
  const bool is_secret = named == Named::kSecret;
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
    take(&*node, Named::kNothing);
    if (*node == before) return bytes;
    return wire::print_json(*node, style.value_or(wire::JsonStyle()));
  }
  if (is_form(headers)) return pairs(bytes);
  // What is no text is left as it is, but for secrets that are known.
  return wire::json_token(bytes) ? text(bytes) : bytes;
}

// Compressed bytes cannot have a token in the place of a secret: what has one is not written.
std::string Redactor::message_body(const std::string& bytes, const cases::Headers& headers,
                                   const char* what) {
  place_ = SecretPlace::kBody;
  const bool looks_into = mode_ == Mode::kTokens || mode_ == Mode::kLooks;
  if (!looks_into || !is_compressed(bytes, headers)) return body(bytes, headers);
  const auto unpacked = inflated(bytes);
  if (!unpacked) return bytes;
  std::string other = body(*unpacked, headers);
  if (other == *unpacked && !has_known(other)) return bytes;
  refusal_ = std::string("the body of ") + what + " is compressed, and there is a secret in it";
  return "";
}

void Redactor::take(cases::Request* of) {
  of->target = target(of->target);
  of->body = message_body(of->body, of->headers, "a request");
  take(&of->headers);
}

void Redactor::take(cases::Answer* of) {
  const size_t before = of->body.size();
  of->body = message_body(of->body, of->headers, "an answer");
  if (of->body.size() != before) of->pieces.clear();
  take(&of->headers);
  take(&of->trailers);
}

// --- all of it ------------------------------------------------------------------------------------

void Redactor::redact(cases::Call* of) {
  refusal_.clear();
  if (of->input.kind == cases::Kind::kRedis) {
    bool names_a_secret = false;
    place_ = SecretPlace::kRedis;
    take_words(&of->input.command, &names_a_secret);
    if (of->reply) take_reply(&*of->reply, names_a_secret);
  } else {
    take(&of->input.http);
    take(&of->answer);
  }
  take_known(of);
}

void Redactor::redact(cases::Case* of) {
  refusal_.clear();
  take(&of->request);
  take(&of->answer);
  std::string refusal = refusal_;
  for (cases::Call& call : of->calls) {
    redact(&call);
    if (refusal.empty()) refusal = refusal_;
  }
  refusal_ = std::move(refusal);
  if (of->partial.empty()) of->partial = refusal_;
  place_ = SecretPlace::kAnywhere;
  // Reasons name calls by their targets.
  of->partial = text(of->partial);
  take_known(of);
}

}  // namespace filibuster::record
