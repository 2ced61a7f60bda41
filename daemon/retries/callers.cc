#include "daemon/retries/callers.h"

#include <algorithm>
#include <string_view>

#include "core/index/execution_index.h"
#include "daemon/model/call_name.h"
#include "daemon/retries/effects.h"
#include "daemon/retries/groups.h"

namespace filibuster::retries {
namespace {

// Fields and parameters whose value says which operation a request is: AWS' query protocol, Azure Storage, GraphQL, JSON-RPC.
constexpr std::string_view kOperations[] = {"Action",         "comp",    "restype",
                                            "/operationName", "/method", "/query"};

bool is_operation(std::string_view name) {
  return std::find(std::begin(kOperations), std::end(kOperations), name) != std::end(kOperations);
}

// "/items/0/id" is in "/items".
std::string_view outermost_name(std::string_view path) {
  return path.starts_with('/') ? path.substr(0, path.find('/', 1)) : path;
}

void add_query(std::string_view query, std::set<std::string>* names) {
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    const std::string_view name = one.substr(0, one.find('='));
    names->insert(std::string(is_operation(name) ? one : name));
  }
}

// How many frames outwards callers are told apart.
constexpr size_t kMostFrames = 16;

}  // namespace

std::string kind_of(const RpcRecord& rpc) {
  std::string out = rpc.service + " " + name_of_call(rpc);
  std::set<std::string> names;
  if (rpc.protocol() == Protocol::kHttp) add_query(split_target(rpc.target).query, &names);
  for (const auto& [path, value] : rpc.request_fields.leaves) {
    std::string name(outermost_name(path));
    if (is_operation(path)) name += "=" + std::to_string(value);
    names.insert("{" + name);
  }
  for (const std::string& name : names) out += " " + name;
  return out;
}

bool Callers::Node::callers_differ() const {
  return std::any_of(callers.begin(), callers.end(), [this](const auto& caller) {
    return caller.second->kinds != callers.begin()->second->kinds;
  });
}

void Callers::add(const std::vector<std::string>& frames, const std::string& kind) {
  if (frames.empty()) return;
  Node* node = &innermost_[without_async(frames.front())];
  node->kinds.insert(kind);
  for (size_t i = 1; i <= std::min(frames.size(), kMostFrames); ++i) {
    auto& caller = node->callers[i < frames.size() ? without_async(frames[i]) : ""];
    if (!caller) caller = std::make_unique<Node>();
    node = caller.get();
    node->kinds.insert(kind);
  }
}

std::string Callers::site_of(const std::vector<std::string>& frames) const {
  if (frames.empty()) return "";
  std::string out = without_async(frames.front());
  const auto known = innermost_.find(out);
  const Node* node = known == innermost_.end() ? nullptr : &known->second;
  for (size_t i = 1; node != nullptr && i < frames.size(); ++i) {
    const bool differ = node->callers_differ();
    if (!differ && node->callers.size() > 1) break;
    const std::string caller = without_async(frames[i]);
    if (differ) out = caller + " via " + out;
    const auto next = node->callers.find(caller);
    node = next == node->callers.end() ? nullptr : next->second.get();
  }
  return out;
}

}  // namespace filibuster::retries
