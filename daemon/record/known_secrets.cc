// What was found to be a secret in one place is one in all places; and the way back, from tokens to secrets.
#include <algorithm>
#include <cctype>
#include <utility>

#include "daemon/cases/fields.h"
#include "daemon/record/redactor.h"
#include "daemon/wire/json_node.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::record {
namespace {

using nlohmann::json;
using Replaced = std::vector<std::pair<std::string, std::string>>;

// Is it looked for in other places than where its name or form says so? Ordinary words and short numbers stand there by chance.
bool is_telling(std::string_view secret) {
  constexpr size_t kLeast = 8, kSurely = 16;
  const bool only_letters = std::all_of(secret.begin(), secret.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
  });
  return secret.size() >= (only_letters ? kSurely : kLeast);
}

void replace_all(std::string* text, std::string_view from, std::string_view to) {
  for (size_t at = text->find(from); at != text->npos; at = text->find(from, at + to.size()))
    text->replace(at, from.size(), to);
}

void replace_in(std::string* text, const Replaced& known) {
  for (const auto& [from, to] : known) replace_all(text, from, to);
}

void replace_in(cases::Headers* headers, const Replaced& known) {
  for (auto& [name, value] : *headers) replace_in(&value, known);
}

void replace_in(json* value, const Replaced& known) {
  if (value->is_string()) {
    auto text = value->get<std::string>();
    replace_in(&text, known);
    *value = text;
  } else if (value->is_structured()) {
    if (const auto bytes = value->is_object() ? wire::bytes_of_text(*value) : std::nullopt) {
      std::string text = *bytes;
      replace_in(&text, known);
      *value = wire::text_or_bytes(text);
      return;
    }
    for (json& each : *value) replace_in(&each, known);
  }
}

void replace_in(cases::Call* of, const Replaced& known) {
  for (std::string* each : {&of->input.http.target, &of->input.http.body, &of->answer.body})
    replace_in(each, known);
  for (cases::Headers* each : {&of->input.http.headers, &of->answer.headers, &of->answer.trailers})
    replace_in(each, known);
  replace_in(&of->input.command, known);
  if (of->reply) replace_in(&*of->reply, known);
}

// As it stands in a query or a form.
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF", kPlain = "-._~";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || kPlain.find(c) != kPlain.npos) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

// Looks at the fields of a message for tokens.
class PlaceFinder {
 public:
  using Places = std::vector<std::pair<std::string, std::string>>;
  PlaceFinder(const std::map<std::string, std::string, std::less<>>& made, Places* out)
      : made_(made), out_(*out) {}

  void request(const cases::Request& of, const std::string& owner) {
    fields(cases::entry_fields(of, {}), owner);
    headers(of.headers, "header", owner);
  }

  void answer(const cases::Answer& of, const cases::Request& request, const std::string& owner) {
    cases::Answer bare = of;
    bare.headers.clear();
    bare.trailers.clear();
    // Its fields of a form are named by the type of the answer.
    for (const auto& each : of.headers) {
      if (each.first.size() == std::string_view("content-type").size())
        bare.headers.push_back(each);
    }
    for (const cases::Field& each : cases::answer_fields(bare, request, {})) {
      if (!each.pointer.starts_with("/headers")) field(each, owner);
    }
    headers(of.headers, "header", owner);
    headers(of.trailers, "trailer", owner);
  }

  void command(const cases::CallInput& input, const std::string& owner) {
    fields(cases::input_fields(input, {}), owner);
  }

  void reply(const json& value, const std::string& pointer, const std::string& owner) {
    const auto bytes = value.is_array() ? std::nullopt : wire::bytes_of_text(value);
    if (bytes) return look(*bytes, pointer + " of " + owner);
    if (!value.is_structured()) return;
    size_t number = 0;
    for (const json& each : value) reply(each, pointer + "/" + std::to_string(number++), owner);
  }

 private:
  void fields(const cases::Fields& all, const std::string& owner) {
    for (const cases::Field& each : all) field(each, owner);
  }

  void field(const cases::Field& of, const std::string& owner) {
    const std::string what = of.pointer == "/target" ? "the path" : of.pointer;
    look(of.value.starts_with('"') ? wire::json_token_text(of.value) : of.value,
         what + " of " + owner);
  }

  void headers(const cases::Headers& all, const char* kind, const std::string& owner) {
    for (const auto& [name, value] : all) {
      std::string small = name;
      std::transform(small.begin(), small.end(), small.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      look(value, std::string("the ") + kind + " " + small + " of " + owner);
    }
  }

  // A short one is looked for where it is the whole value.
  void look(const std::string& value, const std::string& place) {
    for (const auto& [token, secret] : made_) {
      if (value == token || (is_telling(token) && value.find(token) != value.npos))
        out_.emplace_back(token, place);
    }
  }

  const std::map<std::string, std::string, std::less<>>& made_;
  Places& out_;
};

}  // namespace

// The longest first: one may be a part of another.
Redactor::Replaced Redactor::known() const {
  Replaced out;
  if (mode_ == Mode::kRestores) {
    for (const auto& [token, secret] : made_) out.emplace_back(token, secret);
  } else {
    for (const auto& [secret, token] : tokens_) out.emplace_back(secret, token);
  }
  std::erase_if(out, [](const auto& each) { return !is_telling(each.first); });
  for (size_t i = 0, size = out.size(); i < size; ++i) {
    std::string as_written = percent_encoded(out[i].first);
    if (as_written != out[i].first)
      out.emplace_back(std::move(as_written), percent_encoded(out[i].second));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  return out;
}

bool Redactor::has_known(std::string_view text) const {
  const Replaced all = known();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& each) { return text.find(each.first) != text.npos; });
}

void Redactor::take_known(cases::Call* of) {
  replace_in(of, known());
}

void Redactor::take_known(cases::Case* of) {
  const Replaced all = known();
  for (std::string* each : {&of->request.target, &of->request.body, &of->answer.body, &of->partial})
    replace_in(each, all);
  for (cases::Headers* each : {&of->request.headers, &of->answer.headers, &of->answer.trailers})
    replace_in(each, all);
  for (cases::Call& call : of->calls) replace_in(&call, all);
}

void Redactor::redact(cases::Request* of) {
  take(of);
  const Replaced all = known();
  for (std::string* each : {&of->target, &of->body}) replace_in(each, all);
  replace_in(&of->headers, all);
}

void Redactor::redact(cases::Answer* of) {
  take(of);
  const Replaced all = known();
  replace_in(&of->body, all);
  for (cases::Headers* each : {&of->headers, &of->trailers}) replace_in(each, all);
}

void Redactor::redact(cases::Opening* of) {
  bool ignored = false;
  place_ = SecretPlace::kRedis;
  take_words(&of->command, &ignored);
  const Replaced all = known();
  replace_in(&of->command, all);
  replace_in(&of->reply, all);
}

std::vector<std::pair<std::string, std::string>> Redactor::unmarked(const cases::Case& of,
                                                                    Rules rules) {
  Redactor look("", std::move(rules));
  look.mode_ = Mode::kLooks;
  cases::Case copy = of;
  look.redact(&copy);
  auto out = look.places(of);
  if (out.empty() && !look.made_.empty())
    out.emplace_back(look.made_.begin()->first, "a compressed body");
  return out;
}

void Redactor::restore(cases::Case* of, const std::set<std::string>& but) const {
  Redactor back("", rules_);
  back.mode_ = Mode::kRestores;
  back.made_ = made_;
  for (const std::string& token : but) back.made_.erase(token);
  back.redact(of);
}

std::vector<std::pair<std::string, std::string>> Redactor::places(const cases::Case& of) const {
  std::vector<std::pair<std::string, std::string>> out;
  PlaceFinder find(made_, &out);
  find.request(of.request, "the request");
  for (size_t i = 0; i < of.calls.size(); ++i) {
    const cases::Call& call = of.calls[i];
    const std::string owner = "call " + std::to_string(i);
    if (call.input.kind == cases::Kind::kRedis) {
      find.command(call.input, owner);
      if (call.reply) find.reply(*call.reply, "/reply", "the answer to " + owner);
      continue;
    }
    find.request(call.input.http, owner);
    find.answer(call.answer, call.input.http, "the answer to " + owner);
  }
  find.answer(of.answer, of.request, "the answer");
  return out;
}

}  // namespace filibuster::record
