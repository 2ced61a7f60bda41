// What the daemon ends when a fault of ours has lasted too long.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace filibuster {

// What the daemon ended when a fault of ours had lasted until the hang limit.
struct HangLimit {
  enum class Reached : uint8_t {
    kNot,
    kBySilence,  // the caller waited for an answer until then: it has no timeout, or a longer one
    kByAnswer,   // the server's own answer, which is awaited first, did not end
    kByReader,   // the caller does not read the answer
    // Of an answer that stops in the middle of its body. kByStall: the caller still waited for the rest at the limit,
    // and may have a longer one. kNoLimit: its thread was about to wait for the rest, and for nothing else, without
    // a limit.
    kByStall,
    kNoLimit,
    kLeftOpen,  // the request that caused the call was answered: the caller gave up, or waits for no answer
    kOutlived,  // the request that caused the call was given up by its own client, and the call was still open
  };
  Reached reached = Reached::kNot;
  uint64_t limit_ns = 0;
  bool without_limit =
      false;  // of kBySilence: a thread was seen to wait, and its wait has no limit

  bool is_of_silence() const { return reached == Reached::kBySilence; }
  // Nothing but the fault's end can end the wait.
  bool has_no_timeout() const { return is_of_silence() && without_limit; }
  // A caller waited for as long as the fault lasted, for an answer or the rest of one.
  bool waited_on() const {
    return is_of_silence() || reached == Reached::kByStall || reached == Reached::kNoLimit;
  }
  bool was_still_open() const { return waited_on() || reached == Reached::kOutlived; }
};

// Stands in what is said where the caller may have a longer limit.
inline constexpr std::string_view kStillWaited = "caller still waited after ";

// "caller has no timeout (hang limit 5.0 s reached)", "caller still waited after 6 s for an answer"
inline std::string to_text(const HangLimit& limit) {
  const uint64_t tenths = limit.limit_ns / 100'000'000;
  if (limit.reached == HangLimit::Reached::kNoLimit) return "caller has no limit for the body";
  const bool stalls = limit.reached == HangLimit::Reached::kByStall;
  if (stalls || (limit.is_of_silence() && !limit.without_limit)) {
    return std::string(kStillWaited) + std::to_string(tenths / 10) +
           (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) +
           (stalls ? " s for the rest of the body" : " s for an answer");
  }
  const char* what = "";
  switch (limit.reached) {
    case HangLimit::Reached::kNot:
    case HangLimit::Reached::kByStall:
    case HangLimit::Reached::kNoLimit:
      break;
    case HangLimit::Reached::kBySilence:
      what = "caller has no timeout";
      break;
    case HangLimit::Reached::kByAnswer:
      what = "the server's own answer did not end";
      break;
    case HangLimit::Reached::kByReader:
      what = "the caller does not read the answer";
      break;
    case HangLimit::Reached::kLeftOpen:
      what =
          "the caller has left the call open behind the request that caused it: it gave up, or does not "
          "wait for the answer";
      break;
    case HangLimit::Reached::kOutlived:
      what = "call was still open, long after the caller's own client had given up";
      break;
  }
  return std::string(what) + " (hang limit " + std::to_string(tenths / 10) + "." +
         std::to_string(tenths % 10) + " s reached)";
}

}  // namespace filibuster
