// What the observer of the attached process tells (bpf/attached.h), checked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "daemon/proxy/address.h"
#include "daemon/proxy/go_request.h"

namespace filibuster::proxy {

// Who does something in the attached process: a goroutine, or a thread where there is none.
struct Task {
  uint32_t process = 0;    // tgid
  bool goroutine = false;  // else `number` is a tid
  uint64_t number = 0;
  bool operator==(const Task&) const = default;
};

struct Event {
  fb_kind kind = FB_WRITE;
  Task task;
  Address local, remote;  // of the attached process's socket
  uint32_t position = 0;  // in the stream, mod 2^32
  uint32_t size = 0;      // 0: not known
  uint32_t stream = 0;    // of the inbound connection (HTTP/2); 0: not known
  uint64_t call = 0;      // as in fb_event
  uint16_t status = 0;    // FB_ANSWER; 0: an error
  bool no_frame_pointers = false;
  uint32_t lost = 0;  // how many events are missing by now, mod 2^24
  uint32_t frames = 0;
  std::array<uint64_t, FB_FRAMES> addresses{};
  std::span<const uint64_t> stack() const { return {addresses.data(), frames}; }
  uint64_t time_ns = 0;
  // FB_REQUESTS, FB_ANSWERS: the first of the `size` bytes, valid as long as the record.
  std::string_view bytes;
  std::optional<GoRequest> request;  // FB_CALL; nullopt: not all of it is known
};

// One record of the ring. nullopt: it is none (too short, of an unknown kind, more frames than it holds).
std::optional<Event> read_event(std::string_view record);

struct TaskHash {
  size_t operator()(const Task& task) const {
    return (task.number * 0x9E3779B97F4A7C15ull) ^ (uint64_t{task.process} << 1 | task.goroutine);
  }
};

}  // namespace filibuster::proxy
