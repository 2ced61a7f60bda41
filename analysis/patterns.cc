#include "analysis/patterns.h"

#include <algorithm>
#include <array>

namespace filibuster::analysis {
namespace {

// Tokens, separated by blanks. $S: a status as a number; $W: any word; $N: the name of a status
// (notFound); ... : what stands in between within the same brackets.
struct Pattern {
  Language language;
  std::string_view framework;
  std::string_view text;
  uint16_t status = 0;  // of a pattern without $S and $N
};
constexpr Pattern kPatterns[] = {
    {Language::kPython, "Flask", "abort ( $S"},
    {Language::kPython, "Flask", "make_response ( ... , $S"},
    {Language::kPython, "Flask", "Response ( ... , $S"},
    {Language::kPython, "FastAPI", "HTTPException ( $S"},
    {Language::kPython, "Django", "raise Http404", 404},
    {Language::kPython, "Django", "get_object_or_404 (", 404},
    {Language::kPython, "Django", "HttpResponseBadRequest (", 400},
    {Language::kPython, "Django", "HttpResponseForbidden (", 403},
    {Language::kPython, "Django", "HttpResponseNotFound (", 404},
    {Language::kPython, "Django", "HttpResponseNotAllowed (", 405},
    {Language::kPython, "Django", "HttpResponseGone (", 410},
    {Language::kPython, "Django", "HttpResponseServerError (", 500},
    {Language::kPython, "http.server", "send_response ( $S"},
    {Language::kPython, "http.server", "send_error ( $S"},
    {Language::kPython, "Tornado", "set_status ( $S"},
    {Language::kPython, "Python", "raise $W ( $S"},
    {Language::kJavaScript, "Express", ". status ( $S"},
    {Language::kJavaScript, "Express", ". sendStatus ( $S"},
    {Language::kJavaScript, "Express", "createError ( $S"},
    {Language::kJavaScript, "Fastify", ". code ( $S"},
    {Language::kJavaScript, "Koa", "ctx . throw ( $S"},
    {Language::kJavaScript, "Node http", "writeHead ( $S"},
    {Language::kJavaScript, "NestJS", "new HttpException ( ... , $S"},
    {Language::kJavaScript, "JavaScript", "throw new $W ( $S"},
    {Language::kJavaScript, "JavaScript", "return [ $S ,"},
    {Language::kJavaScript, "JavaScript", "? [ $S ,"},
    {Language::kJavaScript, "JavaScript", ": [ $S ,"},
    {Language::kJavaScript, "JavaScript", "=> [ $S ,"},
    {Language::kJava, "Spring", "ResponseEntity . status ( $S"},
    {Language::kJava, "Spring", "ResponseEntity . $N ("},
    {Language::kJava, "Spring", "HttpStatus . valueOf ( $S"},
    {Language::kJava, "Spring", "HttpStatusCode . valueOf ( $S"},
    {Language::kJava, "JAX-RS", ". status ( $S"},
    {Language::kJava, "JAX-RS", "WebApplicationException ( $S"},
    {Language::kJava, "Servlet", "sendError ( $S"},
    {Language::kJava, "Servlet", "setStatus ( $S"},
    {Language::kJava, "Vert.x", "setStatusCode ( $S"},
    {Language::kJava, "JDK HttpServer", "sendResponseHeaders ( $S"},
    {Language::kJava, "Java", "throw new $W ( $S"},
    {Language::kGo, "net/http", "http . Error ( ... , $S"},
    {Language::kGo, "net/http", "http . NotFound (", 404},
    {Language::kGo, "net/http", "WriteHeader ( $S"},
    {Language::kGo, "gin", ". JSON ( $S"},
    {Language::kGo, "gin", ". String ( $S"},
    {Language::kGo, "gin", ". Status ( $S"},
    {Language::kGo, "gin", "AbortWithStatus ( $S"},
    {Language::kGo, "gin", "AbortWithStatusJSON ( $S"},
    {Language::kGo, "gin", "AbortWithError ( $S"},
    {Language::kGo, "echo", "NoContent ( $S"},
    {Language::kGo, "echo", "NewHTTPError ( $S"},
    {Language::kGo, "fiber", "SendStatus ( $S"},
    {Language::kGo, "fiber", "NewError ( $S"},
    {Language::kCpp, "crow", "crow :: response ( $S"},
    {Language::kCpp, "C++", "set_status ( $S"},
    {Language::kCpp, "C++", "throw $W ( $S"},
};

struct FrameworkRow {
  Language language;
  std::string_view text;
  std::string_view name;
  Answer uncaught;  // code 0: the connection ends, or the program
};
constexpr Answer kInternalServerError{false, 500};
constexpr Answer kUnknown{true, 2};
constexpr Answer kNothing{};
constexpr FrameworkRow kFrameworks[] = {
    {Language::kPython, "Flask (", "Flask", kInternalServerError},
    {Language::kPython, "FastAPI (", "FastAPI", kInternalServerError},
    {Language::kPython, "Starlette (", "Starlette", kInternalServerError},
    {Language::kPython, "Bottle (", "Bottle", kInternalServerError},
    {Language::kPython, "web . Application (", "aiohttp", kInternalServerError},
    {Language::kPython, "tornado . web", "Tornado", kInternalServerError},
    {Language::kPython, "django . urls", "Django", kInternalServerError},
    {Language::kPython, "BaseHTTPRequestHandler", "http.server", kNothing},
    {Language::kPython, "grpc . server (", "gRPC", kUnknown},
    {Language::kPython, "grpc . aio . server (", "gRPC", kUnknown},
    {Language::kJavaScript, "express ( )", "Express", kInternalServerError},
    {Language::kJavaScript, "fastify (", "Fastify", kInternalServerError},
    {Language::kJavaScript, "Fastify (", "Fastify", kInternalServerError},
    {Language::kJavaScript, "new Koa (", "Koa", kInternalServerError},
    {Language::kJavaScript, "NestFactory . create", "NestJS", kInternalServerError},
    {Language::kJavaScript, "createServer (", "Node http", kNothing},
    {Language::kJavaScript, "grpc . Server (", "gRPC", kNothing},
    {Language::kJava, "SpringApplication . run", "Spring", kInternalServerError},
    {Language::kJava, "@ RestController", "Spring", kInternalServerError},
    {Language::kJava, "@ RestControllerAdvice", "Spring", kInternalServerError},
    {Language::kJava, "extends HttpServlet", "Servlet", kInternalServerError},
    {Language::kJava, "Javalin . create", "Javalin", kInternalServerError},
    {Language::kJava, "HttpServer . create (", "JDK HttpServer", kNothing},
    {Language::kJava, "ServerBuilder . forPort", "gRPC", kUnknown},
    {Language::kJava, "NettyServerBuilder . forPort", "gRPC", kUnknown},
    {Language::kJava, "Grpc . newServerBuilderForPort", "gRPC", kUnknown},
    {Language::kGo, "http . ListenAndServe", "net/http", kNothing},
    {Language::kGo, "http . HandleFunc", "net/http", kNothing},
    {Language::kGo, "http . NewServeMux", "net/http", kNothing},
    {Language::kGo, "http . Server {", "net/http", kNothing},
    {Language::kGo, "gin . Default (", "gin", kInternalServerError},
    {Language::kGo, "gin . New (", "gin", kNothing},
    {Language::kGo, "echo . New (", "echo", kInternalServerError},
    {Language::kGo, "fiber . New (", "fiber", kInternalServerError},
    {Language::kGo, "grpc . NewServer (", "gRPC", kNothing},
    {Language::kCpp, "httplib :: Server", "cpp-httplib", kInternalServerError},
    {Language::kCpp, "httplib :: SSLServer", "cpp-httplib", kInternalServerError},
    {Language::kCpp, "crow :: SimpleApp", "crow", kInternalServerError},
    {Language::kCpp, "grpc :: ServerBuilder", "gRPC", kUnknown},
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t blank = text.find(' ');
    out.push_back(text.substr(0, blank));
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  return out;
}

struct Match {
  bool found = false;
  uint16_t status = 0;
  uint32_t at = 0;  // of the status
  uint32_t end = 0;
};

Match match_from(const Source& source, uint32_t at, const std::vector<std::string_view>& words,
                 size_t word) {
  const auto count = static_cast<uint32_t>(source.tokens.size());
  Match match{true, 0, at, at};
  for (; word < words.size(); ++word) {
    const std::string_view wanted = words[word];
    if (wanted == "...") {
      constexpr uint32_t kMaxBetween = 200;  // tokens
      for (uint32_t i = at; i < count && i - at < kMaxBetween; ++i) {
        if (const Match rest = match_from(source, i, words, word + 1); rest.found) return rest;
        const Token& token = source.tokens[i];
        if (token.is(")") || token.is("]") || token.is("}")) break;
        const uint32_t other = source.partner[i];
        if (other < count && other > i) i = other;
      }
      return {};
    }
    const Token& token = source.token(at);
    if (at >= count) return {};
    if (wanted == "$S") {
      const auto status = http_status_number(token);
      if (!status) return {};
      match.status = *status;
      match.at = at;
    } else if (wanted == "$N") {
      match.status = token.word() ? http_status_of(token.text) : 0;
      if (match.status == 0) return {};
      match.at = at;
    } else if (wanted == "$W") {
      if (!token.word()) return {};
    } else if (!token.is(wanted)) {
      return {};
    }
    ++at;
  }
  match.end = at;
  return match;
}

template <typename Row>
const std::vector<std::vector<std::string_view>>& compiled(const Row& rows) {
  static const auto out = [&] {
    std::vector<std::vector<std::string_view>> all;
    for (const auto& row : rows) all.push_back(words_of(row.text));
    return all;
  }();
  return out;
}

class Finder {
 public:
  Finder(const Source& source, const StatusTakers& takers) : source_(source), takers_(takers) {}

  std::vector<Sighting> run() {
    const auto count = static_cast<uint32_t>(source_.tokens.size());
    for (uint32_t i = 0; i < count; ++i) {
      by_table(i);
      by_name(i);
      by_member(i);
      by_taker(i);
      if (source_.language == Language::kPython) {
        if (source_.is(i, "return")) returned_tuple(i);
        if (source_.is(i, "raise")) raised(i);
      } else if (source_.is(i, "throw")) {
        thrown(i);
      }
      if (source_.language == Language::kCpp) aggregate(i);
    }
    std::sort(out_.begin(), out_.end(), [](const Sighting& a, const Sighting& b) {
      return a.token != b.token ? a.token < b.token : a.answer < b.answer;
    });
    const auto same = [](const Sighting& a, const Sighting& b) {
      return a.token == b.token && a.answer == b.answer;
    };
    out_.erase(std::unique(out_.begin(), out_.end(), same), out_.end());
    return std::move(out_);
  }

 private:
  void add(uint32_t token, const Answer& answer) {
    if (is_error(answer)) out_.push_back({token, answer});
  }
  void add_number(uint32_t token) {
    if (const auto number = http_status_number(source_.token(token))) add(token, {false, *number});
  }

  void by_table(uint32_t at) {
    const auto& rows = compiled(kPatterns);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (kPatterns[i].language != source_.language || !source_.is(at, rows[i][0])) continue;
      const Match match = match_from(source_, at, rows[i], 0);
      if (!match.found) continue;
      // [404, 403] is a list of statuses, no answer.
      const bool list = kPatterns[i].text.ends_with("[ $S ,");
      if (list && source_.token(match.end).kind == Token::Kind::kNumber) continue;
      const uint16_t status = match.status != 0 ? match.status : kPatterns[i].status;
      add(match.status != 0 ? match.at : at, {false, status});
    }
  }

  // A constant for a status that nothing is compared with.
  void by_name(uint32_t at) {
    if (at > 0 && (source_.is(at - 1, ".") || source_.is(at - 1, "::"))) {
      // its beginning was looked at already, but for ::grpc::StatusCode
      if (at < 2 || source_.token(at - 2).word()) return;
    }
    const auto written = status_at(source_, at);
    if (!written || !written->named || imported(at)) return;
    if (!compared(source_, at, at + written->size)) add(at, written->answer);
  }
  // "import static ...HttpStatus.NOT_FOUND;"
  bool imported(uint32_t at) const {
    for (uint32_t i = at; i > 0 && at - i < 16; --i) {
      if (source_.is(i - 1, "import") || source_.is(i - 1, "using")) return true;
      if (source_.is(i - 1, ";") || source_.tokens[i - 1].line != source_.tokens[at].line)
        return false;
    }
    return false;
  }

  // status = 404, .statusCode = 404, {status: 404}, "statusCode": 404, status: int = 404
  void by_member(uint32_t at) {
    const Token& token = source_.tokens[at];
    if (token.kind != Token::Kind::kWord && !token.string()) return;
    if (!names_status(token.text)) return;
    const bool key =
        source_.language == Language::kJavaScript || source_.language == Language::kPython;
    if (source_.is(at + 1, ":") && key) {
      add_number(at + 2);
      if (source_.token(at + 2).word() && source_.is(at + 3, "=")) add_number(at + 4);
    }
    if (token.string()) return;
    if (source_.is(at + 1, "=") || source_.is(at + 1, ":=")) add_number(at + 2);
  }

  // answer(404, ...) where the sources say that it takes a status there.
  void by_taker(uint32_t at) {
    if (!source_.token(at).word() || !(source_.is(at + 1, "(") || source_.is(at + 1, "{"))) return;
    const auto first = takers_.takers.lower_bound({std::string(source_.tokens[at].text), 0});
    if (first == takers_.takers.end() || first->name != source_.tokens[at].text) return;
    const std::vector<Span> arguments = arguments_of(source_, at + 1);
    for (auto taker = first; taker != takers_.takers.end() && taker->name == first->name; ++taker) {
      if (taker->argument < arguments.size() && arguments[taker->argument].size() == 1)
        add_number(arguments[taker->argument].begin);
    }
  }

  // return ..., 404  and  return ..., 404, {...}
  void returned_tuple(uint32_t at) {
    const auto count = static_cast<uint32_t>(source_.tokens.size());
    for (uint32_t i = at + 1; i < count && !source_.tokens[i].first_in_line; ++i) {
      const uint32_t other = source_.partner[i];
      // return (..., 404)
      if (source_.tokens[i].is("(") && i == at + 1 && other < count && ends_line(other + 1)) {
        for (const Span& one : arguments_of(source_, i)) {
          if (one.size() == 1 && one.begin > i + 1) add_number(one.begin);
        }
        return;
      }
      if (other < count && other > i) {
        i = other;
        continue;
      }
      if (source_.tokens[i].is(",") &&
          (ends_line(i + 2) || source_.is(i + 2, ",") || source_.is(i + 2, "if")))
        add_number(i + 1);
    }
  }
  bool ends_line(uint32_t at) const {
    return at >= source_.tokens.size() || source_.tokens[at].first_in_line || source_.is(at, ";");
  }

  // raise NotFound, raise exceptions.ServiceUnavailable("x"), raise web.HTTPNotFound()
  void raised(uint32_t at) {
    uint32_t name = at + 1;
    while (source_.is(name + 1, ".") && source_.token(name + 2).word()) name += 2;
    if (!source_.token(name).word()) return;
    std::string_view text = source_.tokens[name].text;
    const bool http = text.starts_with("HTTP") && text.size() > 4;
    if (!http && source_.text.find("werkzeug") == std::string::npos) return;
    if (http) text.remove_prefix(4);
    if (const uint16_t status = http_status_of(text)) add(name, {false, status});
  }

  // throw new NotFoundException(...) where a framework makes statuses of such
  void thrown(uint32_t at) {
    if (!source_.is(at + 1, "new")) return;
    const Token& token = source_.token(at + 2);
    const bool framework = source_.text.find("@nestjs/common") != std::string::npos ||
                           source_.text.find(".ws.rs") != std::string::npos;
    if (!token.word() || !framework || !token.text.ends_with("Exception")) return;
    const std::string_view name = token.text.substr(0, token.text.size() - 9);
    if (const uint16_t status = http_status_of(name)) add(at + 2, {false, status});
  }

  // return {404, ...} where a structure of the sources begins with a status
  void aggregate(uint32_t at) {
    if (!takers_.aggregates || !source_.is(at, "return") || !source_.is(at + 1, "{")) return;
    if (source_.is(at + 3, ",") || source_.is(at + 3, "}")) add_number(at + 2);
  }

  const Source& source_;
  const StatusTakers& takers_;
  std::vector<Sighting> out_;
};

// The word that an argument or a parameter is called by: `int status`, `status = 200`, `status:
// int`.
std::string_view parameter_name(const Source& source, const Span& span) {
  uint32_t end = span.begin;
  while (end < span.end && !source.tokens[end].is("=") && !source.tokens[end].is(":")) ++end;
  if (end == span.begin || !source.tokens[end - 1].word()) {
    // Go: `code int`
    return "";
  }
  if (source.language == Language::kGo) return source.tokens[span.begin].text;
  return source.tokens[end - 1].text;
}

}  // namespace

void collect_status_takers(const Source& source, StatusTakers* out) {
  const Definition* enclosing = nullptr;
  for (const Definition& one : source.definitions) {
    if (one.is_class) enclosing = &one;
    if (source.language == Language::kCpp && one.is_class) {
      // struct Answer { int status = 200; ...
      const uint32_t end = std::min<uint32_t>(one.body + 6, one.end);
      for (uint32_t i = one.body; i + 1 < end; ++i) {
        const Token& next = source.tokens[i + 1];
        if (!next.is(";") && !next.is("=") && !next.is("{")) continue;
        if (i > one.body && source.tokens[i].word() && names_status(source.tokens[i].text)) {
          out->aggregates = true;
          out->takers.insert({std::string(one.name), 0});
        }
        break;
      }
    }
    if (one.parameters == 0) continue;
    std::string name(one.name);
    const bool inside = enclosing != nullptr && one.begin < enclosing->end;
    if ((name == "constructor" || name == "__init__") && inside) name = enclosing->name;
    uint32_t shift = 0;
    const std::vector<Span> parameters = arguments_of(source, one.parameters - 1);
    if (source.language == Language::kPython && !parameters.empty() &&
        (source.is(parameters[0].begin, "self") || source.is(parameters[0].begin, "cls")))
      shift = 1;
    for (uint32_t i = shift; i < parameters.size(); ++i) {
      if (names_status(parameter_name(source, parameters[i])))
        out->takers.insert({name, i - shift});
    }
  }
}

std::vector<Sighting> find_answers(const Source& source, const StatusTakers& takers) {
  return Finder(source, takers).run();
}

std::vector<uint32_t> find_passed_on(const Source& source, const StatusTakers& takers) {
  std::vector<uint32_t> out;
  const auto member_status = [&](const Span& span) {
    uint32_t end = span.end;
    if (span.size() >= 5 && source.is(end - 1, ")") && source.is(end - 2, "(")) end -= 2;
    if (end < span.begin + 3 || !names_status(source.token(end - 1).text)) return false;
    return source.is(end - 2, ".") || source.is(end - 2, "->");
  };
  constexpr std::array<std::string_view, 10> kAnswering = {
      "abort",     "status",      "sendStatus", "writeHead", "WriteHeader",
      "sendError", "createError", "set_status", "Status",    "send_response"};
  const auto count = static_cast<uint32_t>(source.tokens.size());
  for (uint32_t i = 0; i + 1 < count; ++i) {
    const Token& token = source.tokens[i];
    if (!token.word() || !source.is(i + 1, "(")) continue;
    const std::vector<Span> arguments = arguments_of(source, i + 1);
    const bool known =
        std::find(kAnswering.begin(), kAnswering.end(), token.text) != kAnswering.end();
    for (uint32_t n = 0; n < arguments.size(); ++n) {
      const bool taken = (known && n == 0) || takers.takers.contains({std::string(token.text), n});
      if (taken && member_status(arguments[n])) out.push_back(i);
    }
  }
  return out;
}

std::vector<Framework> find_frameworks(const Source& source) {
  std::vector<Framework> out;
  const auto& rows = compiled(kFrameworks);
  const auto count = static_cast<uint32_t>(source.tokens.size());
  for (uint32_t at = 0; at < count; ++at) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (kFrameworks[i].language != source.language || !source.is(at, rows[i][0])) continue;
      if (!match_from(source, at, rows[i], 0).found) continue;
      const auto same = [&](const Framework& one) { return one.name == kFrameworks[i].name; };
      if (std::any_of(out.begin(), out.end(), same)) continue;
      const Answer& answer = kFrameworks[i].uncaught;
      out.push_back(
          {kFrameworks[i].name, is_error(answer) ? std::optional(answer) : std::nullopt, at});
    }
  }
  return out;
}

}  // namespace filibuster::analysis
