#include "preload/rpc/draws.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/protocol/tape.h"
#include "preload/interpose.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/connects.h"
#include "preload/runtimes/stack.h"

namespace filibuster::preload {

constinit std::atomic<bool> g_draws_from_start{false};

namespace {

// Written before the program itself runs.
constinit bool g_draws_are_own = false;

constexpr size_t kStackText = Scratch::kSize / 2;

// Draws that this thread is in.
constinit thread_local int t_draws __attribute__((tls_model("initial-exec"))) = 0;

// What this thread has kept of the request for which it drew last. A case has no more (core/protocol/draws.h), and a program that
// draws by the thousand must not fill the tape, which is for the bytes of its calls, too.
struct Kept {
  uint64_t rpc = 0;
  uint32_t recording = 0;
  uint32_t draws = 0;
  size_t bytes = 0;
};
constinit thread_local Kept t_kept __attribute__((tls_model("initial-exec")));

bool has_room(uint64_t rpc, uint32_t recording, size_t size) {
  if (t_kept.rpc != rpc || t_kept.recording != recording) t_kept = {rpc, recording, 0, 0};
  if (t_kept.draws == kMaxDraws || size > kMaxDrawBytesInAll - t_kept.bytes) return false;
  ++t_kept.draws;
  t_kept.bytes += size;
  return true;
}

// The first lines of a stack, whole.
std::string_view innermost(const CapturedStack& stack) {
  std::string_view text{stack.text, stack.text_size};
  if (text.size() <= kMaxDrawSite) return text;
  const size_t end = text.rfind('\n', kMaxDrawSite - 1);
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

enum class Taken : uint8_t {
  kNothing,  // there is none that fits, or the daemon writes others meanwhile
  kNumber,
  kOwn,  // a number of the machine is to be given
};

// Takes the first row that fits.
Taken take_row(DrawTable& table, DrawSource source, bool of_process, void* out, size_t size) {
  const uint32_t sequence = table.sequence.load(std::memory_order_acquire);
  if (sequence % 2 != 0) return Taken::kNothing;
  const uint32_t count = std::min(table.count.load(std::memory_order_relaxed), kMaxDraws);
  for (uint32_t i = 0; i < count; ++i) {
    DrawRow& row = table.rows[i];
    uint32_t given = row.given.load(std::memory_order_relaxed);
    if (given == sequence || row.source != static_cast<uint8_t>(source) ||
        ((row.flags & kDrawOfProcess) != 0) != of_process || row.size != size)
      continue;
    const bool is_own = (row.flags & kDrawOwn) != 0;
    const uint32_t offset = row.offset;
    if (offset > kMaxDrawBytesInAll - size) return Taken::kNothing;
    if (!row.given.compare_exchange_strong(given, sequence, std::memory_order_relaxed)) continue;
    uint8_t bytes[kMaxDrawBytes];
    std::memcpy(bytes, table.bytes + offset, size);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (table.sequence.load(std::memory_order_relaxed) != sequence) return Taken::kNothing;
    if (is_own) return Taken::kOwn;
    std::memcpy(out, bytes, size);
    return Taken::kNumber;
  }
  return Taken::kNothing;
}

}  // namespace

void find_draws_from_start() {
  const char* value = std::getenv(kDrawsVariable);
  if (value == nullptr) return;
  g_draws_are_own = std::strcmp(value, kOwnDraws) == 0;
  g_draws_from_start.store(!g_draws_are_own, std::memory_order_relaxed);
}

// In a child of fork the parent's answer holds.
__attribute__((noinline)) bool draws_matter_from_start() {
  HookScope scope;
  if (scope.pass_through() || t_state.registering || !own_process()) return false;
  note_stream_socket();
  return attached() && draws_matter();
}

Draw::Draw(DrawSource source, const TaskContext* task)
    : source_(source), task_(task), passes_(t_draws++ != 0 || t_hook_depth != 0) {}

Draw::~Draw() {
  --t_draws;
}

void Draw::begin() {
  ++t_draws;
}

void Draw::end() {
  --t_draws;
}

CapturedStack Draw::site_now(char* buffer) const {
  return stack_of(task_ != nullptr ? task_->site : 0, buffer, kStackText);
}

std::optional<Draw::DrawnFor> Draw::drawn_for(Attachment* a, uint32_t execution,
                                              Hash128 site) const {
  if (task_ != nullptr && task_->state == TaskContext::State::kNothing) return DrawnFor{};
  if (task_ != nullptr && task_->state == TaskContext::State::kRequest) {
    if (task_->cause.session != a->lane->session) return std::nullopt;
    return DrawnFor{task_->cause.rpc, task_->cause.execution};
  }
  const CauseOf cause = cause_of_thread(a, execution, site);
  // Replays have one request at a time. A thread that has read none may be one of the background, which would take the numbers of
  // whoever draws for the request.
  if (cause.cause == Cause::kOnlyActive && !t_state.multiplexing) return std::nullopt;
  if (cause.rpc == 0 && !cause.background && cause.cause == Cause::kNone) return std::nullopt;
  return DrawnFor{cause.rpc, cause.execution};
}

bool Draw::give(void* out, size_t size) {
  if (passes_ || g_draws_are_own || size == 0 || size > kMaxDrawBytes) return false;
  HookScope scope;
  uint32_t execution = 0;
  uint64_t now = 0;
  Attachment* a = attach_executing(&execution, &now);
  if (a == nullptr) {
    // The service starts: no case runs yet.
    a = own_process() ? attach() : nullptr;
    return a != nullptr && take_row(a->lane->draws, source_, true, out, size) == Taken::kNumber;
  }
  if (a->lane->draws.count.load(std::memory_order_relaxed) == 0) return false;
  const Scratch scratch;
  if (!scratch) return false;
  const CapturedStack stack = site_now(reinterpret_cast<char*>(scratch.data()));
  const std::optional<DrawnFor> of = drawn_for(a, execution, stack.hash);
  // What a request does that is over is none of this case's.
  if (!of || (of->rpc != 0 && of->execution != execution)) return false;
  const Taken taken = take_row(a->lane->draws, source_, of->rpc == 0, out, size);
  wants_another_ = taken == Taken::kOwn;
  return taken == Taken::kNumber;
}

void Draw::keep(const void* bytes, size_t size) {
  if (passes_ || size == 0 || size > kMaxDrawBytes) return;
  HookScope scope;
  uint32_t execution = 0;
  uint64_t now = 0;
  Attachment* a = attach_executing(&execution, &now);
  if (a == nullptr || a->tape == nullptr) return;
  const uint32_t recording = a->lane->recording.load(std::memory_order_relaxed);
  if ((recording & kRecordBytes) == 0) return;
  const Scratch scratch;
  if (!scratch) return;
  const CapturedStack stack = site_now(reinterpret_cast<char*>(scratch.data()));
  TapeDraw record;
  // Whose it is is not known: it is nobody's.
  const std::optional<DrawnFor> of = drawn_for(a, execution, stack.hash);
  if (!of) return;
  record.rpc = of->rpc;
  if (!has_room(record.rpc, recording, size)) return;
  const std::string_view site = innermost(stack);
  record.recording = recording >> kRecordingShift;
  record.source = static_cast<uint8_t>(source_);
  record.site_size = static_cast<uint16_t>(site.size());
  uint8_t head[kTapeDrawHead];
  encode_head(record, head);
  const std::span<const uint8_t> parts[] = {
      head,
      {reinterpret_cast<const uint8_t*>(site.data()), site.size()},
      {static_cast<const uint8_t*>(bytes), size}};
  ring_write(a->tape, static_cast<uint16_t>(TapeType::kDraw), execution, now, parts);
}

}  // namespace filibuster::preload
