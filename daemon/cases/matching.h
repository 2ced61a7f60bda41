// Which recorded call answers a call of a service that is replayed. Pure: calls come in as values
// with their cause, and decisions go out; the server that reads the one and writes the other is
// elsewhere. A recorded answer goes to a call that brings exactly the same, under masks; the
// nearest one is shown where none does, and never served.
//
//   Matcher matcher(&rules, &process);       // for the life of a process
//   matcher.begin(&the_case);
//   Decision decision = matcher.arrive(call);
//   ... send decision.answer as recorded, or an error with decision.problem, and then:
//   matcher.answered(decision.arrival);
//   matcher.end();                           // calls of the case may come behind it, too
//
// A copy is a matcher for another case in the life of the same process, whose calls are of both.
//
// One thread at a time. What is given outlives the matcher; a case outlives the next begin().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/cases/fields.h"
#include "daemon/cases/identity.h"
#include "daemon/cases/model.h"

namespace filibuster::cases {

// Why a call is made, as far as it is known.
enum class Cause : uint8_t {
  kCase,     // the request of the case that runs
  kProcess,  // start-up, or a background loop
  kNone,     // not known
  kUnseen,   // nothing says which call this is: it gets no answer
};

struct LiveCall {
  CallInput input;
  std::string site;  // site_of() of its stack
  Cause cause = Cause::kCase;
};

struct Nearest {
  bool of_process = false;
  size_t place = 0;  // among the calls of the case, or of the process
  bool taken = false;
  std::vector<FieldDifference> fields;
};

struct Decision {
  size_t arrival = 0;            // its number, for answered()
  const Call* answer = nullptr;  // to be served; nullptr: a miss
  bool of_process = false;
  size_t place = 0;     // of `answer`
  std::string problem;  // of a miss: one line for the error that the call gets
};

// A list of recorded calls of which some are taken. (The part of a matcher that a case and a
// process share.)
class CallPool {
 public:
  CallPool() = default;
  // `keeps_last`: of calls that bring the same, the last one answers all further ones, since a poll
  // goes on.
  CallPool(const std::vector<Call>* calls, const Rules& rules, bool keeps_last);

  // The place of the call that answers. `only_causeless`: calls whose cause was not known when they
  // were recorded.
  std::optional<size_t> take(const Keys& keys, const std::string& site, bool only_causeless);
  // `expected`: the place at which a call is due.
  std::optional<Nearest> nearest(const Keys& keys, const Fields& fields, size_t expected) const;

  size_t size() const { return rows_.size(); }
  size_t taken() const { return taken_; }
  bool is_taken(size_t place) const { return rows_[place].taken; }
  const Call& call(size_t place) const { return (*calls_)[place]; }
  const Keys& keys(size_t place) const { return rows_[place].keys; }
  const Fields& fields(size_t place) const { return rows_[place].fields; }

 private:
  struct Row {
    Keys keys;
    Fields fields;
    size_t group = 0;  // the first attempt of its call
    bool taken = false;
  };
  bool is_last_of_its_kind(size_t place) const;

  const std::vector<Call>* calls_ = nullptr;
  std::vector<Row> rows_;
  bool keeps_last_ = false;
  size_t taken_ = 0;
};

class Matcher {
 public:
  // A call that came while a case ran, in order of arrival.
  struct Arrival {
    LiveCall call;
    Keys keys;
    Fields fields;
    std::optional<size_t> place;  // of the call of the case that answered
    bool of_process = false;      // it is no call of the case
    size_t taken_before = 0;      // how many calls of the case were answered when it came
    std::string problem;          // of a miss
    bool missed() const { return !problem.empty(); }
  };

  // `process`: nullptr: nothing is recorded of it.
  Matcher(const Rules* rules, const ProcessRecord* process);

  void begin(const Case* running);
  // Its request is over. What comes without a known cause from now on is of the process.
  void end() { is_open_ = false; }
  Decision arrive(const LiveCall& call);
  // Its answer was sent, or it is left without one, as it was recorded.
  void answered(size_t arrival);
  // The recorded reply to what a client says of its own connection; at each connection anew.
  // nullptr: none.
  const Opening* opening(const std::string& to, const nlohmann::json& command) const;

  // Of the case that runs or ran last, until the next begin().
  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  const CallPool& pool() const { return pool_; }
  // Edges a -> b of `after`: b came before a was answered.
  const std::vector<std::pair<size_t, size_t>>& broken() const { return broken_; }
  // Calls of the process that had no answer, in the whole life of this matcher.
  const std::vector<std::string>& process_misses() const { return process_->misses; }

 private:
  std::string miss_text(const LiveCall& call, const std::optional<Nearest>& nearest) const;

  struct Process {
    const ProcessRecord* record;
    CallPool pool;
    std::vector<std::string> misses;
  };

  const Rules* rules_;
  std::shared_ptr<Process> process_;
  bool has_case_ = false, is_open_ = false;  // its request is under way
  CallPool pool_;
  std::vector<bool> answered_;  // by place
  std::vector<Arrival> arrivals_;
  std::vector<std::pair<size_t, size_t>> broken_;
};

}  // namespace filibuster::cases
