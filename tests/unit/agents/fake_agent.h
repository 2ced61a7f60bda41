// An agent for tests: says Hello to a hub, maps what it gets, writes events as the preload does.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/index/execution_index.h"
#include "core/protocol/door.h"
#include "core/protocol/events.h"
#include "core/protocol/lane_memory.h"
#include "core/protocol/messages.h"
#include "core/protocol/ring.h"
#include "daemon/agents/agent_hub.h"
#include "daemon/base/descriptors.h"

namespace filibuster::test {

using std::chrono::milliseconds;

// A directory of its own, removed at the end. Short: it holds a Unix socket.
class Scratch {
 public:
  Scratch() {
    char path[] = "/tmp/fb-agents-XXXXXX";
    path_ = ::mkdtemp(path);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Polls until `holds` does, at most 5 s.
inline bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

inline HubOptions hub_options(const Scratch& scratch) {
  HubOptions options;
  options.directory = scratch.path() + "/hub";
  options.user_directory = scratch.path() + "/user";
  options.session = 7;
  options.index_parts = kIndexAll;
  return options;
}

inline Hash128 key(uint64_t number) {
  return {number, number + 1};
}

class FakeAgent {
 public:
  explicit FakeAgent(const std::string& address) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const std::string path = address.substr(std::strlen("unix:"));
    std::memcpy(to.sun_path, path.data(), path.size());
    socket_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    connected_ = ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  struct AtDoor {
    uint64_t number;
  };
  explicit FakeAgent(AtDoor door) {
    sockaddr_un to;
    const socklen_t size = door_address(door.number, &to);
    socket_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    connected_ = ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), size) == 0;
  }
  FakeAgent(const std::string& address, const std::string& service) : FakeAgent(address) {
    Hello hello;
    hello.pid = static_cast<uint32_t>(::getpid());
    std::memcpy(hello.service, service.data(), service.size());
    say_hello(hello);
  }

  bool say_hello(const Hello& hello) { return send_bytes(&hello, sizeof hello) && read_welcome(); }
  bool read_welcome() {
    iovec part{&welcome_, sizeof welcome_};
    alignas(cmsghdr) char control[CMSG_SPACE(kWelcomeDescriptors * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    if (::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC) != sizeof welcome_) return false;
    const cmsghdr* c = CMSG_FIRSTHDR(&header);
    if (c == nullptr || c->cmsg_len != CMSG_LEN(kWelcomeDescriptors * sizeof(int))) return true;
    int fds[kWelcomeDescriptors];
    std::memcpy(fds, CMSG_DATA(c), sizeof fds);
    lane_fd_ = UniqueFd(fds[0]);
    ring_fd_ = UniqueFd(fds[1]);
    tape_fd_ = UniqueFd(fds[2]);
    return lane_.map(fds[0]) && ring_.map(fds[1]) && tape_.map(fds[2]);
  }
  bool send_bytes(const void* bytes, size_t size) {
    return ::send(socket_.get(), bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
  }

  bool registered() const { return lane_.get() != nullptr && ring_.get() != nullptr; }
  const Welcome& welcome() const { return welcome_; }
  LaneMemory* lane() const { return lane_.get(); }
  RingMemory* ring() const { return ring_.get(); }
  TapeMemory* tape() const { return tape_.get(); }
  int lane_fd() const { return lane_fd_.get(); }
  int ring_fd() const { return ring_fd_.get(); }
  bool connected() const { return connected_; }
  uint64_t rpc(uint32_t number) const { return uint64_t{welcome_.agent} << 32 | number; }
  void leave() { socket_.reset(); }
  void stop_listening() { ::shutdown(socket_.get(), SHUT_RD); }
  // The other side closed.
  bool at_end() {
    char byte;
    return ::recv(socket_.get(), &byte, 1, 0) == 0;
  }

  template <typename Event>
  void emit(EventType type, uint32_t execution, const Event& event, uint64_t time_ns = 0) {
    std::vector<uint8_t> bytes(kMaxEvent);
    const size_t size = encode(event, bytes.data(), bytes.size());
    ASSERT_GT(size, 0u);
    write(static_cast<uint16_t>(type), execution, {bytes.data(), size}, time_ns);
  }
  void write(uint16_t type, uint32_t execution, std::span<const uint8_t> part, uint64_t time_ns) {
    ASSERT_TRUE(
        ring_write(ring_.get(), type, execution, time_ns != 0 ? time_ns : clock_ns(), {&part, 1}));
  }

  uint64_t issue(uint32_t execution, uint32_t number, const std::string& service,
                 const std::string& target, const std::string& peer = "") {
    RpcIssued event;
    event.rpc = rpc(number);
    event.index = key(number);
    event.signature = key(1000 + number);
    event.count = 1;
    event.cause = Cause::kEntry;
    event.service = service;
    event.method = "GET";
    event.target = target;
    event.peer = peer;
    emit(EventType::kRpcIssued, execution, event);
    return event.rpc;
  }
  void receive(uint32_t execution, uint64_t rpc_id) {
    RpcReceived event;
    event.rpc = rpc_id;
    emit(EventType::kRpcReceived, execution, event);
  }
  void answer(uint32_t execution, uint64_t rpc_id) {
    IncomingFinished event;
    event.rpc = rpc_id;
    event.status = 200;
    emit(EventType::kIncomingFinished, execution, event);
  }
  void finish(uint32_t execution, uint64_t rpc_id, bool injected = false) {
    RpcFinished event;
    event.rpc = rpc_id;
    event.status = 200;
    event.injected = injected ? 1 : 0;
    emit(EventType::kRpcFinished, execution, event);
  }
  void fire(uint32_t execution, uint64_t rpc_id, uint32_t entry, FaultHow how,
            const std::string& detail = "") {
    FaultFired event;
    event.rpc = rpc_id;
    event.plan_entry = entry;
    event.how = static_cast<uint8_t>(how);
    event.detail = detail;
    emit(EventType::kFaultFired, execution, event);
  }
  void listen(uint16_t port, const std::string& service) {
    Listen event;
    event.port = port;
    event.kind = static_cast<uint8_t>(TargetKind::kLoopback);
    event.service = service;
    emit(EventType::kListen, 0, event);
  }

  // `tail`: what follows in the same datagram.
  bool hand_off(const HandOff& message, const std::vector<int>& descriptors,
                const std::string& tail = {}) {
    return send_with(std::string(reinterpret_cast<const char*>(&message), sizeof message) + tail,
                     descriptors);
  }
  // At most four descriptors.
  bool send_with(std::string copy, const std::vector<int>& descriptors) {
    iovec part{copy.data(), copy.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::copy(descriptors.begin(), descriptors.end(), reinterpret_cast<int*>(CMSG_DATA(c)));
    return ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL) == static_cast<ssize_t>(copy.size());
  }

 private:
  UniqueFd socket_, lane_fd_, ring_fd_, tape_fd_;
  bool connected_ = false;
  Welcome welcome_;
  SharedMapping<LaneMemory> lane_;
  SharedMapping<RingMemory> ring_;
  SharedMapping<TapeMemory> tape_;
};

inline bool any_contains(const std::vector<NotInjected>& rows, const std::string& part) {
  return std::any_of(rows.begin(), rows.end(), [&](const NotInjected& row) {
    return row.text.find(part) != std::string::npos;
  });
}
inline bool any_contains(const std::vector<std::string>& texts, const std::string& part) {
  for (const std::string& text : texts) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace filibuster::test
