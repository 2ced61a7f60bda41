// Call sites whose innermost frame is a helper of the application: each of its callers is a call site of its own, if their calls
// ask for something else. Pure.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/model/execution_record.h"

namespace filibuster::retries {

// What a call asks for, without its values: the service, the method and the path, the names of the parameters of its query,
// and those of the fields of its body, with the values of those that say which operation it is (`Action`, `operationName`).
std::string kind_of(const RpcRecord& rpc);

// The calls of a whole suite, by the frames that led to them.
class Callers {
 public:
  // `frames`: of the application, innermost first.
  void add(const std::vector<std::string>& frames, const std::string& kind);
  // The name of the call site: the innermost frame. Where callers differ, each goes before it:
  // "store.py:20 (add) via store.py:12 (_set)".
  std::string site_of(const std::vector<std::string>& frames) const;

 private:
  struct Node {
    std::set<std::string> kinds;
    std::map<std::string, std::unique_ptr<Node>> callers;  // "": the application's frames end here
    bool callers_differ() const;
  };
  std::map<std::string, Node> innermost_;
};

}  // namespace filibuster::retries
