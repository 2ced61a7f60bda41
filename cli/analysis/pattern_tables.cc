#include "cli/analysis/pattern_tables.h"

#include "cli/analysis/choices.h"

namespace filibuster::analysis {
namespace {

constexpr Pattern kPatterns[] = {
    {Language::kPython, "Flask", "abort ( $S"},
    {Language::kPython, "Flask", "make_response ( ... , $S"},
    {Language::kPython, "Flask", "Response ( ... , $S"},
    {Language::kPython, "FastAPI", "HTTPException ( $S"},
    {Language::kPython, "FastAPI", "JSONResponse ( ... , $S"},
    {Language::kPython, "FastAPI", "PlainTextResponse ( ... , $S"},
    {Language::kPython, "FastAPI", "HTMLResponse ( ... , $S"},
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

}  // namespace

std::span<const Pattern> answer_patterns() {
  return kPatterns;
}
std::span<const FrameworkRow> framework_rows() {
  return kFrameworks;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t blank = text.find(' ');
    out.push_back(text.substr(0, blank));
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  return out;
}

Match match_pattern(const Source& source, uint32_t at, std::span<const std::string_view> words) {
  const auto count = static_cast<uint32_t>(source.tokens.size());
  Match match{true, {}, 0, at};
  for (size_t word = 0; word < words.size(); ++word) {
    const std::string_view wanted = words[word];
    if (wanted == "...") {
      constexpr uint32_t kMaxBetween = 200;  // tokens
      for (uint32_t i = at; i < count && i - at < kMaxBetween; ++i) {
        if (const Match rest = match_pattern(source, i, words.subspan(word + 1)); rest.found)
          return rest;
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
      const Span expression = expression_at(source, at);
      match.statuses = own_statuses(source, expression);
      if (match.statuses.empty()) return {};
      at = expression.end;
      continue;
    } else if (wanted == "$N") {
      match.named = token.word() ? http_status_of(token.text) : 0;
      if (match.named == 0) return {};
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

}  // namespace filibuster::analysis
