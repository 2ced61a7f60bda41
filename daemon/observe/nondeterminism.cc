#include "daemon/observe/nondeterminism.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/index/execution_index.h"
#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/observe/observation.h"
#include "daemon/observe/rpc_matching.h"
#include "daemon/observe/rule_advice.h"
#include "daemon/report/variation.h"

namespace filibuster {
namespace {

using Rules = std::vector<NondeterminismRule>;
using Effect = Variation::Effect;

// One RPC of the first run, its counterparts in the other runs, and what varied between them.
struct Seen {
  const RpcRecord* rpc = nullptr;
  std::vector<const RpcRecord*> others;
  FieldSet varied;
  uint32_t runs = 1;               // number of runs in which it appeared
  std::set<size_t> in_runs = {0};  // those
};

bool overlap(const RpcRecord& a, const RpcRecord& b) {
  const auto end = [](const RpcRecord& rpc) {
    return rpc.open || rpc.finished_ns == 0 ? UINT64_MAX : rpc.finished_ns;
  };
  return a.issued_ns < end(b) && b.issued_ns < end(a);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

std::string call_of(const RpcRecord& rpc, std::string_view path) {
  return caller_of(rpc) + " -> " + rpc.service + " " + call_name(rpc, path);
}

class Finder {
 public:
  Finder(const std::vector<const ExecutionRecord*>& runs, const Rules& rules, uint32_t parts,
         const FieldNames& names, Order order)
      : runs_(runs), rules_(rules), parts_(parts), names_(names), order_(order) {}

  Nondeterminism find() {
    for (const ExecutionRecord* run : runs_) trees_.emplace_back(*run);
    for (const auto& [parent, children] : trees_[0].all()) {
      for (const RpcRecord* rpc : children) seen_[rpc->rpc].rpc = rpc;
    }
    for (size_t run = 1; run < trees_.size(); ++run) compare(run);
    // The user's rules are checked first, by themselves: proposals are built on them.
    check_rules();
    for (const RpcRecord& rpc : runs_[0]->rpcs) {
      const auto found = seen_.find(rpc.rpc);
      if (found != seen_.end()) judge(found->second);
    }
    refuse_proposals();
    look_for_order();
    look_for_missing();
    keep_stable();
    return std::move(out_);
  }

 private:
  void compare(size_t run) {
    const RunMatch match = match_runs(trees_[0], trees_[run], parts_);
    for (const RpcMatch& pair : match.pairs) {
      Seen& seen = seen_.at(pair.first->rpc);
      seen.others.push_back(pair.other);
      ++seen.runs;
      seen.in_runs.insert(run);
      FieldSet varied = differences(*pair.first, *pair.other, parts_);
      // If the agents' signatures differ and no difference is found here, the comparison missed
      // something: a body that was not seen whole, a target that was cut.
      const bool same_identity = pair.first->signature == pair.other->signature;
      FieldSet open = varied;
      open.remove(covered_by(rules_, *pair.first, varied));
      if (!same_identity && !open.identity()) {
        varied.beyond.insert("something in its request that could not be compared");
      }
      seen.varied.add(varied);
    }
    // Runs are counted, not the calls of a run that others lack.
    for (const RpcRecord* rpc : match.only_other) {
      auto& [last, in_runs] = missing_[describe_rpc(*rpc, rules_)];
      last = rpc;
      in_runs.insert(run);
    }
    reordered_.insert(match.reordered.begin(), match.reordered.end());
  }

  std::vector<std::string> describe(const Seen& seen, const FieldSet& fields) const {
    return describe_fields(fields, *seen.rpc, names_);
  }

  // The path with '*' for what varies or is masked.
  std::string pattern_of(const Seen& seen) const {
    const std::string_view path = request_path_of(*seen.rpc);
    std::set<uint32_t> stars = masked_segments(rules_, *seen.rpc);
    stars.insert(seen.varied.segments.begin(), seen.varied.segments.end());
    std::string out;
    bool slash = path.starts_with('/');
    each_segment(path, [&](uint32_t number, std::string_view text) {
      if (slash) out += '/';
      slash = true;
      out += stars.contains(number) ? std::string_view("*") : text;
    });
    return out;
  }

  void add_unstable(const Seen& seen, std::string reason, bool answer) {
    UnstableKind kind;
    kind.caller = caller_of(*seen.rpc);
    kind.service = seen.rpc->service;
    kind.method = seen.rpc->method;
    kind.path = pattern_of(seen);
    if ((parts_ & kIndexStack) != 0 && !seen.varied.stack) kind.stack = seen.rpc->stack;
    if (seen.varied.beyond.contains("the number of segments of its path")) kind.path.clear();
    kind.reason = std::move(reason);
    kind.answer = answer;
    kind.failed = answer && seen.rpc->answered_with_error();
    kind.ending = answer && seen.varied.ending;
    out_.unstable.add(std::move(kind));
  }

  // For an RPC that gets no mask.
  void add_varying_answer(const Seen& seen, const FieldSet& open) {
    if (!open.response.empty()) add_unstable(seen, "the answer varies", true);
  }

  void tell(const Seen& seen, const std::string& what, Effect effect, const std::string& reason) {
    Variation variation{call_of(*seen.rpc, pattern_of(seen)), what, effect, reason, "", false};
    if (told_
            .insert(variation.rpc + "\n" + what + "\n" + std::string(effect_text(effect)) + "\n" +
                    reason)
            .second)
      out_.variations.push_back(std::move(variation));
  }

  // The mask for a field of an array's element, "/items/<mark>0/id": "/items/*/id" if the field varied
  // in every element, else "/items/0/id".
  std::string mask_of(const std::string& field, const std::set<std::string>& varied,
                      const BodyFields& body) const {
    if (field.find(kElementMark) == std::string::npos) return field;
    std::string general;
    for (size_t i = 0; i < field.size(); ++i) {
      if (field[i] != kElementMark) {
        general += field[i];
        continue;
      }
      general += '*';
      while (i + 1 < field.size() && field[i + 1] != '/') ++i;
    }
    for (const auto& [path, value] : body.leaves) {
      FieldSet one;
      one.json.insert(path);
      NondeterminismRule rule;
      rule.json = {general};
      RpcRecord any;
      if (covered_by({rule}, any, one).json.empty()) continue;
      const bool varies =
          std::any_of(varied.begin(), varied.end(), [&own = path](const std::string& other) {
            return own == other || own.starts_with(other + "/");
          });
      if (!varies) return plain_pointer(field);
    }
    return general;
  }

  void judge(const Seen& seen) {
    FieldSet open = seen.varied;
    const FieldSet covered = covered_by(rules_, *seen.rpc, seen.varied);
    open.remove(covered);
    for (const std::string& what : describe(seen, covered)) {
      tell(seen, what, Effect::kMasked, "by the configuration or an earlier comparison");
    }
    if (open.empty()) return;
    NondeterminismRule rule;
    rule.caller = caller_of(*seen.rpc);
    rule.service = seen.rpc->service;
    rule.method = seen.rpc->method;
    rule.path = pattern_of(seen);
    std::string impossible = joined({open.beyond.begin(), open.beyond.end()});
    const size_t segments = segments_of(request_path_of(*seen.rpc)).size();
    std::set<uint32_t> stars = masked_segments(rules_, *seen.rpc);
    stars.insert(open.segments.begin(), open.segments.end());
    // If the stack and the contents both vary, these may be two call sites. With both masked they would
    // be one.
    if (impossible.empty() && open.stack &&
        !(open.segments.empty() && open.query.empty() && open.form.empty() && open.json.empty() &&
          open.message.empty()))
      impossible = "its call stack varies, too: there may be two call sites";
    if (impossible.empty() && !open.segments.empty() && stars.size() == segments &&
        order_ == Order::kOfCalls)
      impossible = "its whole path varies, and a mask would leave nothing of it";
    if (impossible.empty() && rule.path.size() > kMaxMaskPattern)
      impossible = "its path is too long for a rule";
    if (!open.response_beyond.empty()) {
      const std::string what = joined({open.response_beyond.begin(), open.response_beyond.end()});
      tell(seen, what, Effect::kStatusAlone, "no mask of fields covers it");
      add_unstable(seen, what, true);
      open.response.clear();
    }
    if (!impossible.empty()) {
      for (const std::string& what : describe(seen, open))
        tell(seen, what, Effect::kNotFaulted, impossible);
      add_unstable(seen, joined(describe(seen, open)) + " varies from run to run", false);
      add_varying_answer(seen, open);
      return;
    }
    rule.stack = open.stack;
    rule.path_segments.assign(open.segments.begin(), open.segments.end());
    rule.query.assign(open.query.begin(), open.query.end());
    rule.form.assign(open.form.begin(), open.form.end());
    const auto add = [&](const std::set<std::string>& fields, const BodyFields& body,
                         std::vector<std::string>* to) {
      for (const std::string& field : fields) {
        std::string mask = mask_of(field, fields, body);
        if (std::find(to->begin(), to->end(), mask) == to->end()) to->push_back(std::move(mask));
      }
    };
    add(open.json, seen.rpc->request_fields, &rule.json);
    rule.message.assign(open.message.begin(), open.message.end());
    add(open.response, seen.rpc->response_fields, &rule.response);
    propose(seen, std::move(rule), open);
  }

  static bool whole_or_too_deep(const std::vector<std::string>& pointers) {
    return std::any_of(pointers.begin(), pointers.end(), [](const std::string& pointer) {
      return pointer == "/*" || std::count(pointer.begin(), pointer.end(), '/') >
                                    static_cast<std::ptrdiff_t>(kMaxMaskDepth);
    });
  }

  void propose(const Seen& seen, NondeterminismRule rule, const FieldSet& open) {
    if (whole_or_too_deep(rule.response)) {
      rule.response.clear();
      tell(seen, "the answer", Effect::kStatusAlone,
           "its fields are too many or too deep for masks");
      add_unstable(seen, "the answer varies", true);
    }
    if (whole_or_too_deep(rule.json) || whole_or_too_deep(rule.message) ||
        rule.query.size() + rule.form.size() + rule.json.size() + rule.message.size() +
                rule.response.size() >
            kMaxRequestMasks) {
      tell(seen, joined(describe(seen, open)), Effect::kNotFaulted,
           "no mask of fields covers it (too many, too deep, or the whole body)");
      add_unstable(seen, joined(describe(seen, open)) + " varies from run to run", false);
      add_varying_answer(seen, open);
      return;
    }
    if (rule.path_segments.empty() && rule.query.empty() && rule.form.empty() &&
        rule.json.empty() && rule.message.empty() && rule.response.empty() && !rule.stack) {
      return;
    }
    reasons_.push_back({&seen, open});
    const auto same = std::find_if(proposals_.begin(), proposals_.end(), [&](const auto& other) {
      return other.caller == rule.caller && other.service == rule.service &&
             other.method == rule.method && other.path == rule.path;
    });
    if (same == proposals_.end()) {
      proposals_.push_back(std::move(rule));
      if (compile_masks(all_rules()).ok()) return;
      const std::string helps =
          advice_once("broader ", seen, [&] { return broader_rule(proposals_.back()); });
      proposals_.pop_back();
      reasons_.pop_back();
      tell(seen, joined(describe(seen, open)), Effect::kNotFaulted,
           "there are more masks than fit; write broader rules" + helps);
      add_unstable(seen,
                   joined(describe(seen, open)) + " varies; there are more masks than fit" + helps,
                   false);
      add_varying_answer(seen, open);
      return;
    }
    const auto merge = [](auto* to, const auto& from) {
      for (const auto& one : from) {
        if (std::find(to->begin(), to->end(), one) == to->end()) to->push_back(one);
      }
    };
    same->stack = same->stack || rule.stack;
    merge(&same->path_segments, rule.path_segments);
    merge(&same->query, rule.query);
    merge(&same->form, rule.form);
    merge(&same->json, rule.json);
    merge(&same->message, rule.message);
    merge(&same->response, rule.response);
  }

  Rules all_rules() const {
    Rules all = rules_;
    all.insert(all.end(), proposals_.begin(), proposals_.end());
    return all;
  }

  // --- masks that are too broad -----------------------------------------------------------------

  // Why `rules` must not merge the two RPCs; "": the rules do not merge them, or may.
  std::string broad(const Rules& rules, const Seen& a, const Seen& b) const {
    const RpcRecord &x = *a.rpc, &y = *b.rpc;
    if (caller_of(x) != caller_of(y) || x.service != y.service || x.method != y.method) return "";
    FieldSet apart = differences(x, y, parts_);
    apart.response.clear();
    apart.response_beyond.clear();
    if (!apart.identity() || !apart.beyond.empty()) return "";
    FieldSet left = apart;
    FieldSet hidden = covered_by(rules, x, apart);
    left.remove(hidden);
    FieldSet hidden_in_other = covered_by(rules, y, apart);
    FieldSet left_in_other = apart;
    left_in_other.remove(hidden_in_other);
    if (left.identity() || left_in_other.identity()) return "";  // still told apart
    FieldSet stable = apart;
    stable.remove(a.varied);
    FieldSet stable_in_other = apart;
    stable_in_other.remove(b.varied);
    stable.add(stable_in_other);
    const std::string both =
        call_of(x, x.target) + " and " + call_of(y, y.target) + " into one RPC, ";
    if (stable.identity()) {
      return "would merge " + both + "which " + joined(describe(a, stable)) + " tells apart";
    }
    if (order_ == Order::kOfArrival) return "";
    bool concurrent = overlap(x, y);
    for (size_t i = 0; i < a.others.size() && i < b.others.size(); ++i)
      concurrent = concurrent || overlap(*a.others[i], *b.others[i]);
    return concurrent ? "would merge " + both +
                            "and they are concurrent: not even their order "
                            "tells them apart"
                      : "";
  }

  template <typename Report>
  void each_merge(const Rules& rules, Report report) {
    if (rules.empty()) return;
    for (const auto& [parent, children] : trees_[0].all()) {
      std::map<std::string, std::vector<const Seen*>> merged;
      for (const RpcRecord* rpc : children)
        merged[masked_identity(rules, *rpc, parts_)].push_back(&seen_.at(rpc->rpc));
      for (const auto& [identity, same] : merged) {
        for (size_t i = 1; i < same.size(); ++i) {
          for (const size_t k : {size_t{0}, i - 1}) {
            const std::string why = broad(rules, *same[k], *same[i]);
            if (!why.empty()) report(*same[k], *same[i], why);
            if (i == 1) break;
          }
        }
      }
    }
  }

  void check_rules() {
    for (size_t i = 0; i < rules_.size(); ++i) {
      each_merge({rules_[i]}, [&](const Seen&, const Seen&, const std::string& why) {
        const std::string where =
            rules_[i].line > 0 ? " (line " + std::to_string(rules_[i].line) + ")" : "";
        out_.too_broad.push_back("rule " + std::to_string(i + 1) + " of 'nondeterminism'" + where +
                                 " " + why);
      });
    }
  }

  void refuse_proposals() {
    bool again = true;
    while (again) {
      again = false;
      each_merge(all_rules(), [&](const Seen& a, const Seen& b, const std::string& why) {
        const size_t before = proposals_.size();
        std::erase_if(proposals_, [&](const NondeterminismRule& rule) {
          return rule_applies(rule, *a.rpc) || rule_applies(rule, *b.rpc);
        });
        again = again || proposals_.size() != before;
        for (const Seen* seen : {&a, &b}) refused_.emplace(seen->rpc->rpc, "a mask " + why);
      });
    }
    for (const auto& [seen, open] : reasons_) {
      const bool kept =
          std::any_of(proposals_.begin(), proposals_.end(),
                      [&rpc = *seen->rpc](const auto& rule) { return rule_applies(rule, rpc); });
      const auto refused = refused_.find(seen->rpc->rpc);
      std::string why = refused != refused_.end()
                            ? refused->second
                            : "a mask would be too broad for others of its kind";
      if (!kept)
        why += advice_once("narrower ", *seen, [&, &one = *seen, &fields = open] {
          return narrower_rule(one, fields);
        });
      for (const std::string& what : describe(*seen, open))
        tell(*seen, what, kept ? Effect::kMasked : Effect::kNotFaulted, kept ? "" : why);
      if (kept) continue;
      if (open.identity())
        add_unstable(*seen, joined(describe(*seen, open)) + " varies; " + why, false);
      add_varying_answer(*seen, open);
    }
    out_.proposed = proposals_;
  }

  // --- rules that help ---------------------------------------------------------------------------

  // May the configuration have the rule beside the others?
  bool merges_nothing(const NondeterminismRule& rule) {
    Rules all = rules_;
    all.push_back(rule);
    bool merges = !compile_masks(all).ok();
    each_merge(all, [&](const Seen&, const Seen&, const std::string&) { merges = true; });
    return !merges;
  }

  // A rule that knows the names that vary by their shape, where fixed names stand at the same place. "": none does.
  std::string narrower_rule(const Seen& seen, const FieldSet& open) {
    if (open.segments.empty() || !open.query.empty() || !open.form.empty() || !open.json.empty() ||
        !open.message.empty() || open.stack)
      return "";
    std::vector<std::vector<std::string>> paths = {segments_of(request_path_of(*seen.rpc))};
    for (const RpcRecord* other : seen.others)
      paths.push_back(segments_of(request_path_of(*other)));
    NondeterminismRule rule;
    rule.caller = caller_of(*seen.rpc);
    rule.service = seen.rpc->service;
    rule.method = seen.rpc->method;
    rule.path_segments.assign(open.segments.begin(), open.segments.end());
    for (size_t i = 0; i < paths.front().size(); ++i) {
      std::vector<std::string_view> names;
      for (const auto& path : paths) names.emplace_back(path.at(i));
      rule.path += "/" + (open.segments.contains(i + 1) ? shape_of(names) : std::string(names[0]));
    }
    return merges_nothing(rule) ? rule_line(rule) : "";
  }

  // A rule for all paths that differ from those of `rule` in what does not vary, too: there are more of them than rules may be. "":
  // none does.
  std::string broader_rule(const NondeterminismRule& rule) {
    NondeterminismRule out = rule;
    std::vector<std::string> segments = segments_of(rule.path);
    for (const NondeterminismRule& other : proposals_) {
      const std::vector<std::string> others = segments_of(other.path);
      if (other.caller != rule.caller || other.service != rule.service ||
          other.method != rule.method || others.size() != segments.size() ||
          other.path_segments != rule.path_segments)
        continue;
      for (size_t i = 0; i < segments.size(); ++i) {
        if (segments[i] != others[i]) segments[i] = "*";
      }
    }
    out.path.clear();
    for (const std::string& segment : segments) out.path += "/" + segment;
    return out.path != rule.path && merges_nothing(out) ? rule_line(out) : "";
  }

  // Of thousands of calls of one kind the first one is looked at.
  template <typename Find>
  std::string advice_once(const char* what, const Seen& seen, Find find) {
    const std::string kind = what + caller_of(*seen.rpc) + "\n" + seen.rpc->service + "\n" +
                             seen.rpc->method + "\n" +
                             std::to_string(segments_of(request_path_of(*seen.rpc)).size());
    const auto [known, is_new] = advice_.try_emplace(kind);
    if (is_new) known->second = advice(find());
    return known->second;
  }

  // --- order, and RPCs that come sometimes ------------------------------------------------------

  void look_for_order() {
    for (const uint64_t parent : reordered_) {
      const auto cause = seen_.find(parent);
      const std::string who =
          cause == seen_.end() ? "the test"
                               : call_of(*cause->second.rpc, request_path_of(*cause->second.rpc));
      out_.variations.push_back({who, "the order of the concurrent RPCs that it causes",
                                 Effect::kNone,
                                 "indexes do not depend on the order of RPCs that differ; the "
                                 "reduction may execute more",
                                 "", false});
    }
    // Concurrent RPCs that have one signature although their contents differ: only their count tells
    // them apart.
    for (const auto& [parent, children] : trees_[0].all()) {
      std::map<Hash128, std::vector<const RpcRecord*>> same;
      for (const RpcRecord* rpc : children) same[rpc->signature].push_back(rpc);
      for (const auto& [signature, rpcs] : same) {
        for (size_t i = 0; i + 1 < rpcs.size(); ++i) look_at_pair(*rpcs[i], *rpcs[i + 1]);
      }
    }
  }

  void look_at_pair(const RpcRecord& x, const RpcRecord& y) {
    const bool same = x.target == y.target &&
                      (x.request_fields.known ? x.request_fields.plain == y.request_fields.plain
                                              : x.payload == y.payload);
    if (same || !overlap(x, y) || order_ == Order::kOfArrival) return;
    for (const RpcRecord* rpc : {&x, &y}) {
      const Seen& seen = seen_.at(rpc->rpc);
      ambiguous_.insert(rpc->rpc);
      tell(seen, "the order of concurrent RPCs", Effect::kNotFaulted,
           "only their count tells them apart" +
               std::string((parts_ & kIndexPayload) == 0 ? "; the payload is switched off" : ""));
      add_unstable(seen, "it is concurrent with others that only their order tells apart", false);
    }
  }

  bool is_in_all(const std::string& call) const {
    return std::all_of(runs_.begin(), runs_.end(), [&](const ExecutionRecord* run) {
      return std::any_of(run->rpcs.begin(), run->rpcs.end(),
                         [&](const RpcRecord& rpc) { return describe_rpc(rpc, rules_) == call; });
    });
  }

  void missing(const RpcRecord& rpc, const std::set<size_t>& in_runs) {
    const std::string call = describe_rpc(rpc, rules_);
    const std::string what = is_in_all(call)
                                 ? "comes more often in " + std::to_string(in_runs.size()) +
                                       " of " + std::to_string(runs_.size()) + " executions"
                                 : seen_in(in_runs.size(), runs_.size());
    const std::string why(why_sometimes(in_runs, runs_.size()));
    out_.variations.push_back({call, what, Effect::kNotFaulted, why, "", true});
    out_.unstable.add_index(rpc.index, what + ": " + why);
    // If every RPC of its kind is missing in some run, RPCs of the kind with other paths come and go, too.
    const auto kin = [&](const auto& entry) {
      const RpcRecord& other = *entry.second.rpc;
      return entry.second.runs == runs_.size() && caller_of(other) == caller_of(rpc) &&
             other.service == rpc.service && other.method == rpc.method && other.stack == rpc.stack;
    };
    if (std::any_of(seen_.begin(), seen_.end(), kin)) return;
    UnstableKind kind;
    kind.caller = caller_of(rpc);
    kind.service = rpc.service;
    kind.method = rpc.method;
    kind.stack = rpc.stack;
    kind.reason = what + ": " + why;
    kind.sometimes = true;
    out_.unstable.add(std::move(kind));
  }

  void look_for_missing() {
    for (const RpcRecord& rpc : runs_[0]->rpcs) {
      const auto found = seen_.find(rpc.rpc);
      if (found == seen_.end() || found->second.runs == runs_.size()) continue;
      // If the RPC that caused it is missing as often, only that one is told: it explains this one.
      const auto parent = seen_.find(rpc.parent_rpc);
      if (parent != seen_.end() && parent->second.runs <= found->second.runs &&
          parent->second.runs < runs_.size()) {
        continue;
      }
      missing(rpc, found->second.in_runs);
    }
    for (const auto& [call, seen] : missing_) missing(*seen.first, seen.second);
  }

  // Keeps RPCs that have the same index in every run out of the unstable ones, whatever others of their
  // kind do.
  void keep_stable() {
    for (const auto& [id, seen] : seen_) {
      if (seen.runs != runs_.size() || seen.varied.identity() || ambiguous_.contains(id)) continue;
      const bool same = std::all_of(
          seen.others.begin(), seen.others.end(),
          [index = seen.rpc->index](const RpcRecord* other) { return other->index == index; });
      if (same && out_.unstable.find(*seen.rpc) != nullptr) out_.unstable.keep(seen.rpc->index);
    }
  }

  const std::vector<const ExecutionRecord*>& runs_;
  const Rules& rules_;
  const uint32_t parts_;
  const FieldNames& names_;
  const Order order_;
  std::vector<RpcTree> trees_;
  std::map<uint64_t, Seen> seen_;  // by RPC of the first run
  std::set<uint64_t> reordered_;
  // RPCs that the first run lacks: the last one of its name, and the runs that have one
  std::map<std::string, std::pair<const RpcRecord*, std::set<size_t>>> missing_;
  std::set<std::string> told_;
  std::map<std::string, std::string> advice_;  // by kind
  Rules proposals_;
  struct Reason {
    const Seen* seen;
    FieldSet open;
  };
  std::vector<Reason> reasons_;
  std::map<uint64_t, std::string> refused_;
  std::set<uint64_t> ambiguous_;  // RPCs of the first run that only their order tells apart
  Nondeterminism out_;
};

}  // namespace

void leave_out(const NondeterminismRule& rule, const std::string& reason, UnstableRpcs* out) {
  UnstableKind kind;
  kind.caller = rule.caller;
  kind.service = rule.service;
  kind.method = rule.method;
  kind.path = rule.path;
  kind.reason = reason;
  out->add(kind);
  kind.answer = true;
  for (const bool failed : {false, true}) {
    kind.failed = failed;
    if (!rule.response.empty()) out->add(kind);
  }
}

// The executions came one after the other, so that what the first one has kept or left behind is there for the others.
std::string_view why_sometimes(const std::set<size_t>& in_runs, size_t executions) {
  const bool in_first = in_runs.contains(0);
  if (in_first && in_runs.size() == 1) return kKept;
  if (!in_first && in_runs.size() == executions - 1) return kGrows;
  return kComesAndGoes;
}

std::string seen_in(size_t times, size_t executions) {
  return "seen in " + std::to_string(times) + " of " + std::to_string(executions) + " executions";
}

Nondeterminism find_nondeterminism(const std::vector<const ExecutionRecord*>& runs,
                                   const std::vector<NondeterminismRule>& rules,
                                   uint32_t index_parts, const FieldNames& names, Order order) {
  return runs.size() < 2 ? Nondeterminism{} : Finder(runs, rules, index_parts, names, order).find();
}

}  // namespace filibuster
