// `filibuster trace --follow`: an execution without a test and without an end of its own. What happens is
// told as it happens.
#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/observe/rpc_row.h"
#include "daemon/report/json.h"
#include "daemon/report/text.h"
#include "daemon/verbs/trace/request.h"
#include "daemon/verbs/trace/watched_calls.h"

namespace filibuster {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{200};   // between two looks at what was seen
constexpr milliseconds kTell{1000};  // between two events with the table
constexpr size_t kMostEvents = 200;  // of single calls, for each look
// An execution keeps its RPCs in memory, and beyond the first of these numbers only those that are not over. Another one
// begins when nothing is open, or in any case, since agents have a counter for each place where calls are made.
constexpr size_t kEnough = 2000, kTooMany = 20'000;

bool is_open(const ExecutionRecord& record) {
  return std::any_of(record.rpcs.begin(), record.rpcs.end(),
                     [](const RpcRecord& rpc) { return rpc.open || rpc.incoming_open; });
}

double took_ms(const RpcRecord& rpc) {
  return rpc.finished_ns > rpc.issued_ns
             ? static_cast<double>(rpc.finished_ns - rpc.issued_ns) / 1e6
             : 0;
}

class FollowMode final : public Mode {
 public:
  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override {
    Exploration out;
    out.report.test = test.name;
    out.report.finished = true;
    session->sink(
        {{"type", "session"}, {"test", test.name}, {"resumed", false}, {"watching", true}});
    if (auto followed = follow(session, lane); !followed) out.error = followed.error();
    return out;
  }

  Outcome judge(SessionReport*, const SessionEnd&) const override { return {}; }
  Document document(const SessionReport& report) override { return {"", to_json(report), {}}; }

  std::string summary(const SessionReport& report, const SessionEnd&) const override {
    std::string out = calls_.text();
    for (const TestReport& test : report.tests) {
      if (const std::string limits = limits_text(test); !limits.empty()) out += "\n" + limits;
    }
    return out;
  }

 private:
  Result<void> follow(SessionContext* session, Lane* lane) {
    AgentHub& hub = lane->hub();
    if (auto begun = hub.begin_execution(session->counters.next_execution++, {}); !begun)
      return begun;
    const auto began = Clock::now();
    auto told = began;
    Result<void> result;
    for (bool ends = false; !ends && result.ok();) {
      pollfd woken{lane->place().wake_fd, POLLIN, 0};
      ends = poll(&woken, 1, static_cast<int>(kLook.count())) > 0;
      if (ends) lane->services().look_at_attached();
      const ExecutionRecord record =
          calls_.ids() > kEnough ? hub.take_ended() : hub.snapshot(StackLines::kOfAll);
      see(session, record);
      const auto now = Clock::now();
      if (now - told >= kTell || ends) {
        count_unseen(*lane);
        tell(session, std::chrono::duration<double>(now - told).count(),
             std::chrono::duration<double>(now - began).count());
        told = now;
        // A service that somebody else starts joins at its first call: who has made none by now is looked for.
        if (ends) warn_of_programs_elsewhere(*session, *lane);
      }
      const size_t known = std::max(calls_.ids(), record.rpcs.size());
      if (!ends && (known > kTooMany || (known > kEnough && !is_open(record)))) {
        const ExecutionRecord last = hub.next_execution(session->counters.next_execution++);
        see(session, last);
        calls_.begin_next(last);
      }
      result = still_there(lane);
    }
    hub.end_execution();
    return result;
  }

  void see(SessionContext* session, const ExecutionRecord& record) {
    size_t events = 0;
    calls_.see(record, [&](const RpcRecord& rpc) {
      if (++events > kMostEvents)
        ++not_told_;
      else
        session->sink({{"type", "rpc"}, {"rpc", rpc_row(rpc)}, {"milliseconds", took_ms(rpc)}});
    });
  }

  void count_unseen(Lane& lane) {
    uint64_t writes = 0;
    for (const auto& [service, number] : lane.services().old_connections().writes) writes += number;
    calls_.set_unseen(
        std::max(writes, calls_.unseen()));  // a service that has ended is counted no more
  }

  void tell(SessionContext* session, double interval, double seconds) {
    calls_.end_interval(interval);
    session->sink({{"type", "calls"},
                   {"seconds", seconds},
                   {"calls", calls_.rows()},
                   {"not_told", not_told_},
                   {"unseen", calls_.unseen()},
                   {"cut_off", calls_.cut_off()},
                   {"lost", calls_.lost()},
                   {"text", calls_.text()}});
  }

  // What is followed may end; the rest goes on.
  static Result<void> still_there(Lane* lane) {
    lane->services().take_ended({});
    return lane->services().check_attached();
  }

  WatchedCalls calls_;
  uint64_t not_told_ = 0;
};

}  // namespace

std::unique_ptr<Mode> make_follow_mode(const SessionRequest&) {
  return std::make_unique<FollowMode>();
}

}  // namespace filibuster
