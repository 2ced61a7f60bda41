// Finds the functions that implement methods of gRPC services.
#include <algorithm>

#include "cli/analysis/routes.h"

namespace filibuster::analysis {
namespace {

// "GetCart" and "getCart" are the same: Java and Node begin methods in lower case.
bool same_method(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.empty() || a.substr(1) != b.substr(1)) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return lower(a[0]) == lower(b[0]);
}

std::string cut(std::string_view word, std::string_view begin, std::string_view end) {
  if (!word.starts_with(begin) || !word.ends_with(end) || word.size() <= begin.size() + end.size())
    return "";
  return std::string(word.substr(begin.size(), word.size() - begin.size() - end.size()));
}

}  // namespace

std::string_view short_name(std::string_view service) {
  const size_t dot = service.rfind('.');
  return dot == std::string_view::npos ? service : service.substr(dot + 1);
}

std::set<std::string> implemented_services(const Source& source) {
  std::set<std::string> out;
  const auto add = [&](std::string name) {
    if (!name.empty()) out.insert(std::move(name));
  };
  for (uint32_t i = 0; i < source.tokens.size(); ++i) {
    if (!source.tokens[i].word()) continue;
    const std::string_view word = source.tokens[i].text;
    switch (source.language) {
      case Language::kPython:
        // class Cart(pb2_grpc.CartServiceServicer), add_CartServiceServicer_to_server
        if (source.is(i + 1, ")") || source.is(i + 1, ",")) add(cut(word, "", "Servicer"));
        add(cut(word, "add_", "Servicer_to_server"));
        break;
      case Language::kCpp:
        // class Cart : public shop::CartService::Service {
        if (source.is(i + 1, "::") && i > 0 &&
            (source.is(i + 2, "Service") || source.is(i + 2, "CallbackService") ||
             source.is(i + 2, "AsyncService")) &&
            (source.is(i + 3, "{") || source.is(i + 3, ",")))
          add(std::string(word));
        break;
      case Language::kJava:
        if (i > 0 && (source.is(i - 1, ".") || source.is(i - 1, "extends")))
          add(cut(word, "", "ImplBase"));
        break;
      case Language::kGo:
        add(cut(word, "Register", "Server"));
        if (source.is(i + 1, "}") || source.token(i + 1).first_in_line)
          add(cut(word, "Unimplemented", "Server"));
        break;
      case Language::kJavaScript:
        // server.addService(shop.CartService.service, {...})
        if (word == "service" && i >= 2 && source.is(i - 1, ".") && source.is(i + 1, ",") &&
            source.token(i - 2).word()) {
          const std::string name(source.tokens[i - 2].text);
          add(name.ends_with("Client") ? cut(name, "", "Client") : name);
        }
        break;
      case Language::kNone:
        break;
    }
  }
  return out;
}

std::vector<Route> find_grpc_handlers(const Source& source, const std::set<std::string>& services,
                                      const std::vector<GrpcMethod>& methods) {
  std::vector<Route> out;
  // For Python without .proto files: the service that a class serves, by the servicer among its bases.
  const auto servicer_around = [&](const Definition& one) -> std::string {
    const Definition* holder =
        source.around(one.begin, [&](const Definition& c) { return c.is_class && &c != &one; });
    if (holder == nullptr || holder->parameters == 0) return "";
    for (uint32_t i = holder->parameters; i < holder->parameters_end; ++i) {
      std::string name = cut(source.tokens[i].text, "", "Servicer");
      if (!name.empty()) return name;
    }
    return "";
  };
  for (const Definition& one : source.definitions) {
    if (one.is_class) continue;
    Route route;
    for (const GrpcMethod& method : methods) {
      if (services.contains(std::string(short_name(method.package_service))) &&
          same_method(one.name, method.method))
        route.endpoints.push_back({"", "", method.package_service + "/" + method.method});
    }
    const bool upper = !one.name.empty() && one.name[0] >= 'A' && one.name[0] <= 'Z';
    if (route.endpoints.empty() && methods.empty() && source.language == Language::kPython &&
        upper) {
      if (const std::string service = servicer_around(one); !service.empty())
        route.endpoints.push_back({"", "", service + "/" + std::string(one.name)});
    }
    if (route.endpoints.empty()) continue;
    route.begin = one.begin;
    route.end = one.end;
    out.push_back(std::move(route));
  }
  return out;
}

}  // namespace filibuster::analysis
