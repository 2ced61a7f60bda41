// A verb of the command, as its daemon knows it: what its request has besides, what of a session it needs, and the mode that does its
// work. Each verb is a folder of daemon/verbs (CONTRIBUTING.md, 'Add a verb'); a session and the API know no verb by name.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/session/mode.h"
#include "daemon/session/request.h"

namespace filibuster {

// A request that is being read (POST /v1/sessions).
struct RequestDraft {
  SessionRequest request;
  std::vector<ConfigError> errors;  // empty: valid
  // The configuration as it is given, and the names of the tests that are asked for.
  std::string path, text, directory;
  std::vector<std::string> tests;

  void fail(const std::string& message) { errors.push_back({"", 0, 0, message}); }
};

class Verb {
 public:
  constexpr Verb(std::string_view name, VerbNeeds needs) : name_(name), needs_(needs) {}
  virtual ~Verb() = default;
  std::string_view name() const { return name_; }  // "mode" of the request
  const VerbNeeds& needs() const { return needs_; }

  // Before the configuration is read: the verb may say which one. Where it fails, nothing else is read.
  virtual void begin(const nlohmann::json&, RequestDraft*) const {}
  // After it, and before options of the command line change it.
  virtual void configure(RequestDraft*) const {}
  // At last: what the request has for this verb alone.
  virtual void read(const nlohmann::json&, RequestDraft*) const {}
  // `request` outlives the mode.
  virtual std::unique_ptr<Mode> make(const SessionRequest& request) const = 0;

 private:
  std::string_view name_;
  VerbNeeds needs_;
};

}  // namespace filibuster
