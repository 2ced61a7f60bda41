#include "daemon/record/assembled.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/hash.h"
#include "daemon/cases/messages.h"

namespace filibuster::record {
namespace {

using cases::Ends;
using cases::Kind;

void add_problem(std::string* to, const char* text) {
  if (to->empty()) *to = text;
}

// What came in the place of an answer, and what is not whole.
void fill_ending(DraftCall* call, bool has_answer, const Exchange& exchange, std::string* problem) {
  const bool is_whole = exchange.answer_is_whole;
  cases::Answer& answer = call->call.answer;
  switch (call->ending.outcome) {
    case RpcOutcome::kAnswered:
      if (!has_answer || !is_whole) add_problem(problem, "its answer was not recorded whole");
      return;
    case RpcOutcome::kNotRead:
      if (!is_whole) add_problem(problem, "its caller did not read the answer to its end");
      return;
    case RpcOutcome::kReset:
      answer.ends = Ends::kReset;
      answer.stream_error = exchange.stream_error;
      return;
    case RpcOutcome::kClosed:
      answer.ends = Ends::kClosed;
      return;
    case RpcOutcome::kTimedOut:
      answer.silence = true;
      return;
    case RpcOutcome::kRefused:
      return add_problem(problem, "its connection was refused");
    case RpcOutcome::kGarbled:
      return add_problem(problem, "what came is no answer in its protocol");
  }
}

cases::Answer answer_of(const Exchange& exchange) {
  return cases::answer_of(*exchange.answer, exchange.request ? &*exchange.request : nullptr);
}

std::string dumped(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// What a call asks, but for header fields: they have times and numbers of their own.
Hash128 asked(const DraftCall& of) {
  const cases::CallInput& input = of.call.input;
  Hash128 out = combine(hash_text(input.to), static_cast<uint64_t>(input.kind));
  out = combine(out, hash_text(input.http.method));
  out = combine(out, hash_text(input.http.target));
  out = combine(out, hash_text(input.http.body));
  out = combine(out, hash_text(dumped(input.command)));
  for (const std::string& frame : of.stack) out = combine(out, hash_text(frame));
  return out;
}

// By what calls that are under way together are ordered: by nothing that chance decides.
std::string order_text(const DraftCall& of) {
  const cases::CallInput& input = of.call.input;
  std::string out = input.to + '\n' + input.http.method + ' ' + input.http.target + '\n';
  if (input.kind == Kind::kRedis) out += dumped(input.command);
  out += '\n' + to_hex(asked(of)) + '\n' + std::to_string(of.call.answer.status);
  out += to_hex(hash_text(of.call.answer.body));
  if (of.call.reply) out += to_hex(hash_text(dumped(*of.call.reply)));
  return out;
}

// Calls in an order in which each comes behind all that had ended when it was sent, and behind those that were sent before it on its
// connection. Which one of several comes next does not depend on when they were sent.
class Order {
 public:
  explicit Order(std::vector<DraftCall>* calls) : calls_(*calls) {}

  std::vector<DraftCall> run() {
    std::stable_sort(calls_.begin(), calls_.end(), [](const DraftCall& a, const DraftCall& b) {
      return std::pair(a.issued_ns, a.number) < std::pair(b.issued_ns, b.number);
    });
    for (const DraftCall& each : calls_) texts_.push_back(order_text(each));
    placed_.assign(calls_.size(), false);
    std::vector<DraftCall> out;
    while (out.size() < calls_.size()) {
      const size_t next = choose();
      placed_[next] = true;
      out.push_back(std::move(calls_[next]));
    }
    return out;
  }

 private:
  size_t choose() const {
    uint64_t first_end = std::numeric_limits<uint64_t>::max();
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (!placed_[i]) first_end = std::min(first_end, calls_[i].finished_ns);
    }
    std::optional<size_t> best;
    std::set<uint64_t> connections;  // on which an earlier call waits
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (placed_[i]) continue;
      const DraftCall& each = calls_[i];
      if (best && each.issued_ns > first_end) break;
      const bool first = each.connection == 0 || connections.insert(each.connection).second;
      if (first && (!best || texts_[i] < texts_[*best])) best = i;
    }
    return *best;
  }

  std::vector<DraftCall>& calls_;
  std::vector<std::string> texts_;
  std::vector<bool> placed_;
};

// Which calls wait for which. What different threads do is ordered by chance, and so are tasks that share a thread while one of them
// waits: so only what a thread sends while nothing else of it is open waits for what it had before. Which tasks a thread of a pool takes is
// chance, too: where several threads call, only those of the thread that has received the request are ordered.
class Edges {
 public:
  Edges(const std::vector<DraftCall>& calls, uint64_t thread) : calls_(calls), thread_(thread) {
    is_one_thread_ = std::all_of(calls.begin(), calls.end(), [&](const DraftCall& each) {
      return each.thread == calls.front().thread;
    });
  }

  std::vector<std::vector<size_t>> run() {
    for (size_t i = 0; i < calls_.size(); ++i) {
      follows_.emplace_back(calls_.size(), false);
      std::vector<size_t> after;
      const bool is_ordered = is_one_thread_ || calls_[i].thread == thread_;
      if (is_ordered && calls_[i].thread != 0 && !another_is_open(i)) after = before(i);
      std::sort(after.begin(), after.end());
      out_.push_back(std::move(after));
    }
    return std::move(out_);
  }

 private:
  bool another_is_open(size_t at) const {
    return std::any_of(calls_.begin(), calls_.end(), [&](const DraftCall& each) {
      return &each != &calls_[at] && each.thread == calls_[at].thread &&
             each.issued_ns <= calls_[at].issued_ns && each.finished_ns >= calls_[at].issued_ns;
    });
  }

  // Without those that others of them have waited for.
  std::vector<size_t> before(size_t at) {
    std::vector<size_t> out;
    std::vector<bool>& covered = follows_[at];
    for (size_t i = at; i-- > 0;) {
      const DraftCall& each = calls_[i];
      if (each.thread != calls_[at].thread || each.finished_ns >= calls_[at].issued_ns) continue;
      if (covered[i]) continue;
      out.push_back(i);
      covered[i] = true;
      for (size_t j = 0; j < i; ++j) {
        // Answers of one connection come in the order of their requests.
        const bool answered_before = each.connection != 0 &&
                                     calls_[j].connection == each.connection &&
                                     calls_[j].number < each.number && !each.is_http2;
        if (follows_[i][j] || answered_before) covered[j] = true;
      }
    }
    return out;
  }

  const std::vector<DraftCall>& calls_;
  const uint64_t thread_;
  bool is_one_thread_ = true;
  std::vector<std::vector<bool>> follows_;
  std::vector<std::vector<size_t>> out_;
};

// The same call from the same place, after the one before it has failed (preload/rpc/attempts.cc has the rules of live calls).
void find_attempts(std::vector<DraftCall>* calls) {
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < calls->size(); ++i) {
    DraftCall& each = (*calls)[i];
    const auto [place, is_first] = last.try_emplace(to_hex(asked(each)), i);
    if (is_first) continue;
    const DraftCall& before = (*calls)[std::exchange(place->second, i)];
    const Protocol protocol = each.call.input.kind == Kind::kRedis ? Protocol::kRedis
                              : each.is_grpc                       ? Protocol::kGrpc
                                                                   : Protocol::kHttp;
    if (!before.ending.failed(protocol) || before.finished_ns > each.issued_ns) continue;
    each.call.attempt_of = before.call.attempt_of ? *before.call.attempt_of
                                                  : static_cast<size_t>(&before - calls->data());
  }
}

size_t bytes_of(const cases::Case& of) {
  size_t out = of.request.body.size() + of.answer.body.size();
  for (const cases::Call& call : of.calls) {
    out += call.input.http.body.size() + call.answer.body.size();
    if (call.input.kind == Kind::kRedis) out += dumped(call.input.command).size();
    if (call.reply) out += dumped(*call.reply).size();
  }
  return out;
}

void drop_bodies(cases::Case* of) {
  of->request.body.clear();
  of->answer.body.clear();
  of->answer.pieces.clear();
  for (cases::Call& call : of->calls) {
    call.input.http.body.clear();
    call.answer.body.clear();
    call.answer.pieces.clear();
    if (call.input.kind != Kind::kRedis) continue;
    call.input.command = nlohmann::json::array({call.input.command.at(0)});
    call.reply.reset();
  }
}

}  // namespace

std::string fill_call(DraftCall* call, Exchange exchange) {
  std::string problem = std::move(exchange.problem);
  cases::Call& to = call->call;
  if (to.input.kind == Kind::kRedis) {
    to.input.command =
        exchange.command ? std::move(*exchange.command) : nlohmann::json::array({call->method});
    to.reply = std::move(exchange.reply);
    fill_ending(call, to.reply.has_value(), exchange, &problem);
    return problem;
  }
  if (exchange.request) {
    to.input.http = cases::request_of(*exchange.request);
  } else {
    to.input.http.method = call->method;
    to.input.http.target = call->target;
  }
  if (exchange.answer) to.answer = answer_of(exchange);
  fill_ending(call, exchange.answer.has_value(), exchange, &problem);
  return problem;
}

std::string fill_entry(cases::Case* to, Exchange exchange) {
  if (exchange.request) to->request = cases::request_of(*exchange.request);
  if (exchange.answer) to->answer = answer_of(exchange);
  if (!exchange.problem.empty()) return exchange.problem;
  return exchange.answer && exchange.answer_is_whole ? "" : "its answer was not recorded whole";
}

RecordedCase make_case(cases::Case value, std::vector<DraftCall> calls, const Bounds& bounds,
                       uint64_t thread) {
  RecordedCase out{std::move(value), {}, {}};
  if (calls.size() > bounds.most_calls) {
    out.value.partial = "it makes more than " + std::to_string(bounds.most_calls) + " calls";
    calls.resize(bounds.most_calls);
  }
  calls = Order(&calls).run();
  find_attempts(&calls);
  std::vector<std::vector<size_t>> after = Edges(calls, thread).run();
  for (size_t i = 0; i < calls.size(); ++i) {
    calls[i].call.after = std::move(after[i]);
    out.value.calls.push_back(std::move(calls[i].call));
    out.stacks.push_back(std::move(calls[i].stack));
  }
  if (bytes_of(out.value) > bounds.most_bytes) {
    if (out.value.partial.empty())
      out.value.partial = "it is larger than " + std::to_string(bounds.most_bytes) + " bytes";
    drop_bodies(&out.value);
  }
  return out;
}

std::string plain_name(std::string_view service, std::string_view peer) {
  std::string out(service.empty() ? peer : service);
  for (char& c : out) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '-';
  }
  return out.empty() ? "unknown" : out;
}

}  // namespace filibuster::record
