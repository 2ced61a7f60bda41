#include "cli/analysis/proposal.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/fault/fault.h"
#include "core/text/glob.h"

namespace filibuster::analysis {
namespace {

struct Texts {
  std::vector<std::string> list;  // in the order in which they came
  std::set<std::string> known;
};
using Answers = std::map<Answer, Texts>;  // each answer with its evidence

void add(Answers* answers, const Answer& answer, const std::string& text) {
  Texts& texts = (*answers)[answer];
  if (texts.known.insert(text).second) texts.list.push_back(text);
}

// The order of the rules: the endpoint whose path is more specific comes first.
bool more_specific(const Endpoint& a, const Endpoint& b) {
  const auto said = [](const std::string& pattern) {
    return static_cast<long>(pattern.size()) -
           2 * static_cast<long>(std::count(pattern.begin(), pattern.end(), '*'));
  };
  const std::string& left = a.grpc.empty() ? a.path : a.grpc;
  const std::string& right = b.grpc.empty() ? b.path : b.grpc;
  if (said(left) != said(right)) return said(left) > said(right);
  if (a.method.empty() != b.method.empty()) return !a.method.empty();
  return a < b;
}

// Would a rule for `rule` take requests of `other`?
bool covers(const Endpoint& rule, const Endpoint& other) {
  if (rule.grpc.empty() != other.grpc.empty()) return false;
  if (!rule.method.empty() && !other.method.empty() && rule.method != other.method) return false;
  std::string sample = other.grpc.empty() ? other.path : other.grpc;
  std::replace(sample.begin(), sample.end(), '*', 'x');
  const std::string& pattern = rule.grpc.empty() ? rule.path : rule.grpc;
  return pattern.empty() || glob_match(pattern, sample);
}

class ServiceRules {
 public:
  ServiceRules(const ServiceFacts& facts, bool grpc) : facts_(facts), grpc_(grpc) {
    for (const Evidence& one : facts.evidence) {
      if (one.answer.grpc != grpc) continue;
      add(&all_, one.answer, one.text);
      if (one.endpoints.empty()) add(&everywhere_, one.answer, one.text);
      for (const Endpoint& endpoint : one.endpoints) add(&own_[endpoint], one.answer, one.text);
    }
  }

  std::vector<ProposedRule> run(bool other_protocol) const {
    std::vector<ProposedRule> out;
    for (const Endpoint& endpoint : endpoints())
      out.push_back(rule(endpoint, answers_of(endpoint)));
    // A request to none of these endpoints gets all answers: the sources may write its path differently.
    Endpoint rest;
    if (grpc_ && other_protocol) rest.grpc = "*";
    out.push_back(rule(rest, all_));
    return out;
  }

 private:
  Answers answers_of(const Endpoint& endpoint) const {
    Answers out = everywhere_;
    if (const auto own = own_.find(endpoint); own != own_.end()) {
      for (const auto& [answer, texts] : own->second) {
        for (const std::string& text : texts.list) add(&out, answer, text);
      }
    }
    return out;
  }

  // The endpoints that need a rule of their own: those with fewer answers than all of the service, and
  // those that the rule of such an endpoint would match.
  std::vector<Endpoint> endpoints() const {
    std::set<Endpoint> known;
    for (const auto& [endpoint, answers] : own_) known.insert(endpoint);
    for (const Endpoint& one : facts_.endpoints) {
      if (one.grpc.empty() != grpc_ && !one.any()) known.insert(one);
    }
    std::vector<Endpoint> out;
    for (const Endpoint& one : known) {
      if (answers_of(one).size() < all_.size() || covered(known, one)) out.push_back(one);
    }
    std::sort(out.begin(), out.end(), more_specific);
    return out;
  }
  // True if the rule of another endpoint, with fewer answers, would match `endpoint`.
  bool covered(const std::set<Endpoint>& known, const Endpoint& endpoint) const {
    return std::any_of(known.begin(), known.end(), [&](const Endpoint& other) {
      return other != endpoint && covers(other, endpoint) && answers_of(other).size() < all_.size();
    });
  }

  ProposedRule rule(const Endpoint& on, const Answers& answers) const {
    ProposedRule out;
    out.service = facts_.name;
    out.on = on;
    if (grpc_) {
      out.inject = {"grpc:UNAVAILABLE", "grpc:DEADLINE_EXCEEDED"};
      out.evidence = {
          "grpc:UNAVAILABLE, grpc:DEADLINE_EXCEEDED: any service can be down, or silent"};
    } else {
      out.inject = {"refused", "timeout"};
      out.evidence = {"refused, timeout: any service can be down, or silent"};
    }
    constexpr size_t kMaxPlaces = 3;  // shown for one fault
    for (const auto& [answer, found] : answers) {
      const std::vector<std::string>& texts = found.list;
      const std::string fault = fault_text(answer);
      if (std::find(out.inject.begin(), out.inject.end(), fault) == out.inject.end())
        out.inject.push_back(fault);
      for (size_t i = 0; i < texts.size() && i < kMaxPlaces; ++i)
        out.evidence.push_back(fault + ": " + texts[i]);
      if (texts.size() > kMaxPlaces) {
        out.evidence.push_back(fault + ": and in " + std::to_string(texts.size() - kMaxPlaces) +
                               " more places");
      }
    }
    return out;
  }

  const ServiceFacts& facts_;
  bool grpc_;
  Answers all_, everywhere_;
  std::map<Endpoint, Answers> own_;
};

ProposedRule default_rule(const ServiceFacts& facts, bool grpc, bool both) {
  ProposedRule out;
  out.service = facts.name;
  if (grpc && both) out.on.grpc = "*";
  for (const FaultSpec& fault : grpc ? default_grpc_faults() : default_http_faults())
    out.inject.push_back(to_text(fault));
  out.evidence = {std::string("no evidence was found: the default set of ") +
                  (grpc ? "gRPC" : "HTTP")};
  return out;
}

std::string condition(const ProposedRule& rule) {
  if (!rule.on.grpc.empty()) return rule.on.grpc == "*" ? "any other gRPC call" : rule.on.grpc;
  if (rule.on.any()) return "anything else";
  return (rule.on.method.empty() ? std::string("any method") : rule.on.method) + " " +
         (rule.on.path.empty() ? "*" : rule.on.path);
}

}  // namespace

std::vector<ServiceProposal> propose(const std::vector<ServiceFacts>& facts) {
  std::vector<ServiceProposal> out;
  for (const ServiceFacts& one : facts) {
    ServiceProposal proposal;
    proposal.facts = &one;
    const auto speaks = [&](bool grpc) {
      return std::any_of(one.evidence.begin(), one.evidence.end(),
                         [&](const Evidence& e) { return e.answer.grpc == grpc; });
    };
    const bool unknown = one.protocol == Protocol::kUnknown;
    bool grpc = one.protocol == Protocol::kGrpc || one.protocol == Protocol::kBoth || speaks(true);
    bool http = one.protocol == Protocol::kHttp || one.protocol == Protocol::kBoth || speaks(false);
    if (!grpc && !http) grpc = http = true;
    proposal.is_default = one.evidence.empty() && (unknown || !one.looked_at);
    for (const bool is_grpc : {true, false}) {
      if (!(is_grpc ? grpc : http)) continue;
      if (proposal.is_default) {
        proposal.rules.push_back(default_rule(one, is_grpc, http));
      } else {
        for (ProposedRule& rule : ServiceRules(one, is_grpc).run(http))
          proposal.rules.push_back(std::move(rule));
      }
    }
    out.push_back(std::move(proposal));
  }
  return out;
}

nlohmann::ordered_json to_json(const std::vector<ServiceProposal>& proposals) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const ServiceProposal& proposal : proposals) {
    for (const ProposedRule& rule : proposal.rules) {
      nlohmann::ordered_json on{{"service", rule.service}};
      if (!rule.on.method.empty()) on["method"] = rule.on.method;
      if (!rule.on.path.empty()) on["path"] = rule.on.path;
      if (!rule.on.grpc.empty()) on["grpc"] = rule.on.grpc;
      out.push_back({{"on", std::move(on)}, {"inject", rule.inject}, {"evidence", rule.evidence}});
    }
  }
  return out;
}

std::string to_text(const std::vector<ServiceProposal>& proposals) {
  std::string out;
  for (const ServiceProposal& proposal : proposals) {
    const ServiceFacts& facts = *proposal.facts;
    out += (out.empty() ? "" : "\n") + facts.name;
    for (size_t i = 0; i < facts.looked_in.size(); ++i)
      out += (i == 0 ? "  (" : ", ") + facts.looked_in[i];
    out += facts.looked_in.empty() ? "\n" : ")\n";
    if (proposal.is_default) out += "  no evidence was found: the default set is proposed\n";
    if (!proposal.is_default && facts.evidence.empty())
      out += "  no status of an error was found: only what can happen to any service is proposed\n";
    const bool alone = proposal.rules.size() == 1;
    for (const ProposedRule& rule : proposal.rules) {
      if (proposal.is_default) break;
      out += "  " + (alone ? std::string("any request") : condition(rule)) + "\n    inject";
      for (size_t i = 0; i < rule.inject.size(); ++i)
        out += (i == 0 ? "  " : ", ") + rule.inject[i];
      out += "\n";
      for (const std::string& line : rule.evidence) out += "      " + line + "\n";
    }
    if (!facts.passed_on.empty()) {
      out += "  passes on statuses of services that it asks:\n";
      constexpr size_t kMaxShown = 5;
      for (size_t i = 0; i < facts.passed_on.size() && i < kMaxShown; ++i)
        out += "      " + facts.passed_on[i] + "\n";
      if (facts.passed_on.size() > kMaxShown)
        out +=
            "      and in " + std::to_string(facts.passed_on.size() - kMaxShown) + " more places\n";
    }
    for (const std::string& line : facts.remarks) out += "  note: " + line + "\n";
  }
  return out;
}

}  // namespace filibuster::analysis
