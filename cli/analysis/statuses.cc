#include "cli/analysis/statuses.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/analysis/choices.h"
#include "core/grpc/call.h"

namespace filibuster::analysis {
namespace {

struct StatusName {
  std::string_view name;  // lower case, without '_'
  uint16_t status;
};
// The names of RFC 9110 §15, RFC 6585 and RFC 4918; then the shorter names of
// java.net.HttpURLConnection and of frameworks.
constexpr StatusName kNames[] = {
    {"badrequest", 400},
    {"unauthorized", 401},
    {"paymentrequired", 402},
    {"forbidden", 403},
    {"notfound", 404},
    {"methodnotallowed", 405},
    {"notacceptable", 406},
    {"proxyauthenticationrequired", 407},
    {"proxyauthrequired", 407},
    {"requesttimeout", 408},
    {"conflict", 409},
    {"gone", 410},
    {"lengthrequired", 411},
    {"preconditionfailed", 412},
    {"contenttoolarge", 413},
    {"payloadtoolarge", 413},
    {"requestentitytoolarge", 413},
    {"uritoolong", 414},
    {"requesturitoolong", 414},
    {"requesturitoolarge", 414},
    {"unsupportedmediatype", 415},
    {"rangenotsatisfiable", 416},
    {"requestedrangenotsatisfiable", 416},
    {"expectationfailed", 417},
    {"imateapot", 418},
    {"teapot", 418},
    {"misdirectedrequest", 421},
    {"unprocessablecontent", 422},
    {"unprocessableentity", 422},
    {"locked", 423},
    {"faileddependency", 424},
    {"tooearly", 425},
    {"upgraderequired", 426},
    {"preconditionrequired", 428},
    {"toomanyrequests", 429},
    {"requestheaderfieldstoolarge", 431},
    {"unavailableforlegalreasons", 451},
    {"internalservererror", 500},
    {"notimplemented", 501},
    {"badgateway", 502},
    {"serviceunavailable", 503},
    {"gatewaytimeout", 504},
    {"httpversionnotsupported", 505},
    {"insufficientstorage", 507},
    {"loopdetected", 508},
    {"networkauthenticationrequired", 511},
    {"badmethod", 405},
    {"clienttimeout", 408},
    {"preconfailed", 412},
    {"entitytoolarge", 413},
    {"reqtoolong", 414},
    {"unsupportedtype", 415},
    {"internalerror", 500},
    {"unavailable", 503},
};

// "NOT_FOUND", "NotFound", "not_found", "NotFound_404" -> "notfound"
std::string plain(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c == '_' || (c >= '0' && c <= '9')) continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::optional<Answer> http_answer(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const uint16_t status = http_status_of(name.substr(prefix.size()));
  if (status == 0) return std::nullopt;
  return Answer{false, status};
}

std::optional<Answer> grpc_answer(std::string_view name) {
  const std::string wanted = plain(name);
  for (uint8_t code = 0; code <= 16; ++code) {
    const auto text = grpc::to_name(static_cast<grpc::Code>(code));
    // Go writes Canceled.
    if (wanted == plain(text) || (code == 1 && wanted == "canceled")) return Answer{true, code};
  }
  return std::nullopt;
}

// One way to name a status: the tokens before the name, and what the name begins with.
struct Form {
  Language language;
  bool grpc;
  std::array<std::string_view, 4> before;  // tokens
  std::string_view prefix;                 // what the name begins with
};
constexpr Form kForms[] = {
    {Language::kPython, true, {"grpc", ".", "StatusCode", "."}, ""},
    {Language::kPython, true, {"StatusCode", "."}, ""},
    {Language::kPython, false, {"HTTPStatus", "."}, ""},
    {Language::kPython, false, {"status", "."}, "HTTP_"},
    {Language::kPython, false, {}, "HTTP_"},
    {Language::kJavaScript, true, {"grpc", ".", "status", "."}, ""},
    {Language::kJavaScript, true, {"status", "."}, ""},
    {Language::kJavaScript, true, {"Status", "."}, ""},
    {Language::kJavaScript, false, {"HttpStatus", "."}, ""},
    {Language::kJavaScript, false, {"StatusCodes", "."}, ""},
    {Language::kJava, false, {"HttpStatus", "."}, ""},
    {Language::kJava, false, {"HttpStatusCode", "."}, ""},
    {Language::kJava, false, {"HttpResponseStatus", "."}, ""},
    {Language::kJava, false, {"Response", ".", "Status", "."}, ""},
    {Language::kJava, false, {"HttpURLConnection", "."}, "HTTP_"},
    {Language::kJava, false, {"HttpServletResponse", "."}, "SC_"},
    {Language::kJava, true, {"Status", "."}, ""},
    {Language::kJava, true, {"Code", "."}, ""},
    {Language::kJava, false, {"Status", "."}, ""},
    {Language::kGo, false, {"http", "."}, "Status"},
    {Language::kGo, false, {"fiber", "."}, "Status"},
    {Language::kGo, true, {"codes", "."}, ""},
    {Language::kCpp, true, {"grpc", "::", "StatusCode", "::"}, ""},
    {Language::kCpp, true, {"StatusCode", "::"}, ""},
    {Language::kCpp, true, {"grpc", "::"}, ""},
    {Language::kCpp, false, {"http", "::", "status", "::"}, ""},
    {Language::kCpp, false, {"status", "::"}, ""},
    {Language::kCpp, false, {"StatusCode", "::"}, ""},  // cpp-httplib: StatusCode::NotFound_404
    {Language::kCpp, false, {}, "k404"},                // drogon, see status_at()
};

// In Java and JavaScript, a name that HTTP and gRPC share means gRPC only if the source mentions gRPC. A
// name with a number in it is one of cpp-httplib.
std::optional<Answer> by_form(const Source& source, const Form& form, std::string_view name) {
  if (!form.grpc) return http_answer(name, form.prefix);
  const bool numbered = name.find_first_of("0123456789") != std::string_view::npos;
  const bool shared =
      source.language == Language::kJava || source.language == Language::kJavaScript;
  if (numbered || (shared && source.text.find("grpc") == std::string::npos)) return std::nullopt;
  return grpc_answer(name);
}

}  // namespace

std::string fault_text(const Answer& answer) {
  if (!answer.grpc) return "status:" + std::to_string(answer.code);
  return "grpc:" + std::string(grpc::to_name(static_cast<grpc::Code>(answer.code)));
}

bool is_error(const Answer& answer) {
  if (answer.grpc) return answer.code >= 1 && answer.code <= 16;
  return answer.code >= 400 && answer.code <= 599;
}

uint16_t http_status_of(std::string_view name) {
  const std::string wanted = plain(name);
  for (const StatusName& row : kNames) {
    if (wanted == row.name) return row.status;
  }
  return 0;
}

std::optional<uint16_t> http_status_number(const Token& token) {
  if (token.kind != Token::Kind::kNumber || token.text.size() != 3) return std::nullopt;
  uint16_t value = 0;
  const char* const end = token.text.data() + token.text.size();
  const auto [rest, failed] = std::from_chars(token.text.data(), end, value);
  if (failed != std::errc() || rest != end || value < 100 || value > 599) return std::nullopt;
  return value;
}

std::optional<uint16_t> own_status(const Source& source, uint32_t at) {
  const Token& token = source.token(at);
  if (const auto number = http_status_number(token)) return number;
  if (!token.word()) return std::nullopt;
  const auto constant = source.numbers.find(token.text);
  return constant == source.numbers.end() ? std::nullopt
                                          : http_status_number(source.tokens[constant->second]);
}

std::vector<uint32_t> own_statuses(const Source& source, Span expression) {
  std::vector<uint32_t> out;
  for (const Span& one : choices_of(source, expression)) {
    if (one.size() == 1 && own_status(source, one.begin)) out.push_back(one.begin);
  }
  return out;
}

std::optional<Written> status_at(const Source& source, uint32_t at) {
  const Token& first = source.token(at);
  if (const auto number = http_status_number(first)) return Written{{false, *number}, 1, false};
  if (!first.word()) return std::nullopt;
  // In x.status.NOT_FOUND, a name does not begin at the middle word.
  const bool member = at > 0 && (source.is(at - 1, ".") || source.is(at - 1, "::"));
  for (const Form& form : kForms) {
    if (form.language != source.language) continue;
    uint32_t length = 0;
    while (length < form.before.size() && !form.before[length].empty() &&
           source.is(at + length, form.before[length])) {
      ++length;
    }
    if (length < form.before.size() && !form.before[length].empty()) continue;
    const Token& name = source.token(at + length);
    if (!name.word() || (length == 0 && member)) continue;
    if (form.prefix == "k404") {  // k404NotFound
      if (name.text.size() < 6 || name.text[0] != 'k') continue;
      Token digits = name;
      digits.kind = Token::Kind::kNumber;
      digits.text = name.text.substr(1, 3);
      if (const auto number = http_status_number(digits)) return Written{{false, *number}, 1, true};
      continue;
    }
    if (const auto answer = by_form(source, form, name.text))
      return Written{*answer, length + 1, true};
  }
  return std::nullopt;
}

bool compared(const Source& source, uint32_t begin, uint32_t end) {
  // Go back over the qualifiers: a.b.NOT_FOUND
  while (begin >= 2 && (source.is(begin - 1, ".") || source.is(begin - 1, "::")) &&
         source.token(begin - 2).word()) {
    begin -= 2;
  }
  constexpr std::array<std::string_view, 8> kOperators = {
      "==", "!=", "===", "!==", "<", ">", "<=", ">="};
  const auto compares = [&](const Token& token) {
    return std::find(kOperators.begin(), kOperators.end(), token.text) != kOperators.end() &&
           !token.string();
  };
  constexpr std::array<std::string_view, 12> kAsking = {
      "case",     "in",    "is",           "equals",       "isEqualTo", "contains",
      "includes", "Equal", "assertEquals", "isSameCodeAs", "of",        "EXPECT_EQ"};
  const auto asks = [&](const Token& token) {
    return token.word() && std::find(kAsking.begin(), kAsking.end(), token.text) != kAsking.end();
  };
  if (begin > 0 && (compares(source.tokens[begin - 1]) || asks(source.tokens[begin - 1])))
    return true;
  if (compares(source.token(end))) return true;
  if (source.is(end, ".") && (source.is(end + 1, "equals") || source.is(end + 1, "getCode")))
    return true;
  // "case A, B:" of Go, and the elements of "x in (A, B)", "Set.of(A, B)", "list.contains(A)".
  constexpr uint32_t kMaxBack = 64;  // tokens
  for (uint32_t i = begin; i > 0 && begin - i < kMaxBack; --i) {
    const Token& token = source.tokens[i - 1];
    if (token.is(")") || token.is("]") || token.is("}")) {
      if (source.partner[i - 1] >= i) return false;
      i = source.partner[i - 1] + 1;
      continue;
    }
    if (token.is("case")) return true;
    if (token.is("(") || token.is("[") || token.is("{"))
      return i >= 2 && asks(source.tokens[i - 2]);
    if (token.is(";") || token.is(":")) return false;
  }
  return false;
}

bool names_status(std::string_view word) {
  constexpr std::array<std::string_view, 9> kWords = {
      "status",   "statuscode",   "httpstatus", "httpstatuscode", "code",
      "httpcode", "responsecode", "errorcode",  "responsestatus"};
  return std::find(kWords.begin(), kWords.end(), plain(word)) != kWords.end();
}

}  // namespace filibuster::analysis
