#include "daemon/observe/rpc_matching.h"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/index/execution_index.h"
#include "daemon/model/call_name.h"
#include "daemon/model/grpc_name.h"

namespace filibuster {
namespace {

using Rpcs = std::vector<const RpcRecord*>;
// Field -> hashes of its values; a field may occur more than once.
using Values = std::map<std::string, std::vector<uint64_t>, std::less<>>;

// RPCs of one kind under one parent that are compared with each other; with more, order decides.
constexpr size_t kCompared = 256;

Values query_values(const RpcRecord& rpc) {
  struct Sink final : LeafSink {
    void leaf(std::string_view path, uint64_t value) override {
      values[std::string(path)].push_back(value);
    }
    Values values;
  } sink;
  if (rpc.is_redis()) return {};  // a key may hold a '?'
  BodyWalker walker;
  walker.begin_query(nullptr, &sink);
  walker.feed(split_target(rpc.target).query);
  walker.finish();
  return std::move(sink.values);
}

std::vector<std::string> query_names(const RpcRecord& rpc) {
  std::vector<std::string> names;
  for (const auto& [name, values] : query_values(rpc)) names.push_back(name);
  return names;
}

Values leaf_values(const BodyFields& body) {
  Values values;
  for (const auto& [path, value] : body.leaves) values[path].push_back(value);
  return values;
}

// The target and a digest of the body: equal for equal requests.
std::string content_of(const RpcRecord& rpc) {
  const Hash128 body = rpc.request_fields.known ? rpc.request_fields.plain : rpc.payload;
  return rpc.target + "\n" + to_hex(body);
}

std::string kind_of(const RpcRecord& rpc, uint32_t parts, bool whole) {
  std::string kind = caller_of(rpc) + "|" + rpc.service + "|" + rpc.method;
  if (!whole) return kind;
  if ((parts & kIndexStack) != 0) kind += "|" + to_hex(rpc.stack);
  return kind + "|" + std::to_string(segments_of(request_path_of(rpc)).size());
}

// How many path segments, query arguments and fields of the body agree.
size_t likeness(const RpcRecord& a, const RpcRecord& b) {
  size_t same = 0;
  const auto left = segments_of(request_path_of(a)), right = segments_of(request_path_of(b));
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) same += left[i] == right[i];
  const auto count = [&](const Values& x, const Values& y) {
    for (const auto& [name, values] : x) {
      const auto other = y.find(name);
      same += other != y.end() && other->second == values;
    }
  };
  count(query_values(a), query_values(b));
  count(leaf_values(a.request_fields), leaf_values(b.request_fields));
  return same;
}

class Matcher {
 public:
  Matcher(const RpcTree& first, const RpcTree& other, uint32_t parts)
      : first_(first), other_(other), parts_(parts) {}

  RunMatch run() {
    match(0, 0);
    while (!open_.empty()) {
      const auto [a, b] = open_.front();
      open_.pop_front();
      match(a, b);
    }
    return std::move(out_);
  }

 private:
  void match(uint64_t parent, uint64_t other_parent) {
    Rpcs left = first_.caused_by(parent), right = other_.caused_by(other_parent);
    const size_t before = out_.pairs.size();
    for (const bool whole : {true, false}) {
      std::map<std::string, std::pair<Rpcs, Rpcs>> kinds;
      for (const RpcRecord* rpc : left) kinds[kind_of(*rpc, parts_, whole)].first.push_back(rpc);
      for (const RpcRecord* rpc : right) kinds[kind_of(*rpc, parts_, whole)].second.push_back(rpc);
      left.clear();
      right.clear();
      for (auto& [name, kind] : kinds) {
        match_kind(&kind.first, &kind.second);
        left.insert(left.end(), kind.first.begin(), kind.first.end());
        right.insert(right.end(), kind.second.begin(), kind.second.end());
      }
    }
    out_.only_first.insert(out_.only_first.end(), left.begin(), left.end());
    out_.only_other.insert(out_.only_other.end(), right.begin(), right.end());
    note_order(parent, other_parent, before);
    for (size_t i = before; i < out_.pairs.size(); ++i)
      open_.emplace_back(out_.pairs[i].first->rpc, out_.pairs[i].other->rpc);
  }

  void pair(const RpcRecord* a, const RpcRecord* b) { out_.pairs.push_back({a, b}); }

  // Pairs RPCs of `left` and `right`, and leaves those without a partner in them.
  void match_kind(Rpcs* left, Rpcs* right) {
    if (left->empty() || right->empty()) return;
    std::map<std::string, std::deque<const RpcRecord*>> same;
    for (const RpcRecord* rpc : *right) same[content_of(*rpc)].push_back(rpc);
    Rpcs rest;
    std::unordered_set<const RpcRecord*> taken;
    for (const RpcRecord* rpc : *left) {
      auto& waiting = same[content_of(*rpc)];
      if (waiting.empty()) {
        rest.push_back(rpc);
        continue;
      }
      pair(rpc, waiting.front());
      taken.insert(waiting.front());
      waiting.pop_front();
    }
    std::erase_if(*right, [&](const RpcRecord* rpc) { return taken.contains(rpc); });
    left->clear();
    const bool compare = rest.size() <= kCompared && right->size() <= kCompared;
    for (const RpcRecord* rpc : rest) {
      if (right->empty()) {
        left->push_back(rpc);
        continue;
      }
      auto best = right->begin();
      if (compare && right->size() > 1) {
        size_t most = likeness(*rpc, **best);
        for (auto at = std::next(best); at != right->end(); ++at) {
          const size_t like = likeness(*rpc, **at);
          if (like <= most) continue;
          most = like;
          best = at;
        }
      }
      pair(rpc, *best);
      right->erase(best);
    }
  }

  void note_order(uint64_t parent, uint64_t other_parent, size_t from) {
    const Rpcs& right = other_.caused_by(other_parent);
    std::unordered_map<const RpcRecord*, size_t> place;
    for (size_t i = 0; i < right.size(); ++i) place[right[i]] = i;
    std::unordered_map<const RpcRecord*, size_t> partner;
    for (size_t i = from; i < out_.pairs.size(); ++i)
      partner[out_.pairs[i].first] = place[out_.pairs[i].other];
    size_t last = 0;
    for (const RpcRecord* rpc : first_.caused_by(parent)) {
      const auto found = partner.find(rpc);
      if (found == partner.end()) continue;
      if (found->second < last) {
        out_.reordered.push_back(parent);
        return;
      }
      last = found->second;
    }
  }

  const RpcTree& first_;
  const RpcTree& other_;
  const uint32_t parts_;
  std::deque<std::pair<uint64_t, uint64_t>> open_;
  RunMatch out_;
};

// "/a/b" for "/a/b/c", "" for "/a".
std::string_view container_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

bool is_within(std::string_view path, std::string_view container) {
  return path.starts_with(container) &&
         (path.size() == container.size() || path[container.size()] == '/');
}

bool has_field(const Values& values, std::string_view path) {
  if (path.empty()) return true;
  const auto at = values.lower_bound(path);
  if (at != values.end() && at->first == path) return true;
  const auto below = values.lower_bound(std::string(path) + "/");
  return below != values.end() && is_within(below->first, path);
}

// Collects the JSON fields that differ; where a shape differs, the smallest container that both have.
// False: only the whole body is such a container.
bool json_differences(const Values& a, const Values& b, std::set<std::string>* out) {
  std::set<std::string> varied;
  const auto compare = [&](const Values& from, const Values& to) {
    for (const auto& [path, values] : from) {
      const auto other = to.find(path);
      if (other != to.end()) {
        if (other->second != values) varied.insert(path);
        continue;
      }
      std::string_view container = path;
      while (!has_field(to, container)) container = container_of(container);
      varied.insert(std::string(container));
    }
  };
  compare(a, b);
  compare(b, a);
  if (varied.contains("")) return false;
  for (const std::string& path : varied) {
    const bool inside = std::any_of(varied.begin(), varied.end(), [&](const std::string& other) {
      return other != path && is_within(path, other);
    });
    if (!inside) out->insert(path);
  }
  return true;
}

bool readable(const BodyFields& body) {
  return body.known && body.whole && body.form != BodyForm::kOther;
}

void body_differences(const RpcRecord& a, const RpcRecord& b, FieldSet* out) {
  const BodyFields &x = a.request_fields, &y = b.request_fields;
  if (x.known && y.known ? x.plain == y.plain : a.payload == b.payload) return;
  if (a.is_redis() && (!readable(x) || !readable(y))) {
    out->beyond.insert("the arguments of the command");
    return;
  }
  // The payload is a hash of query and body. If the query differs, it explains the difference.
  if (!x.known && !y.known && query_values(a) != query_values(b)) return;
  if (!readable(x) || !readable(y)) {
    out->beyond.insert(x.known && y.known
                           ? "the body (neither JSON nor a form, or too many fields to compare)"
                           : "the body (it was not seen whole)");
    return;
  }
  const Values left = leaf_values(x), right = leaf_values(y);
  if (x.form == BodyForm::kForm && y.form == BodyForm::kForm) {
    for (const auto& [name, values] : left) {
      const auto other = right.find(name);
      if (other == right.end() || other->second.size() != values.size()) {
        out->beyond.insert("the names of the form's fields");
      } else if (other->second != values) {
        out->form.insert(name);
      }
    }
    if (right.size() != left.size()) out->beyond.insert("the names of the form's fields");
    return;
  }
  if (x.form == BodyForm::kMessage && y.form == BodyForm::kMessage) {
    if (!json_differences(left, right, &out->message) || out->message.empty())
      out->beyond.insert("which fields its messages have, or their order");
    return;
  }
  if (x.form != BodyForm::kJson || y.form != BodyForm::kJson) {
    out->beyond.insert("the kind of the body");
  } else if (!json_differences(left, right, &out->json)) {
    out->beyond.insert("the shape of the whole JSON body");
  } else if (out->json.empty()) {
    out->beyond.insert("blanks or the order of fields in the body");
  }
}

// What differs between the endings of two RPCs, whatever their answers say; "": nothing.
std::string other_ending(const RpcRecord& a, const RpcRecord& b) {
  if (!a.answered() || !b.answered()) {
    const bool same = a.open == b.open && a.outcome == b.outcome &&
                      a.stream_error == b.stream_error && a.begun == b.begun;
    return same ? "" : "how it ends";
  }
  if (a.status != b.status)
    return "the status (" + std::to_string(a.status) + ", " + std::to_string(b.status) + ")";
  if (a.grpc_status != b.grpc_status) {
    const auto name = [](const RpcRecord& rpc) {
      const std::string_view code = grpc_status_name(rpc);
      return code.empty() ? std::string("none") : std::string(code);
    };
    return "the gRPC status (" + name(a) + ", " + name(b) + ")";
  }
  if (a.code_space != b.code_space || a.code != b.code) {
    const auto name = [](const RpcRecord& rpc) { return rpc.code.empty() ? "none" : rpc.code; };
    return "the code of the error (" + name(a) + ", " + name(b) + ")";
  }
  return "";
}

void response_differences(const RpcRecord& a, const RpcRecord& b, FieldSet* out) {
  if (std::string ending = other_ending(a, b); !ending.empty()) {
    out->response_beyond.insert(std::move(ending));
    out->ending = true;
    return;
  }
  if (a.outcome != RpcOutcome::kAnswered || b.outcome != RpcOutcome::kAnswered) {
    if (a.outcome != b.outcome) out->response_beyond.insert("whether its answer is read");
    return;
  }
  const BodyFields &x = a.response_fields, &y = b.response_fields;
  if (!x.known || !y.known) {
    if (a.response != b.response) out->response_beyond.insert("the answer (not seen whole)");
    return;
  }
  if (x.plain == y.plain) return;
  const bool json = readable(x) && readable(y) && x.form == y.form &&
                    (x.form == BodyForm::kJson || x.form == BodyForm::kMessage);
  std::set<std::string> fields;
  if (json && json_differences(leaf_values(x), leaf_values(y), &fields) && !fields.empty()) {
    out->response = std::move(fields);
  } else {
    out->response_beyond.insert("the answer as a whole");
  }
}

// The parts of a pointer (a rule's or a leaf's), without kElementMark.
std::vector<std::string> names_of(std::string_view pointer) {
  std::vector<std::string> names;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    std::string_view name = pointer.substr(0, end);
    if (!name.empty() && name.front() == kElementMark) name.remove_prefix(1);
    names.emplace_back(name);
    pointer.remove_prefix(end);
  }
  return names;
}

// Does the mask cover the field, or a container of it?
bool pointer_covers(std::string_view mask, std::string_view field) {
  const auto wanted = names_of(mask), names = names_of(field);
  if (wanted.size() > names.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != "*" && wanted[i] != names[i]) return false;
  }
  return true;
}

}  // namespace

RpcTree::RpcTree(const ExecutionRecord& record) {
  std::unordered_map<uint64_t, Rpcs> children;
  std::set<uint64_t> known;
  for (const RpcRecord& rpc : record.rpcs) known.insert(rpc.rpc);
  for (const RpcRecord& rpc : record.rpcs) {
    if ((rpc.flags & kRpcLate) != 0) continue;
    if (rpc.cause == Cause::kNone && !is_test_call(rpc)) continue;
    const bool root = rpc.parent_rpc == rpc.rpc || !known.contains(rpc.parent_rpc);
    children[root ? 0 : rpc.parent_rpc].push_back(&rpc);
  }
  std::deque<uint64_t> open{0};
  while (!open.empty()) {
    const auto found = children.find(open.front());
    open.pop_front();
    if (found == children.end()) continue;
    for (const RpcRecord* rpc : found->second) open.push_back(rpc->rpc);
    children_.insert(children.extract(found));
  }
}

const Rpcs& RpcTree::caused_by(uint64_t rpc) const {
  static const Rpcs kNone;
  const auto found = children_.find(rpc);
  return found == children_.end() ? kNone : found->second;
}

RunMatch match_runs(const RpcTree& first, const RpcTree& other, uint32_t index_parts) {
  return Matcher(first, other, index_parts).run();
}

void FieldSet::add(const FieldSet& other) {
  segments.insert(other.segments.begin(), other.segments.end());
  stack = stack || other.stack;
  ending = ending || other.ending;
  for (auto list : {&FieldSet::query, &FieldSet::form, &FieldSet::json, &FieldSet::message,
                    &FieldSet::response, &FieldSet::beyond, &FieldSet::response_beyond}) {
    (this->*list).insert((other.*list).begin(), (other.*list).end());
  }
}

void FieldSet::remove(const FieldSet& other) {
  for (const uint32_t segment : other.segments) segments.erase(segment);
  stack = stack && !other.stack;
  for (auto list : {&FieldSet::query, &FieldSet::form, &FieldSet::json, &FieldSet::message,
                    &FieldSet::response, &FieldSet::beyond, &FieldSet::response_beyond}) {
    for (const std::string& name : other.*list) (this->*list).erase(name);
  }
}

FieldSet differences(const RpcRecord& a, const RpcRecord& b, uint32_t index_parts) {
  FieldSet out;
  const auto left = segments_of(request_path_of(a)), right = segments_of(request_path_of(b));
  if (a.is_redis()) {
    if (a.target != b.target) out.beyond.insert("the pattern of its key");
  } else if (left.size() != right.size()) {
    out.beyond.insert("the number of segments of its path");
  } else {
    for (uint32_t i = 0; i < left.size(); ++i) {
      if (left[i] != right[i]) out.segments.insert(i + 1);
    }
  }
  out.stack = (index_parts & kIndexStack) != 0 && a.stack != b.stack;
  // The names of the query's arguments belong to the signature, their values to the payload.
  if (query_names(a) != query_names(b)) {
    out.beyond.insert("the names of its query arguments");
  } else if ((index_parts & kIndexPayload) != 0) {
    const Values x = query_values(a), y = query_values(b);
    for (const auto& [name, values] : x) {
      if (y.at(name) != values) out.query.insert(name);
    }
  }
  if ((index_parts & kIndexPayload) != 0) body_differences(a, b, &out);
  response_differences(a, b, &out);
  return out;
}

bool rule_applies(const NondeterminismRule& rule, const RpcRecord& rpc) {
  const auto same = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  return same(rule.caller, caller_of(rpc)) && same(rule.service, rpc.service) &&
         same(rule.method, rpc.method) &&
         (rule.path.empty() || path_matches(rule.path, request_path_of(rpc))) &&
         (rule.grpc.empty() ||
          (rpc.is_grpc() && grpc_name_matches(rule.grpc, request_path_of(rpc))));
}

std::set<uint32_t> masked_segments(const std::vector<NondeterminismRule>& rules,
                                   const RpcRecord& rpc) {
  std::set<uint32_t> out;
  for (const NondeterminismRule& rule : rules) {
    if (rule_applies(rule, rpc)) out.insert(rule.path_segments.begin(), rule.path_segments.end());
  }
  return out;
}

FieldSet covered_by(const std::vector<NondeterminismRule>& rules, const RpcRecord& rpc,
                    const FieldSet& fields) {
  FieldSet out;
  for (const NondeterminismRule& rule : rules) {
    if (!rule_applies(rule, rpc)) continue;
    out.stack = out.stack || (rule.stack && fields.stack);
    for (const uint32_t number : rule.path_segments) {
      if (fields.segments.contains(number)) out.segments.insert(number);
    }
    for (const std::string& name : rule.query) {
      if (fields.query.contains(name)) out.query.insert(name);
    }
    for (const std::string& name : rule.form) {
      if (fields.form.contains(name)) out.form.insert(name);
    }
    for (const std::string& field : fields.json) {
      for (const std::string& mask : rule.json) {
        if (pointer_covers(mask, field)) out.json.insert(field);
      }
    }
    for (const std::string& field : fields.message) {
      for (const std::string& mask : rule.message) {
        if (pointer_covers(mask, field)) out.message.insert(field);
      }
    }
    for (const std::string& field : fields.response) {
      for (const std::string& mask : rule.response) {
        if (pointer_covers(mask, field)) out.response.insert(field);
      }
    }
  }
  return out;
}

std::string masked_identity(const std::vector<NondeterminismRule>& rules, const RpcRecord& rpc,
                            uint32_t index_parts) {
  const auto segments = segments_of(request_path_of(rpc));
  const Values query = query_values(rpc), body = leaf_values(rpc.request_fields);
  const auto fields_of = [&] {
    switch (rpc.request_fields.form) {
      case BodyForm::kJson:
        return &FieldSet::json;
      case BodyForm::kMessage:
        return &FieldSet::message;
      default:
        return &FieldSet::form;
    }
  }();
  FieldSet all;
  all.stack = true;
  for (uint32_t i = 0; i < segments.size(); ++i) all.segments.insert(i + 1);
  for (const auto& [name, values] : query) all.query.insert(name);
  for (const auto& [path, values] : body) (all.*fields_of).insert(path);
  const FieldSet masked = covered_by(rules, rpc, all);
  const uint32_t parts = masked.stack ? index_parts & ~uint32_t{kIndexStack} : index_parts;
  std::string out = kind_of(rpc, parts, true);
  for (uint32_t i = 0; i < segments.size(); ++i)
    out += "/" + (masked.segments.contains(i + 1) ? std::string("*") : segments[i]);
  const auto add = [&](const Values& from, const std::set<std::string>& hidden) {
    for (const auto& [name, values] : from) {
      if (hidden.contains(name)) continue;
      out += "\n" + name;
      for (const uint64_t value : values) out += " " + std::to_string(value);
    }
  };
  if ((index_parts & kIndexPayload) == 0) return out;
  add(query, masked.query);
  if (readable(rpc.request_fields)) {
    add(body, masked.*fields_of);
  } else {
    out += "\n" + to_hex(rpc.request_fields.known ? rpc.request_fields.plain : rpc.payload);
  }
  return out;
}

std::string_view request_path_of(const RpcRecord& rpc) {
  // A key is one whole: its ':' and '/' are no segments.
  return rpc.is_redis() ? std::string_view(rpc.target) : request_path(rpc.method, rpc.target);
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> out;
  each_segment(path, [&](uint32_t, std::string_view text) { out.emplace_back(text); });
  return out;
}

std::string plain_pointer(std::string_view path) {
  std::string out(path);
  std::erase(out, kElementMark);
  return out;
}

std::vector<std::string> describe_fields(const FieldSet& fields, const RpcRecord& rpc,
                                         const FieldNames& names) {
  const bool grpc = rpc.is_grpc();
  const auto message_field = [&](const std::string& path, bool answer) {
    const std::string name = names ? names(rpc, path, answer) : "";
    return "message field " + path + (name.empty() ? "" : " (" + name + ")");
  };
  std::vector<std::string> out;
  if (fields.stack) out.push_back("its call stack");
  for (const uint32_t number : fields.segments)
    out.push_back("path segment " + std::to_string(number));
  for (const std::string& name : fields.query) out.push_back("query argument " + name);
  for (const std::string& path : fields.json) out.push_back("JSON field " + plain_pointer(path));
  for (const std::string& path : fields.message) out.push_back(message_field(path, false));
  for (const std::string& name : fields.form) out.push_back("form field " + name);
  for (const std::string& path : fields.response)
    out.push_back((grpc ? message_field(path, true) : "JSON field " + plain_pointer(path)) +
                  " of the answer");
  out.insert(out.end(), fields.beyond.begin(), fields.beyond.end());
  out.insert(out.end(), fields.response_beyond.begin(), fields.response_beyond.end());
  return out;
}

}  // namespace filibuster
