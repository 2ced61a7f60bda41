// What a request of `principled` has besides.
#pragma once

#include "daemon/session/verb.h"

namespace filibuster {

// A method that an OpenAPI document of a service describes: "GET", "/orders/*".
struct PrincipledOperation {
  std::string service, method, path;
};

struct PrincipledRequest final : VerbRequest {
  bool watched = false;     // it runs again whenever a file changes, so the page is read again
  bool keep_going = false;  // all executions, also after the first diagnostic
  std::vector<std::string>
      command;  // of a program in the place of the configuration's tests; empty: there is none
  std::string directory;  // where it runs
  std::vector<PrincipledOperation> operations;
};

const Verb& principled_verb();
std::unique_ptr<Mode> make_principled_mode(const SessionRequest& request);

}  // namespace filibuster
