#include "cli/analysis/routes.h"

#include <algorithm>
#include <array>
#include <optional>

namespace filibuster::analysis {
namespace {

struct Verb {
  std::string_view name, method;
};
constexpr Verb kVerbs[] = {
    {"get", "GET"},
    {"post", "POST"},
    {"put", "PUT"},
    {"delete", "DELETE"},
    {"patch", "PATCH"},
    {"head", "HEAD"},
    {"options", "OPTIONS"},
    {"Get", "GET"},
    {"Post", "POST"},
    {"Put", "PUT"},
    {"Delete", "DELETE"},
    {"Patch", "PATCH"},
    {"GET", "GET"},
    {"POST", "POST"},
    {"PUT", "PUT"},
    {"DELETE", "DELETE"},
    {"PATCH", "PATCH"},
    {"GetMapping", "GET"},
    {"PostMapping", "POST"},
    {"PutMapping", "PUT"},
    {"DeleteMapping", "DELETE"},
    {"PatchMapping", "PATCH"},
    {"add_get", "GET"},
    {"add_post", "POST"},
    {"add_put", "PUT"},
    {"add_delete", "DELETE"},
    {"add_patch", "PATCH"},
};
// The HTTP method for which `word` declares a route; "" if it takes all methods, nullopt if the word
// declares no route.
std::optional<std::string> method_of(std::string_view word) {
  for (const Verb& row : kVerbs) {
    if (word == row.name) return std::string(row.method);
  }
  constexpr std::array<std::string_view, 11> kAny = {
      "route",        "all",        "any",    "Any",         "api_route",
      "add_url_rule", "HandleFunc", "Handle", "HandlerFunc", "RequestMapping",
      "createContext"};
  if (std::find(kAny.begin(), kAny.end(), word) != kAny.end()) return "";
  return std::nullopt;
}

std::string joined(std::string_view prefix, std::string_view path) {
  std::string out(prefix);
  while (out.ends_with('/')) out.pop_back();
  if (!path.empty() && !path.starts_with('/') && !path.starts_with('*')) out += '/';
  out += path;
  return out;
}

class Routes {
 public:
  explicit Routes(const Source& source)
      : source_(source), count_(static_cast<uint32_t>(source.tokens.size())) {}

  std::vector<Route> run() {
    for (uint32_t i = 0; i < count_; ++i) {
      if (!source_.tokens[i].word()) continue;
      if (source_.is(i + 1, "(")) called(i);
    }
    for (const Definition& one : source_.definitions) {
      if (one.decorated && !one.is_class) decorated(one);
    }
    return std::move(out_);
  }

 private:
  bool closed(uint32_t open) const {
    return source_.partner[open] < count_ && source_.partner[open] > open;
  }

  std::string text_of(const Span& span) const {
    for (uint32_t i = span.begin; i < span.end; ++i) {
      if (source_.tokens[i].string()) return std::string(source_.tokens[i].text);
    }
    return "";
  }

  // The prefix of the paths of `owner` ("bp" in @bp.get): "" for an application. For a part of one (a
  // blueprint, a router) it is '*' and the prefix given where the part is made, since the code that
  // mounts the part decides about the rest.
  std::string prefix_of(std::string_view owner) const {
    for (uint32_t i = 0; i + 2 < count_; ++i) {
      if (!source_.is(i, owner) || !(source_.is(i + 1, "=") || source_.is(i + 1, ":="))) continue;
      uint32_t call = i + 2;
      while (call < count_ && !source_.is(call, "(") && call - i < 12 &&
             !source_.tokens[call].first_in_line)
        ++call;
      if (!source_.is(call, "(")) continue;
      const std::string_view made = source_.tokens[call - 1].text;
      constexpr std::array<std::string_view, 4> kPart = {"Blueprint", "APIRouter", "Router",
                                                         "Group"};
      if (std::find(kPart.begin(), kPart.end(), made) == kPart.end()) return "";
      for (const Span& one : arguments_of(source_, call)) {
        if (source_.is(one.begin, "url_prefix") || source_.is(one.begin, "prefix"))
          return "*" + text_of(one);  // the part may be mounted below another path
      }
      return "*";
    }
    return owner == "router" || owner == "bp" || owner == "blueprint" ? "*" : "";
  }

  // app.get('/path', ...), http.HandleFunc("/path", ...), server.Get("/path", [..](..) {..})
  void called(uint32_t at) {
    const std::string_view word = source_.tokens[at].text;
    if (word == "CROW_ROUTE") return crow(at);
    if (at < 2 || !(source_.is(at - 1, ".") || source_.is(at - 1, "->")) || !closed(at + 1)) return;
    if (in_decorator(at)) return;
    const auto method = method_of(word);
    if (!method) return;
    const std::vector<Span> arguments = arguments_of(source_, at + 1);
    if (arguments.size() < 2 || !source_.token(arguments[0].begin).string()) return;
    std::string path(source_.token(arguments[0].begin).text);
    Endpoint endpoint;
    endpoint.method = *method;
    if (const size_t blank = path.find(' '); blank != std::string::npos) {  // Go: "GET /users/{id}"
      endpoint.method = path.substr(0, blank);
      path.erase(0, blank + 1);
    }
    const Span& last = arguments.back();
    const bool function = serves(last);
    const std::string_view handler = handler_name(last);
    if (!function && handler.empty()) return;
    if (!path.starts_with('/') && path != ".*") return;
    const bool prefixes =
        word == "createContext" || (source_.language == Language::kGo && path.ends_with('/') &&
                                    (word == "Handle" || word == "HandleFunc"));
    endpoint.path =
        path_pattern(joined(prefix_of(source_.tokens[at - 2].text), path) + (prefixes ? "*" : ""));
    Route route;
    route.endpoints.push_back(std::move(endpoint));
    if (function) {
      route.begin = at;
      route.end = source_.partner[at + 1];
    }
    route.handler = handler;
    out_.push_back(std::move(route));
  }

  // True if the argument is a function with its body, and not the name of one.
  bool serves(const Span& span) const {
    for (uint32_t i = span.begin; i < span.end; ++i) {
      if (source_.is(i, "=>") || source_.is(i, "function") || source_.is(i, "func")) return true;
      if (source_.language == Language::kJava && source_.is(i, "->")) return true;
      if (source_.language == Language::kCpp && source_.is(i, "[")) return true;
    }
    return false;
  }
  // The last word of `handlers.get_user`, `s.handle`, `view_func=index`.
  std::string_view handler_name(const Span& span) const {
    uint32_t begin = span.begin;
    if (source_.is(begin + 1, "=")) begin += 2;
    if (begin >= span.end) return "";
    for (uint32_t i = begin; i < span.end; ++i) {
      const bool link = source_.is(i, ".") || source_.is(i, "::") || source_.is(i, "&");
      if (!source_.tokens[i].word() && !link) return "";
    }
    return source_.token(span.end - 1).word() ? source_.tokens[span.end - 1].text : "";
  }

  bool in_decorator(uint32_t at) const {
    for (uint32_t i = at; i > 0 && at - i < 8; --i) {
      if (source_.is(i - 1, "@")) return true;
      if (!source_.tokens[i - 1].word() && !source_.is(i - 1, ".")) return false;
    }
    return false;
  }

  // CROW_ROUTE(app, "/x")([](...) {...});
  void crow(uint32_t at) {
    if (!closed(at + 1)) return;
    const uint32_t second = source_.partner[at + 1] + 1;
    const std::vector<Span> arguments = arguments_of(source_, at + 1);
    if (arguments.size() < 2 || !source_.is(second, "(") || !closed(second)) return;
    Route route;
    route.endpoints.push_back({"", path_pattern(text_of(arguments[1])), ""});
    route.begin = second;
    route.end = source_.partner[second];
    out_.push_back(std::move(route));
  }

  // The decorators and annotations of one definition that name a path.
  struct Named {
    std::string method;
    std::vector<std::string> methods, paths;
    std::string owner;
  };
  std::vector<Named> named(const Definition& definition) const {
    std::vector<Named> out;
    for (uint32_t i = definition.begin; i < definition.body && i < count_; ++i) {
      if (!source_.is(i, "@")) continue;
      uint32_t word = i + 1;
      while (source_.is(word + 1, ".") && source_.token(word + 2).word()) word += 2;
      if (!source_.token(word).word()) continue;
      const std::string_view name = source_.tokens[word].text;
      auto method = method_of(name);
      if (name == "Path" || name == "Controller") method = "";
      if (!method) continue;
      Named one;
      one.method = *method;
      if (word > i + 1) one.owner = source_.tokens[word - 2].text;
      if (source_.is(word + 1, "(") && closed(word + 1)) read_arguments(word + 1, &one);
      out.push_back(std::move(one));
    }
    return out;
  }
  void read_arguments(uint32_t open, Named* out) const {
    const std::vector<Span> arguments = arguments_of(source_, open);
    for (const Span& one : arguments) {
      const bool keyword = source_.token(one.begin).word() && source_.is(one.begin + 1, "=");
      const std::string_view key = keyword ? source_.tokens[one.begin].text : "";
      for (uint32_t i = one.begin; i < one.end; ++i) {
        const Token& token = source_.tokens[i];
        if (key == "methods" && token.string()) out->methods.emplace_back(token.text);
        if (key == "method" && token.word() && i > one.begin && method_of(token.text) &&
            token.text != key)
          out->methods.emplace_back(token.text);
        const bool path = !keyword || key == "value" || key == "path" || key == "rule";
        if (path && token.string()) out->paths.emplace_back(token.text);
      }
    }
  }

  void decorated(const Definition& definition) {
    std::vector<std::string> prefixes{""};
    const Definition* holder = source_.around(definition.begin, [&](const Definition& one) {
      return one.is_class && &one != &definition;
    });
    if (holder != nullptr && holder->decorated) {
      for (const Named& one : named(*holder)) {
        if (!one.paths.empty()) prefixes = one.paths;
      }
    }
    Route route;
    std::string jax_path, jax_method;  // @GET @Path("/x")
    for (const Named& one : named(definition)) {
      const bool python = source_.language == Language::kPython;
      std::vector<std::string> methods = one.methods;
      if (methods.empty()) {
        // A Flask route without methods answers GET.
        methods.push_back(one.method.empty() && python && one.owner != "" ? "GET" : one.method);
      }
      std::vector<std::string> paths = one.paths;
      if (paths.empty()) paths.emplace_back();
      const std::string owner = python ? prefix_of(one.owner) : "";
      for (const std::string& prefix : prefixes) {
        for (const std::string& path : paths) {
          for (const std::string& method : methods)
            route.endpoints.push_back({method, path_pattern(joined(owner + prefix, path)), ""});
        }
      }
    }
    if (route.endpoints.empty()) return;
    merge_annotations(&route);
    route.begin = definition.begin;
    route.end = definition.end;
    out_.push_back(std::move(route));
  }

  // JAX-RS has the method and the path in two annotations.
  void merge_annotations(Route* route) const {
    if (source_.language != Language::kJava || route->endpoints.size() != 2) return;
    Endpoint& a = route->endpoints[0];
    Endpoint& b = route->endpoints[1];
    if (a.method.empty() == b.method.empty()) return;
    Endpoint one{a.method + b.method, a.path.size() > b.path.size() ? a.path : b.path, ""};
    route->endpoints = {one};
  }

  const Source& source_;
  uint32_t count_;
  std::vector<Route> out_;
};

}  // namespace

std::string path_pattern(std::string_view path) {
  std::string out;
  const auto star = [&] {
    if (!out.ends_with('*')) out += '*';
  };
  for (size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    const auto skip_to = [&](char open, char close) {
      int depth = 0;
      for (; i < path.size(); ++i) {
        if (path[i] == open) ++depth;
        if (path[i] == close && --depth == 0) return;
      }
    };
    if (c == '<') {
      skip_to('<', '>');
      star();
    } else if (c == '{') {
      skip_to('{', '}');
      star();
    } else if (c == '(') {
      skip_to('(', ')');
      star();
    } else if (c == '[') {
      skip_to('[', ']');
      star();
    } else if (c == ':' && out.ends_with('/')) {
      while (i + 1 < path.size() && path[i + 1] != '/' && path[i + 1] != '.' && path[i + 1] != '-')
        ++i;
      star();
    } else if (c == '\\' && i + 1 < path.size()) {
      ++i;
      if (path[i] == 'd' || path[i] == 'w' || path[i] == 'S') {
        star();
      } else {
        out += path[i];
      }
    } else if (c == '.' && i + 1 < path.size() && (path[i + 1] == '*' || path[i + 1] == '+')) {
      ++i;
      star();
    } else if (c == '*') {
      star();
    } else if ((c == '+' || c == '?') && out.ends_with('*')) {
      // repeats something that is a '*' already
    } else if (c == '?') {
      break;  // a query is no part of the path
    } else if (c != '^' && c != '$') {
      out += c;
    }
  }
  return out == "*" || out == "/*" ? "" : out;
}

std::vector<Route> find_routes(const Source& source) {
  return Routes(source).run();
}

}  // namespace filibuster::analysis
