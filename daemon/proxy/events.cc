#include "daemon/proxy/events.h"

#include <cstring>

namespace filibuster::proxy {

std::optional<Event> read_event(std::string_view record) {
  fb_event raw{};
  if (record.size() < FB_EVENT_HEAD) return std::nullopt;
  std::memcpy(&raw, record.data(), FB_EVENT_HEAD);
  if (raw.kind < FB_WRITE || raw.kind > FB_CLOSED) return std::nullopt;
  // A stack that could not be read has a negative number of frames (an errno).
  const uint32_t frames = raw.frames < 0 ? 0 : static_cast<uint32_t>(raw.frames);
  if (frames > FB_FRAMES || record.size() - FB_EVENT_HEAD < frames * sizeof raw.stack[0])
    return std::nullopt;
  Event event;
  event.kind = static_cast<fb_kind>(raw.kind);
  event.task = {raw.tgid, raw.task != 0, raw.task != 0 ? raw.task : raw.tid};
  event.local = from_event(raw.local);
  event.remote = from_event(raw.remote);
  event.position = raw.position;
  event.size = raw.size;
  event.stream = raw.stream;
  event.call = raw.call;
  event.status = raw.status < 1000 ? static_cast<uint16_t>(raw.status) : uint16_t{0};
  if (event.kind == FB_CALL) {
    if (record.size() < FB_EVENT_HEAD + sizeof(fb_request)) return std::nullopt;
    event.request = read_go_request(record.substr(FB_EVENT_HEAD));
  }
  event.time_ns = raw.time_ns;
  if (event.kind == FB_REQUESTS || event.kind == FB_ANSWERS)
    event.bytes = record.substr(FB_EVENT_HEAD, raw.size);
  event.no_frame_pointers = (raw.flags & FB_NO_FRAME_POINTERS) != 0;
  event.lost = raw.flags >> FB_LOST_SHIFT;
  event.frames = frames;
  std::memcpy(event.addresses.data(), record.data() + FB_EVENT_HEAD, frames * sizeof raw.stack[0]);
  return event;
}

}  // namespace filibuster::proxy
