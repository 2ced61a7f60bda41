// Recordings: somebody gets each event of the agents of a hub, and what goes over their connections (core/protocol/tape.h), while the
// agents do what they do anyway.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/protocol/tape.h"
#include "core/result.h"
#include "daemon/agents/event_source.h"

namespace filibuster {

// Is called by one thread at a time, and never with a lock of the hub held. It calls neither stop() nor look().
class RecordingSink {
 public:
  virtual ~RecordingSink() = default;

  // An event of core/protocol/events.h. Those of one agent come in their order, and so do the records of its tape, but there is no
  // order between the two.
  virtual void event(const EventSource& source, const EventHead& head,
                     std::span<const uint8_t> payload) = 0;
  virtual void bytes(const EventSource& source, const EventHead& head, const TapeBytes& record) = 0;
  virtual void gap(const EventSource& source, const EventHead& head, const TapeGap& record) = 0;
  virtual void closed(const EventSource& source, const EventHead& head,
                      const TapeClosed& record) = 0;
  virtual void draw(const EventSource& source, const EventHead& head, const TapeDraw& record) = 0;
  // So many events or records of the agent are missing. Where they were bytes, the positions of their connection say so.
  virtual void lost(const EventSource& source, uint64_t records) = 0;
  // Nothing more comes from the agent.
  virtual void ended(const EventSource& source) = 0;
};

class Recordings {
 public:
  enum class What : uint8_t {
    kPlaces,          // events; where the request of each RPC is is among them
    kPlacesAndBytes,  // and the bytes of the connections
  };

  // Begins a recording, from the next transfers on. Errors: one runs; there is no memory for the tapes.
  virtual Result<void> start(std::shared_ptr<RecordingSink> sink, What what) = 0;
  // Ends it: when this returns, the sink has all that there was, and is not called any more. Without a recording: nothing happens.
  virtual void stop() = 0;
  // When this returns, the sink has been given whatever was written before the call, but for what stands behind a record that
  // another thread of the same process is still writing.
  virtual void look() = 0;

 protected:
  ~Recordings() = default;
};

}  // namespace filibuster
