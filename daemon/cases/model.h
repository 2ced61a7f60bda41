// Recorded cases: one request to a service with its answer, and every call that the service made
// for it. Plain data, as case_file.h writes and reads it. What calls are compared by is computed
// when it is needed (identity.h), and never stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/redact/rules.h"

namespace filibuster::cases {

inline constexpr int kCaseFormat = 1;

using Headers = std::vector<std::pair<std::string, std::string>>;

enum class Kind : uint8_t { kHttp, kRedis };
// How an answer that is no answer ends, or what follows it.
enum class Ends : uint8_t { kNone, kReset, kClosed };

struct Request {
  std::string method, target;
  Headers headers;   // those that kept_of_request() (messages.h) leaves
  std::string body;  // of gRPC: its messages, each with its prefix
  std::string port;  // the name of the service's port; "": its first one
  bool http2 = false;
  bool operator==(const Request&) const = default;
};

// A part of a body that came by itself. `gap_ms`: since the part before it, or the head, or what it has waited for.
struct Piece {
  uint64_t size = 0, gap_ms = 0;
  // Of a gRPC call that sends and receives in turns: how many messages of the request were there
  // before it. nullopt: the whole request was.
  std::optional<uint64_t> after = {};
  bool operator==(const Piece&) const = default;
};

struct Answer {
  uint16_t status = 0;  // 0: there was none; see `silence` and `ends`
  Headers headers, trailers;
  std::string body;
  std::vector<Piece> pieces;  // only where it came with gaps, or in turns with the request
  bool silence = false;       // the caller gave up waiting
  Ends ends = Ends::kNone;
  std::optional<uint32_t> stream_error;  // kReset of a stream of HTTP/2: its code (RFC 9113 §7)
  bool operator==(const Answer&) const = default;
};

// What a call is compared by, but for who made it.
struct CallInput {
  Kind kind = Kind::kHttp;
  std::string to;  // the name of the service that is called
  Request http;
  // Redis: an array of words (daemon/wire/resp_value.h). A transaction is one call: ["MULTI",
  // ["SET", "a", "1"], ["INCR", "b"]].
  nlohmann::json command;
  bool operator==(const CallInput&) const = default;
};

struct Call {
  CallInput input;
  std::string site;  // of the program, stable across edits of other lines (identity.h, site_of)
  bool cause_known = true;
  // The calls, by their place, whose answers were there before this one was sent. Sorted; those
  // that follow from others are left out.
  std::vector<size_t> after;
  // The place of the first attempt of the call that this one tries again.
  std::optional<size_t> attempt_of;
  Answer answer;                        // HTTP
  std::optional<nlohmann::json> reply;  // Redis; nullopt: see answer.silence and answer.ends
  int line = 0;                         // in the file that it was read from
  bool operator==(const Call& other) const {
    return input == other.input && site == other.site && cause_known == other.cause_known &&
           after == other.after && attempt_of == other.attempt_of && answer == other.answer &&
           reply == other.reply;
  }
};

// A random number that the service asked for (core/protocol/draws.h).
struct Draw {
  std::string source;  // draw_source_name()
  std::string bytes;   // as it got them
  std::string site;    // who asked, as of a call; "": it is not known
  // So many bytes, where there are none: a replay has the machine's own, since they have no effect. Those of later draws stay theirs.
  uint64_t own = 0;
  bool operator==(const Draw&) const = default;
};

struct Case {
  std::string service;
  int64_t base_us = 0;  // since 1970, UTC: when the request came
  uint64_t seen = 1;    // how many equal cases were recorded
  std::string partial;  // why not all of it was recorded; "": it is whole
  Request request;
  // Names of the cases, in order, that bring the service into the state in which this one begins.
  std::vector<std::string> start;
  std::vector<Draw> draws;  // in their order
  std::vector<Call> calls;  // in order of sending
  Answer answer;
  std::string file;  // that it was read from
  bool operator==(const Case& other) const {
    return service == other.service && base_us == other.base_us && seen == other.seen &&
           partial == other.partial && request == other.request && start == other.start &&
           draws == other.draws && calls == other.calls && answer == other.answer;
  }
};

// What a client of Redis asks of the connection itself: at each connection anew, in any case.
struct Opening {
  nlohmann::json command, reply;
  bool operator==(const Opening&) const = default;
};

// What belongs to the life of the process: calls of start-up and of background loops, and what
// connections begin with.
struct ProcessRecord {
  std::string service;
  std::vector<Draw> draws;  // of its start
  std::vector<Call> calls;
  std::map<std::string, std::vector<Opening>> openings;  // by the service that is called
  bool operator==(const ProcessRecord&) const = default;
};

struct Build {
  std::string program, id;  // a build id, or a digest of the program's files
  bool operator==(const Build&) const = default;
};

struct Point {
  std::string site;
  Kind kind = Kind::kHttp;
  std::vector<std::string> stack;  // its innermost frames, at most two
  bool operator==(const Point&) const = default;
};

// What replays at other times of day have shown: an hour later, on another kind of day, more than a year later.
struct TimeEvidence {
  uint64_t cases = 0, replays = 0;
  std::vector<std::string> matters;  // names of the cases that were others then
  bool operator==(const TimeEvidence&) const = default;
};

// Random numbers that are drawn at one place of the program, and what replays with other numbers have shown.
struct DrawPoint {
  enum class Effect : uint8_t {
    kUnknown,  // it was not looked for, or not to its end: cases have the numbers
    kSome,     // cases have them
    kNone,     // a replay has the machine's own
    // The numbers do not lead to what was recorded, most often since they make a secret, in whose place a token stands. A replay has the
    // machine's own, and what comes of them is masked.
    kUnfit,
  };
  std::string source, site;
  std::vector<std::string> stack;  // as of Point
  Effect effect = Effect::kUnknown;
  uint64_t cases = 0, replays = 0;  // that have drawn there, and that have shown it
  bool operator==(const DrawPoint&) const = default;
};

// What all cases of a folder share.
struct CaseSet {
  std::string service;
  std::vector<Build> builds;
  std::map<std::string, std::string> environment;  // of the service (daemon/record/environment.h)
  std::vector<std::string> redacted;               // by what values were replaced, in words
  std::vector<RedactRule> redact;                  // and by which rules of the configuration
  std::vector<std::string> match_headers;  // in lower case: of requests of calls, what takes part
  std::vector<NondeterminismRule> masks;
  std::vector<NondeterminismRule> any_type;   // of what is masked, what has no type of its own
  std::vector<NondeterminismRule> unordered;  // elements of lists ("/tags/*") that have no order
  // In lower case: of answers, what may have any value, and what of that may be missing.
  std::vector<std::string> varying_headers, optional_headers;
  std::vector<Point> points;
  std::vector<DrawPoint> draws;
  std::optional<TimeEvidence> time;                       // nullopt: not known
  std::map<std::string, std::vector<std::string>> hosts;  // name -> addresses
  std::vector<std::string> not_followed;                  // connections, with the reason
  std::map<std::string, uint64_t> counts;
};

inline constexpr std::string_view kMatchedAtFirst[] = {"content-type", "accept"};

}  // namespace filibuster::cases
