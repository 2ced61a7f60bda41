#include "bpf/loader/go/sites.h"

#include <optional>

#include "bpf/loader/go/instructions.h"
#include "core/program/go_program.h"
#include "core/program/go_table.h"

namespace filibuster::bpf {
namespace {

enum class Where : uint8_t { kEntry, kReturns, kCalls };

// Probes that say what they should only together: what net/http is asked for over TLS, and how it is answered.
enum class Family : uint8_t { kNone, kHttp1, kHttp2, kHttp2Package };

struct Row {
  std::string_view program;
  Where where;
  std::string_view function;
  std::string_view called = {};  // kCalls: each call of it
  Family family = Family::kNone;
  std::string_view instead = {};  // of a program that does not have `function`
};

// What a program does not contain is not linked into it, and it does not need its probes. Where HTTP/2 has a
// roundTrip (Go 1.17, and since 1.21), RoundTrip does nothing but call it, and may be inlined.
// clang-format off
constexpr Row kRows[] = {
    {"fb_go_start",       Where::kEntry,   "runtime.newproc1"},
    {"fb_go_started",     Where::kReturns, "runtime.newproc1"},
    {"fb_go_round_trip",  Where::kEntry,   "net/http.(*persistConn).roundTrip", {}, Family::kHttp1},
    {"fb_go_read_loop",   Where::kEntry,   "net/http.(*persistConn).readLoop", {}, Family::kHttp1},
    {"fb_go_read",        Where::kReturns, "net/http.(*persistConn).readResponse", {}, Family::kHttp1},
    {"fb_go_write_loop",  Where::kEntry,   "net/http.(*persistConn).writeLoop", {}, Family::kHttp1},
    {"fb_go_http2_call",     Where::kEntry,   "net/http.(*http2ClientConn).roundTrip", {}, Family::kHttp2,
                                              "net/http.(*http2ClientConn).RoundTrip"},
    {"fb_go_http2_answered", Where::kReturns, "net/http.(*http2ClientConn).roundTrip", {}, Family::kHttp2,
                                              "net/http.(*http2ClientConn).RoundTrip"},
    {"fb_go_http2_own",      Where::kEntry,   "net/http.(*http2Transport).newClientConn", {}, Family::kHttp2},
    {"fb_go_http2_begun",    Where::kReturns, "net/http.(*http2Transport).newClientConn", {}, Family::kHttp2},
    {"fb_go_http2_own",      Where::kEntry,   "net/http.(*http2ClientConn).readLoop", {}, Family::kHttp2},
    {"fb_go_http2_call",     Where::kEntry,   "golang.org/x/net/http2.(*ClientConn).roundTrip", {}, Family::kHttp2Package,
                                              "golang.org/x/net/http2.(*ClientConn).RoundTrip"},
    {"fb_go_http2_answered", Where::kReturns, "golang.org/x/net/http2.(*ClientConn).roundTrip", {}, Family::kHttp2Package,
                                              "golang.org/x/net/http2.(*ClientConn).RoundTrip"},
    {"fb_go_http2_own",      Where::kEntry,   "golang.org/x/net/http2.(*Transport).newClientConn", {}, Family::kHttp2Package},
    {"fb_go_http2_begun",    Where::kReturns, "golang.org/x/net/http2.(*Transport).newClientConn", {}, Family::kHttp2Package},
    {"fb_go_http2_own",      Where::kEntry,   "golang.org/x/net/http2.(*ClientConn).readLoop", {}, Family::kHttp2Package},
    {"fb_go_grpc_call",   Where::kCalls,   "google.golang.org/grpc/internal/transport.(*http2Client).NewStream",
                                           "google.golang.org/grpc/internal/transport.(*controlBuffer).executeAndPut"},
    {"fb_go_grpc_header", Where::kEntry,   "google.golang.org/grpc/internal/transport.(*loopyWriter).headerHandler"},
    {"fb_go_grpc_frame",  Where::kEntry,   "google.golang.org/grpc/internal/transport.(*bufWriter).Write"},
    {"fb_go_grpc_serve",  Where::kEntry,   "google.golang.org/grpc/internal/transport.(*http2Server).HandleStreams"},
    {"fb_go_grpc_begin",  Where::kEntry,   "google.golang.org/grpc.(*Server).handleStream"},
    {"fb_go_grpc_end",    Where::kReturns, "google.golang.org/grpc.(*Server).handleStream"},
};
// clang-format on

class Finder {
 public:
  Finder(const ElfMemory& program, const GoTable& table, GoSites* out)
      : program_(program), table_(table), out_(out) {}

  void add(const Row& row) {
    Found& family = families_[static_cast<size_t>(row.family)];
    (add_sites(row) ? family.there : family.missing) = true;
  }

  // Is what the family says complete, where a part of it is there at all?
  bool tells(Family family) const {
    const Found& found = families_[static_cast<size_t>(family)];
    return found.there && !found.missing;
  }
  bool is_broken(Family family) const {
    const Found& found = families_[static_cast<size_t>(family)];
    return found.there && found.missing;
  }

  // Where a thread has its g. The slot stands before the thread's base; without other variables of threads it is the last.
  int32_t g_from_fs() const {
    constexpr int32_t kLastSlot = -8;
    uint64_t size = 0;
    for (uint64_t i = 0; i < program_.segments().count(); ++i) {
      const Elf64_Phdr segment = program_.segments()[i];
      if (segment.p_type == PT_TLS) size = segment.p_memsz;
    }
    if (size <= 8) return kLastSlot;
    for (const std::string_view name : {"runtime.cgocallback", "runtime.asmcgocall"}) {
      const auto function = table_.function_named(name);
      if (!function) continue;
      if (const auto found = thread_displacement(code_of(*function), function->entry))
        return *found;
    }
    return 0;
  }

 private:
  struct Found {
    bool there = false, missing = false;
  };

  // False: it has no site in this program.
  bool add_sites(const Row& row) {
    auto function = table_.function_named(row.function);
    if (!function && !row.instead.empty()) function = table_.function_named(row.instead);
    if (!function) return false;
    if (row.where == Where::kEntry) return add_all(row, {function->entry});
    const std::string_view code = code_of(*function);
    if (code.empty()) return note(row, "its code is not in the file");
    Result<std::vector<uint64_t>> found(std::vector<uint64_t>{});
    if (row.where == Where::kReturns) {
      found = return_instructions(code, function->entry);
    } else {
      const auto called = table_.function_named(row.called);
      if (!called) return note(row, "it does not call " + std::string(row.called));
      found = calls_to(called->entry, code, function->entry);
    }
    if (!found) return note(row, found.error().message);
    if (found->empty()) return note(row, "it has no such instruction");
    return add_all(row, found.value());
  }
  std::string_view code_of(const GoFunction& function) const {
    return program_.at(function.entry, function.end - function.entry);
  }
  bool add_all(const Row& row, const std::vector<uint64_t>& addresses) {
    std::vector<GoSite> found;
    for (const uint64_t address : addresses) {
      const auto offset = program_.file_offset(address);
      if (!offset) return note(row, "its code is not in the file");
      found.push_back({row.program, *offset});
    }
    out_->sites.insert(out_->sites.end(), found.begin(), found.end());
    return true;
  }
  bool note(const Row& row, const std::string& why) {
    out_->notes.push_back("no probe in " + std::string(row.function) + ": " + why);
    return false;
  }

  const ElfMemory& program_;
  const GoTable& table_;
  GoSites* out_;
  Found families_[4];
};

}  // namespace

Result<GoSites> find_go_sites(std::string_view bytes) {
  const auto program = ElfMemory::read(bytes);
  const auto go = program ? read_go_program(*program) : std::nullopt;
  if (!go) return Error{"it is no Go program"};
  GoSites out;
  out.version = std::string(go->version);
  out.goid = goid_offset(go->version);
  if (out.goid == 0 || !go_passes_registers(go->version)) {
    return Error{"where " +
                 (out.version.empty() ? "its Go (which does not say its version)" : out.version) +
                 " keeps the number of a goroutine is not known (Go 1.17 to 1.26 are)"};
  }
  const Result<GoTable> table = GoTable::read(*program);
  if (!table) return table.error();
  Finder finder(*program, table.value(), &out);
  out.g_from_fs = finder.g_from_fs();
  if (out.g_from_fs == 0) {
    out.notes.push_back(
        "where its threads keep the goroutine that they run is not known, so goroutines are not told apart");
  }
  for (const Row& row : kRows) finder.add(row);
  out.tells_http1 = finder.tells(Family::kHttp1);
  out.tells_http2 = (finder.tells(Family::kHttp2) || finder.tells(Family::kHttp2Package)) &&
                    !finder.is_broken(Family::kHttp2) && !finder.is_broken(Family::kHttp2Package);
  return out;
}

}  // namespace filibuster::bpf
