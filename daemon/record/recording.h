// A recording of one service in a session: what its agents write is assembled, redacted and written while it runs, by a thread of its own. It ends by
// itself where nothing can be written any more, and the session goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/agents/symbolize.h"
#include "daemon/record/assembler.h"
#include "daemon/record/case_writer.h"
#include "daemon/record/redactor.h"

namespace filibuster::record {

class Recording {
 public:
  struct Options {
    std::string folder;                // absolute
    cases::CaseSet set;                // of what is known before; also what is a secret
    std::set<std::string> parts = {};  // services that are a part of it
    uint64_t most_bytes = kAnySize;    // of the files of cases
    uint32_t startup_execution = 0;
    uint32_t sample = 1;  // one request in so many becomes a case
    std::function<std::string(uint16_t)> port_name = {};
    // Both are called from the recording's thread.
    std::function<void(const std::string&)> warn;
    // Many RPCs were told since the last call: agents have tables for those of one execution.
    std::function<void()> turn_over = [] {};
  };
  static Result<std::unique_ptr<Recording>> start(std::shared_ptr<AgentHub> hub, Options options);
  ~Recording();
  Recording(const Recording&) = delete;

  // Writes what is left, and lets go of the hub. What is under way is partial.
  void finish();

  // --- after finish()
  struct Summary {
    CaseWriter::Counts counts;
    size_t process_calls = 0, openings = 0;
    uint64_t not_taken = 0;  // requests, by the sample
    uint64_t partial_process_calls = 0, calls_without_case = 0, lost = 0, untold_requests = 0;
    std::vector<std::string> not_followed;
    std::string problem;  // why the recording has ended early; "": it has not
  };
  const Summary& summary() const { return summary_; }
  // What stands for the secrets of this recording.
  const Redactor& redactor() const { return redactor_; }

 private:
  Recording(std::shared_ptr<AgentHub> hub, Options options, std::unique_ptr<CaseWriter> writer);
  void run();
  void turn();
  void write(Assembled taken);
  Result<void> try_to_write(Assembled taken);
  bool is_taken();
  std::string site_of(cases::Kind kind, std::vector<std::string> stack);
  cases::Draw named(DraftDraw draw);
  void take_out_secrets(std::vector<cases::Draw>* draws);

  std::shared_ptr<AgentHub> hub_;  // null: it has ended
  Options options_;
  const std::shared_ptr<Assembler> assembler_;
  const std::unique_ptr<CaseWriter> writer_;
  Redactor redactor_;
  Symbolizer symbolizer_;
  Summary summary_;
  uint64_t rpcs_ = 0;                // since the last turn_over()
  uint32_t place_ = 0, chosen_ = 0;  // in the running lot of `sample` requests

  std::mutex mutex_;  // guards `ending_`
  std::condition_variable ending_changed_;
  bool ending_ = false;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace filibuster::record
