#include "daemon/verbs/trace/request.h"

namespace filibuster {
namespace {

class TraceVerb final : public Verb {
 public:
  TraceVerb() : Verb("trace", {}) {}

  void read(const nlohmann::json& json, RequestDraft* draft) const override {
    auto own = std::make_shared<TraceRequest>();
    draft->request.watches = json.value("follow", false);
    const std::string name = json.value("representation", "compact");
    if (const auto known = parse_representation(name)) {
      own->representation = *known;
    } else {
      draft->fail("--representation " + name + ": expected debugging, verbose or compact");
    }
    draft->request.own = std::move(own);
  }

  std::unique_ptr<Mode> make(const SessionRequest& request) const override {
    return request.watches ? make_follow_mode(request) : make_trace_mode(request);
  }
};

}  // namespace

const Verb& trace_verb() {
  static const TraceVerb verb;
  return verb;
}

}  // namespace filibuster
