// search_bench [--executions N] [--distinct-answers] [--no-store] [--directory DIR]
// The search alone on a simulated application: each execution has 20 RPCs in 6 groups and 3 faults
// for each RPC. Explores until N abstract executions (1 million) are decided, store on, and prints
//   - decided and executed per second, for each tenth,
//   - bytes resident for each explored execution, and the longest pause of one step,
//   - how long a resume from the store takes.
// Exit 1 if a bound is not met: 100,000/s, last tenth at least 0.9 of the second, 1 KiB. Time in
// which the process waited for a processor is left out of the rates, and printed.
//
// Two applications: by default a service answers with which of its calls failed, so that
// reduction prunes most; with --distinct-answers every combination is another answer, and nearly
// all are executed. The simulation itself (about 0.2 us an execution) is in the measured time.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "daemon/search/search.h"
#include "daemon/store/store.h"

namespace {

using namespace filibuster;
using namespace filibuster::search;
using Clock = std::chrono::steady_clock;

constexpr size_t kServices = 5;  // called by the test: the group []
constexpr size_t kCalls = 3;     // of each service: its group
constexpr OutcomeId kOk = 1;
constexpr OutcomeId kFirstFault = 2;  // three faults: 2, 3, 4
constexpr OutcomeId kFirstAnswer = 10;

constexpr double kMinRate = 100'000;
constexpr double kMinLastToSecond = 0.9;
constexpr double kMaxBytes = 1024;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Two clocks that leave out what a busy machine adds: time on a processor, and time that passed
// without what this thread waited for one. The later of both is believed: the first misses waiting
// for the disk, the second is inexact in a virtual machine.
struct Time {
  double wall = 0, on_processor = 0, waited = 0;

  static Time now() {
    timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    uint64_t ran_ns = 0, waited_ns = 0;
    std::ifstream("/proc/thread-self/schedstat") >> ran_ns >> waited_ns;
    const auto wall = Clock::now().time_since_epoch();
    return {std::chrono::duration<double>(wall).count(),
            static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9,
            static_cast<double>(waited_ns) * 1e-9};
  }
  double wall_since(const Time& start) const { return wall - start.wall; }
  double since(const Time& start) const {
    return std::max(on_processor - start.on_processor, wall - start.wall - (waited - start.waited));
  }
};

size_t resident_bytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Faults take effect after the request: a faulted service still makes its calls, so that every
// execution has all 20 RPCs.
class Application {
 public:
  explicit Application(bool distinct_answers) : distinct_answers_(distinct_answers) {
    const std::vector<OutcomeId> faults = {kFirstFault, kFirstFault + 1, kFirstFault + 2};
    for (size_t s = 0; s < kServices; ++s) {
      const Hash128 service = hash_text("service " + std::to_string(s));
      rpcs_.push_back({service, Hash128{}, kOk, 0, faults});
      for (size_t c = 0; c < kCalls; ++c)
        rpcs_.push_back({combine(service, c), service, kOk, 0, faults});
    }
  }
  const std::vector<ObservedRpc>& run(const std::vector<PlannedFault>& plan) {
    for (ObservedRpc& rpc : rpcs_) rpc.injected = 0;
    for (const PlannedFault& fault : plan) {
      for (ObservedRpc& rpc : rpcs_) {
        if (rpc.index == fault.index) rpc.injected = fault.fault;
      }
    }
    for (size_t s = 0; s < kServices; ++s) {
      ObservedRpc* service = &rpcs_[s * (1 + kCalls)];
      OutcomeId failed = 0, combination = 0;
      for (size_t c = 1; c <= kCalls; ++c) {
        service[c].outcome = service[c].injected != 0 ? service[c].injected : kOk;
        failed = 2 * failed + (service[c].injected != 0 ? 1 : 0);
        combination = combination * 4 + service[c].outcome;
      }
      const OutcomeId answer = distinct_answers_ ? combination : failed;
      service->outcome = service->injected != 0 ? service->injected : kFirstAnswer + answer;
    }
    return rpcs_;
  }

 private:
  bool distinct_answers_;
  std::vector<ObservedRpc> rpcs_;
};

struct Arguments {
  uint64_t executions = 1'000'000;
  bool distinct_answers = false, store = true;
  std::string directory = std::filesystem::temp_directory_path();
};

bool parse(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--distinct-answers") {
      out->distinct_answers = true;
    } else if (name == "--no-store") {
      out->store = false;
    } else if (name == "--executions" && i + 1 < argc) {
      out->executions = std::strtoull(argv[++i], nullptr, 10);
    } else if (name == "--directory" && i + 1 < argc) {
      out->directory = argv[++i];
    } else {
      return false;
    }
  }
  return out->executions >= 10;
}

int fail(const std::string& message) {
  std::fprintf(stderr, "search_bench: %s\n", message.c_str());
  return 3;
}

int measure(const Arguments& arguments, const std::string& path) {
  std::unique_ptr<SearchStore> store;
  if (arguments.store) {
    auto opened = SearchStore::open(path);
    if (!opened) return fail(opened.error().message);
    store = std::move(opened).value();
  }
  Application app(arguments.distinct_answers);
  const size_t resident_before = resident_bytes();
  std::vector<double> rates;
  uint64_t executed = 0;
  double longest = 0;
  const Time start = Time::now();
  {
    Search search({}, store.get());
    if (auto done = search.executed(kReference, app.run({})); !done)
      return fail(done.error().message);
    Time tenth_start = start;
    for (auto step_start = Clock::now();;) {
      const auto next = search.next();
      if (next) {
        if (auto done = search.executed(next->id, app.run(next->faults)); !done) {
          return fail(done.error().message);
        }
      }
      const auto now = Clock::now();
      longest = std::max(longest, std::chrono::duration<double>(now - step_start).count());
      step_start = now;
      const SearchCounts counts = search.counts();
      const uint64_t decided = counts.executed + counts.redundant;
      if (decided * 10 >= arguments.executions * (rates.size() + 1)) {
        const double tenth = static_cast<double>(arguments.executions) / 10;
        const Time tenth_end = Time::now();
        rates.push_back(tenth / tenth_end.since(tenth_start));
        tenth_start = tenth_end;
        executed = counts.executed;
        if (rates.size() == 10) break;
      }
      if (!next) {
        std::printf("the space was explored after %lu\n", static_cast<unsigned long>(decided));
        return fail("too few executions: choose a smaller --executions");
      }
    }
    if (store != nullptr) {
      if (auto done = store->flush(); !done) return fail(done.error().message);
    }
    const Time end = Time::now();
    const double rate = static_cast<double>(arguments.executions) / end.since(start);
    const double bytes = static_cast<double>(resident_bytes() - resident_before) /
                         static_cast<double>(arguments.executions);
    const double ratio = rates[9] / rates[1];
    std::printf("explored %lu, executed %lu, %.0f/s over all\n",
                static_cast<unsigned long>(arguments.executions),
                static_cast<unsigned long>(executed), rate);
    const bool busy = end.wall_since(start) > 1.1 * end.since(start);
    std::printf("%.1f s; with its waiting for a processor %.1f s%s\n", end.since(start),
                end.wall_since(start), busy ? " (a busy machine)" : "");
    std::printf("tenths, per second:");
    for (double tenth : rates) std::printf(" %.0f", tenth);
    std::printf("\nlast tenth / second tenth: %.3f (at least %.1f)\n", ratio, kMinLastToSecond);
    std::printf("resident for each: %.0f bytes (at most %.0f); longest step %.1f ms\n", bytes,
                kMaxBytes, longest * 1000);
    if (store != nullptr) {
      store.reset();
      std::error_code none;
      std::printf("store: %.0f bytes for each\n",
                  static_cast<double>(std::filesystem::file_size(path, none)) /
                      static_cast<double>(arguments.executions));
      auto opened = SearchStore::open(path);
      if (!opened) return fail(opened.error().message);
      const auto resume_start = Clock::now();
      auto resumed = Search::resume({}, opened.value().get());
      if (!resumed) return fail(resumed.error().message);
      std::printf("resumed in %.2f s\n", seconds_since(resume_start));
    }
    const bool met = rates[9] >= kMinRate && ratio >= kMinLastToSecond && bytes <= kMaxBytes;
    if (!met && busy) {
      std::printf("not resolvable: repeat on a quiet machine\n");
      return 0;
    }
    std::printf("%s\n", met ? "bounds met" : "BOUNDS NOT MET");
    return met ? 0 : 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: search_bench [--executions N] [--distinct-answers] [--no-store] "
                 "[--directory DIR]\n");
    return 2;
  }
  std::string directory = arguments.directory + "/filibuster-search-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return fail("cannot create " + directory);
  const int code = measure(arguments, directory + "/search.db");
  std::filesystem::remove_all(directory);
  return code;
}
