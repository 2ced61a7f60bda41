// Random numbers of the program (core/protocol/draws.h): while a recording runs they go onto the tape, and in a replay the program is
// given those of the recording. A hook of a source of random numbers is
//
//   if (!draws_matter()) return REAL(getrandom)(out, size, flags);      two loads
//   Draw draw(DrawSource::kGetrandom);
//   if (draw.give(out, size)) return size;                              they are those of the recording
//   const ssize_t result = REAL(getrandom)(out, size, flags);
//   if (result > 0) draw.keep(out, result);
//
// What a source asks of another one while its Draw is there is a part of its own draw, and passes.
#pragma once

#include <cstddef>
#include <optional>

#include "core/protocol/draws.h"
#include "preload/session/state.h"

namespace filibuster::preload {

// Is this process a part of a recording or a replay that begins with its start? Then it registers at its first draw, which may
// come before its first socket.
extern constinit std::atomic<bool> g_draws_from_start;
void find_draws_from_start();  // to be called once, before the program itself runs
bool draws_matter_from_start();

// Does anybody look at random numbers? It takes no lock, and it may be asked anywhere.
inline bool draws_matter() {
  const Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (__builtin_expect(a == nullptr, 0))
    return g_draws_from_start.load(std::memory_order_relaxed) && draws_matter_from_start();
  return a->lane->draws.count.load(std::memory_order_relaxed) != 0 ||
         (a->lane->recording.load(std::memory_order_relaxed) & kRecordBytes) != 0;
}

class Draw {
 public:
  // `task`: for which request the program draws, and where, as far as a helper of its runtime knows that; nullptr: the thread tells.
  explicit Draw(DrawSource source, const TaskContext* task = nullptr);
  ~Draw();
  Draw(const Draw&) = delete;

  // For who cannot keep a Draw while the program draws: what this thread asks of other sources between the two is a part of its draw.
  static void begin();
  static void end();

  // It is a part of another draw, or this thread keeps no books.
  bool passes() const { return passes_; }
  // Fills all of `out` with bytes of the recording. False: there are none for this draw, and nothing is written.
  bool give(void* out, size_t size);
  // Behind give(): the program is to have another number than in the recording. A generator with a seed that a replay gives again would
  // give the same one, so it is asked once more than the program asks.
  bool wants_another() const { return wants_another_; }
  // The program has got these.
  void keep(const void* bytes, size_t size);

 private:
  CapturedStack site_now(char* buffer) const;  // of half a Scratch
  // The request for which the program draws, and the execution in which it came; 0: for none. nullopt: that is not known.
  struct DrawnFor {
    uint64_t rpc = 0;
    uint32_t execution = 0;
  };
  std::optional<DrawnFor> drawn_for(Attachment* a, uint32_t execution, Hash128 site) const;

  const DrawSource source_;
  const TaskContext* const task_;
  const bool passes_;
  bool wants_another_ = false;
};

}  // namespace filibuster::preload
