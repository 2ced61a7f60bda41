// Finds data that a caller takes from an answer into a later request, and chains of calls in which
// the answer served for nothing else.
#include <algorithm>
#include <set>

#include "core/text/uri.h"
#include "daemon/lint/passive.h"
#include "daemon/lint/values.h"

namespace filibuster::lint {
namespace {

// One answer, and the requests of one call site that its data went into.
struct Forwarding {
  const RpcRecord* answer = nullptr;
  Rpcs requests;
  std::set<std::string> fields;  // names in the answer that the data comes from
  std::set<std::string> places;  // parts of the requests that the data goes into
  std::set<std::string> values;
};

std::string joined(const std::set<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

void add_telling(const std::vector<Value>& values, std::set<std::string>* out) {
  for (const Value& value : values) {
    if (is_telling(value.text)) out->insert(value.text);
  }
}

// Values that the caller had before `answer` came: from the incoming request that it serves, from the
// requests that it had issued, and from earlier answers. Such a value is not counted as taken from
// `answer`.
std::set<std::string> known_before(const RecordView::Group& group, const RpcRecord& answer) {
  std::set<std::string> known;
  add_telling(values_of_request(*group.incoming), &known);
  for (const RpcRecord* rpc : group.rpcs) {
    if (rpc->issued_ns < answer.finished_ns) add_telling(values_of_request(*rpc), &known);
    if (rpc != &answer && rpc->finished_ns != 0 && rpc->finished_ns < answer.finished_ns)
      add_telling(answer_of(*rpc).values, &known);
  }
  return known;
}

std::vector<Forwarding> forwardings(const RecordView::Group& group, const RpcRecord& answer) {
  std::vector<Forwarding> out;
  if (answer.outcome != RpcOutcome::kAnswered || answer.failed()) return out;
  const Body body = answer_of(answer);
  const std::set<std::string> known = known_before(group, answer);
  for (const RpcRecord* rpc : group.rpcs) {
    // Of two equal times the answer counts as the earlier: clocks are coarser than a fast answer.
    if (rpc == &answer || rpc->issued_ns < answer.finished_ns) continue;
    for (const Value& argument : values_of_request(*rpc)) {
      if (!is_telling(argument.text) || known.contains(argument.text)) continue;
      const auto source = std::find_if(body.values.begin(), body.values.end(),
                                       [&](const Value& v) { return v.text == argument.text; });
      if (source == body.values.end()) continue;
      const std::string site = site_key(*rpc);
      auto place = std::find_if(out.begin(), out.end(), [&](const Forwarding& f) {
        return site_key(*f.requests.front()) == site;
      });
      if (place == out.end()) {
        out.emplace_back();
        place = std::prev(out.end());
        place->answer = &answer;
      }
      if (place->requests.empty() || place->requests.back() != rpc) place->requests.push_back(rpc);
      place->fields.insert(source->name.empty() ? "the answer" : "'" + source->name + "'");
      place->places.insert(argument.name);
      place->values.insert(argument.text);
    }
  }
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return !part.empty() && text.find(part) != std::string::npos;
}

bool in_requests(const Rpcs& rpcs, const RpcRecord& after, const std::string& value) {
  return std::any_of(rpcs.begin(), rpcs.end(), [&](const RpcRecord* rpc) {
    return rpc->issued_ns >= after.finished_ns &&
           (contains(percent_decoded(rpc->target, false), value) ||
            contains(rpc->body_sample, value));
  });
}

// True if nothing of the answer is seen again except what the one next request needed. What cannot
// be seen (bodies that are cut or compressed, the caller's own answer if it was not read) counts as used.
bool is_only_for(const RecordView::Group& group, const Forwarding& forwarding) {
  if (forwarding.requests.size() != 1) return false;
  const RpcRecord& next = *forwarding.requests.front();
  const RpcRecord& own = *group.incoming;
  const Body from = answer_of(*forwarding.answer);
  if (!from.whole || own.failed() || (own.flags & kRpcEntry) != 0 ||
      own.response_size != own.response_sample.size() || !answer_of(own).whole ||
      !answer_of(next).whole) {
    return false;
  }
  Rpcs others;
  for (const RpcRecord* rpc : group.rpcs) {
    if (rpc != &next) others.push_back(rpc);
  }
  for (const Value& value : from.values) {
    const bool forwarded = forwarding.values.contains(value.text);
    if (in_requests(others, *forwarding.answer, value.text)) return false;
    if (!forwarded && in_requests({&next}, *forwarding.answer, value.text)) continue;
    // A text that is in the answer to the next request, too, may have come from there.
    if (contains(own.response_sample, value.text) && !contains(next.response_sample, value.text))
      return false;
  }
  return std::none_of(from.names.begin(), from.names.end(), [&](const std::string& name) {
    return contains(own.response_sample, name) && !contains(next.response_sample, name);
  });
}

Finding forwarded(const Forwarding& forwarding) {
  const RpcRecord& answer = *forwarding.answer;
  const RpcRecord& next = *forwarding.requests.front();
  Finding out;
  out.lint = Lint::kForwardedResponse;
  out.severity = row_of(out.lint).severity;
  const std::string fields = joined(forwarding.fields);
  out.text = caller_of(answer) + " takes " +
             (fields == "the answer" ? fields + " to " : fields + " of the answer to ") +
             request_text(answer) + " straight into the " + joined(forwarding.places) + " of " +
             (forwarding.requests.size() == 1
                  ? request_text(next)
                  : counted(forwarding.requests.size(), "request", "requests") + ", the first " +
                        request_text(next));
  for (const RpcRecord* rpc : forwarding.requests) out.calls.push_back(describe_call(*rpc));
  out.calls.push_back(describe_call(answer));
  return out;
}

Finding chained(const RecordView::Group& group, const Forwarding& forwarding) {
  const RpcRecord& answer = *forwarding.answer;
  const RpcRecord& next = *forwarding.requests.front();
  Finding out;
  out.lint = Lint::kCallChain;
  out.severity = row_of(out.lint).severity;
  out.text = caller_of(answer) + " asks " + answer.service + " (" + request_text(answer) +
             ") only to ask " + next.service + " (" + request_text(next) +
             ") with what it got; nothing else of that answer is seen in the answer to " +
             request_text(*group.incoming);
  out.calls = {describe_call(next), describe_call(answer)};
  return out;
}

}  // namespace

std::vector<Finding> forwarded_responses(const RecordView& view) {
  std::vector<Finding> out;
  for (const RecordView::Group& group : view.groups()) {
    for (const RpcRecord* answer : group.rpcs) {
      for (const Forwarding& forwarding : forwardings(group, *answer)) {
        out.push_back(forwarded(forwarding));
        if (is_only_for(group, forwarding)) out.push_back(chained(group, forwarding));
      }
    }
  }
  return out;
}

}  // namespace filibuster::lint
