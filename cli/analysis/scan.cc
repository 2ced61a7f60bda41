#include "cli/analysis/scan.h"

#include <algorithm>
#include <map>

#include "cli/analysis/reach.h"

namespace filibuster::analysis {
namespace {

std::string described(const Source& source, uint32_t token) {
  const Token& place = source.token(token);
  return to_text(Place{source.path, place.line}) + ": " + source.line_text(place);
}

class Scanner {
 public:
  Scanner(const ServiceSources& sources, const std::vector<GrpcMethod>& methods)
      : sources_(sources), methods_(methods), reach_(sources) {}

  Scan run() {
    StatusTakers takers;
    for (const auto& file : sources_.files) {
      collect_status_takers(*file, &takers);
      implemented_.merge(implemented_services(*file));
    }
    for (size_t i = 0; i < sources_.files.size(); ++i) collect_routes(i);
    name_handlers();
    for (size_t i = 0; i < sources_.files.size(); ++i) {
      frameworks(i);
      answers(i, takers);
    }
    out_.services.assign(implemented_.begin(), implemented_.end());
    for (const std::vector<Route>& routes : routes_) {
      for (const Route& route : routes) {
        for (const Endpoint& one : route.endpoints) {
          if (std::find(out_.endpoints.begin(), out_.endpoints.end(), one) == out_.endpoints.end())
            out_.endpoints.push_back(one);
        }
      }
    }
    return std::move(out_);
  }

 private:
  void collect_routes(size_t file) {
    std::vector<Route> routes;
    for (Route& route : find_routes(*sources_.files[file])) {
      if (route.begin == route.end || reach_.contains(file, route.begin)) routes.push_back(route);
    }
    for (Route& route : find_grpc_handlers(*sources_.files[file], implemented_, methods_))
      routes.push_back(std::move(route));
    routes_.push_back(std::move(routes));
  }

  // app.get("/x", handler): the function of that name, wherever it stands, serves the route.
  void name_handlers() {
    std::multimap<std::string_view, std::vector<Endpoint>> named;
    for (const std::vector<Route>& routes : routes_) {
      for (const Route& route : routes) {
        if (!route.handler.empty()) named.emplace(route.handler, route.endpoints);
      }
    }
    for (size_t i = 0; i < sources_.files.size(); ++i) {
      for (const Definition& one : sources_.files[i]->definitions) {
        if (one.is_class) continue;
        Route route;
        const auto [first, last] = named.equal_range(one.name);
        for (auto at = first; at != last; ++at)
          route.endpoints.insert(route.endpoints.end(), at->second.begin(), at->second.end());
        if (route.endpoints.empty()) continue;
        route.begin = one.begin;
        route.end = one.end;
        routes_[i].push_back(std::move(route));
      }
    }
  }

  void frameworks(size_t file) {
    const Source& source = *sources_.files[file];
    for (const Framework& one : find_frameworks(source)) {
      if (!reach_.contains(file, one.token)) continue;
      const std::string name(one.name);
      (name == "gRPC" ? out_.serves_grpc : out_.serves_http) = true;
      const auto known = [&](const std::string& text) { return text.starts_with(name + " ("); };
      if (std::any_of(out_.frameworks.begin(), out_.frameworks.end(), known)) continue;
      out_.frameworks.push_back(name + " (" + to_text({source.path, source.token(one.token).line}) +
                                ")");
      if (one.uncaught) {
        out_.evidence.push_back(
            {*one.uncaught,
             {},
             described(source, one.token) + " (" + name + ", where an exception is not caught)"});
      }
    }
  }

  void answers(size_t file, const StatusTakers& takers) {
    const Source& source = *sources_.files[file];
    for (const Sighting& one : find_answers(source, takers)) {
      if (!reach_.contains(file, one.token)) continue;
      if (one.answer.grpc) out_.serves_grpc = true;
      out_.evidence.push_back({one.answer, endpoints_of(file, one), described(source, one.token)});
    }
    for (uint32_t token : find_passed_on(source, takers)) {
      if (reach_.contains(file, token)) out_.passed_on.push_back(described(source, token));
    }
  }

  // The endpoints of the innermost route around the sighting, as far as they have its protocol; empty if
  // there is no route, or if it takes any request.
  std::vector<Endpoint> endpoints_of(size_t file, const Sighting& sighting) const {
    const Route* found = nullptr;
    for (const Route& route : routes_[file]) {
      if (sighting.token < route.begin || sighting.token >= route.end) continue;
      if (found == nullptr || route.begin >= found->begin) found = &route;
    }
    if (found == nullptr) return {};
    std::vector<Endpoint> out;
    for (const Endpoint& one : found->endpoints) {
      if (one.any()) return {};
      if (one.grpc.empty() != sighting.answer.grpc) out.push_back(one);
    }
    return out;
  }

  const ServiceSources& sources_;
  const std::vector<GrpcMethod>& methods_;
  Reach reach_;
  std::set<std::string> implemented_;
  std::vector<std::vector<Route>> routes_;  // of each file
  Scan out_;
};

}  // namespace

std::string to_text(const Place& place) {
  return place.file + ":" + std::to_string(place.line);
}

Scan scan_service(const ServiceSources& sources, const std::vector<GrpcMethod>& methods) {
  return Scanner(sources, methods).run();
}

}  // namespace filibuster::analysis
