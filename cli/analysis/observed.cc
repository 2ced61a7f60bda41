#include "cli/analysis/observed.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/fault/fault.h"
#include "core/text/glob.h"

namespace filibuster::analysis {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;  // of the report.json that can be read

std::string text(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// The elements of a list that are objects; none if it is not there.
std::vector<Json> rows(const Json& object, const char* name) {
  std::vector<Json> out;
  const auto at = object.find(name);
  if (at == object.end() || !at->is_array()) return out;
  std::copy_if(at->begin(), at->end(), std::back_inserter(out),
               [](const Json& one) { return one.is_object(); });
  return out;
}

std::string call_text(const Json& row) {
  const std::string grpc = text(row, "grpc");
  return grpc.empty() ? text(row, "method") + " " + text(row, "path") : grpc;
}

// " when bookings GET /bookings/x had the fault timeout, and movies GET /movies/1 ended with 503"
std::string circumstances(const std::vector<Json>& under) {
  std::string out;
  for (const Json& call : under) {
    const auto injected = call.find("injected");
    const bool fault = injected != call.end() && injected->is_boolean() && injected->get<bool>();
    out += (out.empty() ? " when " : ", and ") + text(call, "service") + " " +
           text(call, "method") + " " + text(call, "path") +
           (fault ? " had the fault " : " ended with ") + text(call, "what");
  }
  return out;
}

class Report {
 public:
  explicit Report(const std::string& file) : file_(file) {}

  Observations run(const Json& report) {
    for (const Json& test : rows(report, "tests")) {
      for (const Json& rpc : rows(test, "reference")) reference(rpc);
      for (const Json& answer : rows(test, "observed")) observed(answer, text(test, "test"));
      const auto counts = test.find("counts");
      if (counts != test.end() && counts->is_object()) {
        const auto executed = counts->find("executed");
        if (executed != counts->end() && executed->is_number_unsigned() && *executed > 1u)
          out_.explored = true;
      }
    }
    return std::move(out_);
  }

 private:
  void reference(const Json& rpc) {
    const std::string caller = text(rpc, "caller"), service = text(rpc, "service");
    if (service.empty()) return;
    if (!caller.empty()) out_.asks[caller].insert(service);
    if (text(rpc, "protocol") == "redis") return;
    (text(rpc, "grpc").empty() ? out_.speaks_http : out_.speaks_grpc).insert(service);
  }

  void observed(const Json& row, const std::string& test) {
    const std::string service = text(row, "service");
    const Result<FaultSpec> fault = parse_fault(text(row, "answer"));
    if (service.empty() || !fault) return;
    Evidence one;
    const bool grpc = fault->kind == FaultKind::kGrpc;
    if (!grpc && fault->kind != FaultKind::kStatus) return;
    one.answer =
        grpc ? Answer{true, static_cast<uint16_t>(fault->code)} : Answer{false, fault->status};
    const std::string method = text(row, "grpc");
    if (grpc && method.empty()) return;
    one.endpoints.push_back(grpc ? Endpoint{"", "", method}
                                 : Endpoint{text(row, "method"), text(row, "path"), ""});
    const std::vector<Json> under = rows(row, "under");
    one.text = file_ + ": " + call_text(row) + " was answered so" + circumstances(under) +
               " (test '" + test + "')";
    for (const Json& call : under) {
      if (!text(call, "service").empty()) out_.asks[service].insert(text(call, "service"));
    }
    out_.answers[service].push_back(std::move(one));
  }

  const std::string& file_;
  Observations out_;
};

}  // namespace

Result<Observations> read_report(const std::string& file, const std::string& content) {
  const Json report = Json::parse(content, nullptr, false);
  const auto version = report.is_object() ? report.find("version") : report.end();
  if (!report.is_object() || version == report.end() || !report.contains("tests"))
    return Error{file + ": not a report; expected the report.json that a run wrote"};
  if (*version != kVersion) {
    return Error{file + ": a report of version " + version->dump() + ", this program reads " +
                 std::to_string(kVersion)};
  }
  return Report(file).run(report);
}

void find_endpoints(const std::vector<Endpoint>& endpoints, std::vector<Evidence>* evidence) {
  for (Evidence& one : *evidence) {
    for (Endpoint& at : one.endpoints) {
      if (!at.grpc.empty()) continue;
      const Endpoint* found = nullptr;
      for (const Endpoint& served : endpoints) {
        const bool method = served.method.empty() || served.method == at.method;
        if (!served.grpc.empty() || !method || served.path.empty() ||
            !glob_match(served.path, at.path))
          continue;
        const auto said = [](const Endpoint& e) {
          return e.path.size() -
                 2 * static_cast<size_t>(std::count(e.path.begin(), e.path.end(), '*'));
        };
        if (found == nullptr || said(served) > said(*found)) found = &served;
      }
      at = found != nullptr ? *found : Endpoint{};
    }
    std::erase_if(one.endpoints, [](const Endpoint& e) { return e.any(); });
  }
}

// Tarjan's algorithm yields the strongly connected components in this order.
LeavesFirst leaves_first(const std::vector<std::string>& names,
                         const std::map<std::string, std::set<std::string>>& asks) {
  struct Node {
    size_t index = 0, low = 0;
    bool on_stack = false;
  };
  LeavesFirst out;
  std::map<std::string, Node> nodes;
  std::vector<std::string> stack;
  size_t next = 1;
  const auto place = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  const std::function<void(const std::string&)> visit = [&](const std::string& name) {
    Node& node = nodes[name];  // stays valid when others are added
    node.index = node.low = next++;
    node.on_stack = true;
    stack.push_back(name);
    if (const auto edges = asks.find(name); edges != asks.end()) {
      for (const std::string& other : edges->second) {
        if (static_cast<size_t>(place(other)) == names.size()) continue;
        const Node& seen = nodes[other];
        if (seen.index == 0) {
          visit(other);
          node.low = std::min(node.low, seen.low);
        } else if (seen.on_stack) {
          node.low = std::min(node.low, seen.index);
        }
      }
    }
    if (node.low != node.index) return;
    std::vector<std::string> together;
    do {
      together.push_back(stack.back());
      nodes[stack.back()].on_stack = false;
      stack.pop_back();
    } while (together.back() != name);
    std::sort(together.begin(), together.end(),
              [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
    out.order.insert(out.order.end(), together.begin(), together.end());
    const auto self = asks.find(name);
    if (together.size() > 1 || (self != asks.end() && self->second.contains(name)))
      out.circles.push_back(std::move(together));
  };
  for (const std::string& name : names) {
    if (nodes[name].index == 0) visit(name);
  }
  return out;
}

}  // namespace filibuster::analysis
