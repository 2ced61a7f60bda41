#include "daemon/agents/registration.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/program/entry_text.h"

namespace filibuster {
namespace {

constexpr int kAgentBacklog = 256;
constexpr size_t kMaxDescriptors = 4;

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - i < static_cast<size_t>(more)) return false;
    const auto second = static_cast<unsigned char>(text[i]);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    for (int n = 0; n < more; ++n) {
      if ((static_cast<unsigned char>(text[i++]) & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

std::string fixed_text(const char* text, size_t capacity) {
  return printable({text, ::strnlen(text, capacity)});
}

}  // namespace

Result<UniqueFd> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{"the path " + path + " is too long for a Unix socket (limit " +
                 std::to_string(sizeof address.sun_path - 1) +
                 " bytes); choose a shorter directory"};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return system_error("socket");
  // A daemon that was killed leaves its socket. The directory is locked, so nobody listens on it.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("unlink " + path);
  // bind() makes the file with these bits; the directory is 0700 anyway.
  if (::fchmod(socket.get(), 0600) != 0) return system_error("chmod of the socket");
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return system_error("bind " + path);
  }
  if (::chmod(path.c_str(), 0600) != 0) return system_error("chmod " + path);
  if (::listen(socket.get(), kAgentBacklog) != 0) return system_error("listen " + path);
  return socket;
}

bool peer_of(int socket, Peer* peer) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return false;
  peer->pid = credentials.pid;
  peer->uid = credentials.uid;
  return true;
}

Message receive_message(int socket) {
  Message message;
  const auto without = [&message] {
    const bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    message.state = later ? Message::State::kNone : Message::State::kEnd;
    return std::move(message);
  };
  const ssize_t whole = ::recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
  // No message, though one may come right now: the next call asks for its size, or it would be cut.
  if (whole < 0) return without();
  // There is room for one byte more than is allowed, so that a message that is too long is noticed.
  message.bytes.resize(std::clamp<ssize_t>(whole, 0, kMaxMessage) + 1);
  iovec part{message.bytes.data(), message.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return without();
  // Take the descriptors first: whatever else is wrong, they must not leak.
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      message.descriptors.emplace_back(fd);
    }
  }
  if (size == 0) {
    message.state = Message::State::kEnd;
    return message;
  }
  message.size = static_cast<size_t>(size);
  const bool cut = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || message.size > kMaxMessage;
  message.state = cut ? Message::State::kBad : Message::State::kWhole;
  return message;
}

Greeting read_greeting(const Message& message, uint32_t lane) {
  Greeting greeting;
  // Magic and version stand first in every version.
  constexpr size_t kPrefix = offsetof(Hello, pid);
  if (message.state != Message::State::kWhole || message.size < kPrefix) return greeting;
  std::memcpy(static_cast<void*>(&greeting.hello), message.bytes.data(), kPrefix);
  if (greeting.hello.magic != kHelloMagic) return greeting;
  if (greeting.hello.major != kProtocolMajor) {
    greeting.is_hello = true;
    greeting.refusal = Refusal::kVersion;
    return greeting;
  }
  // A later minor version may have appended fields.
  if (message.size < sizeof(Hello)) return greeting;
  std::memcpy(&greeting.hello, message.bytes.data(), sizeof(Hello));
  greeting.is_hello = true;
  greeting.service = fixed_text(greeting.hello.service, sizeof greeting.hello.service);
  greeting.executable = fixed_text(greeting.hello.executable, sizeof greeting.hello.executable);
  greeting.notes = fixed_text(greeting.hello.notes, sizeof greeting.hello.notes);
  if (greeting.hello.lane != lane) greeting.refusal = Refusal::kLane;
  if (greeting.hello.sessions > 1) greeting.refusal = Refusal::kUndecided;
  return greeting;
}

std::optional<OutsideProgram> read_outside(const Message& message, uint32_t lane) {
  Outside outside;
  if (message.state != Message::State::kWhole || message.size < sizeof outside) return std::nullopt;
  std::memcpy(static_cast<void*>(&outside), message.bytes.data(), sizeof outside);
  if (outside.magic != kOutsideMagic || outside.major != kProtocolMajor || outside.lane != lane ||
      outside.entry > static_cast<uint8_t>(Entry::kOtherMachine) ||
      outside.gain > static_cast<uint8_t>(Gain::kCapabilities))
    return std::nullopt;
  OutsideProgram out;
  out.entry = static_cast<Entry>(outside.entry);
  out.gain = static_cast<Gain>(outside.gain);
  out.service = fixed_text(outside.service, sizeof outside.service);
  out.program = fixed_text(outside.program, sizeof outside.program);
  out.obstacle = out.entry != Entry::kByGlibc
                     ? obstacle_text(out.entry, outside.machine,
                                     fixed_text(outside.loader, sizeof outside.loader))
                     : obstacle_text(out.gain);
  if (out.obstacle.empty()) return std::nullopt;
  return out;
}

bool is_given_up(const Message& message) {
  GivenUp given_up;
  if (message.state != Message::State::kWhole || message.size < sizeof given_up) return false;
  std::memcpy(&given_up, message.bytes.data(), sizeof given_up);
  return given_up.magic == kGivenUpMagic;
}

bool read_hand_off(const Message& message, HandOff* hand_off) {
  if (message.state != Message::State::kWhole || message.size < sizeof(HandOff)) return false;
  std::memcpy(hand_off, message.bytes.data(), sizeof(HandOff));
  if (hand_off->magic != kHandOffMagic) return false;
  switch (hand_off->kind) {
    case HandOffKind::kSilence:
      return message.descriptors.size() == 1;
    case HandOffKind::kDrainThenReset:
    case HandOffKind::kDrainThenSilence:
    case HandOffKind::kDrainThenAnswer:
    case HandOffKind::kChange:
    case HandOffKind::kRelay:
      return message.descriptors.size() == 2;
  }
  return false;
}

bool read_relay_state(const Message& message, RelayState* state, std::string_view* table,
                      std::string_view* half_read) {
  if (message.size < sizeof(HandOff) + sizeof(RelayState)) return false;
  const char* bytes = reinterpret_cast<const char*>(message.bytes.data());
  std::memcpy(state, bytes + sizeof(HandOff), sizeof(RelayState));
  const std::string_view rest(bytes + sizeof(HandOff) + sizeof(RelayState),
                              message.size - sizeof(HandOff) - sizeof(RelayState));
  if (rest.size() != uint64_t{state->table_size} + state->half_read_size) return false;
  *table = rest.substr(0, state->table_size);
  *half_read = rest.substr(state->table_size);
  return true;
}

bool send_welcome(int socket, const Welcome& welcome, std::initializer_list<int> descriptors) {
  Welcome copy = welcome;
  iovec part{&copy, sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(kWelcomeDescriptors * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptors.size() == kWelcomeDescriptors) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(kWelcomeDescriptors * sizeof(int));
    std::memcpy(CMSG_DATA(c), descriptors.begin(), kWelcomeDescriptors * sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof copy);
}

std::string printable(std::string_view text) {
  const bool utf8 = is_utf8(text);
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) c = '?';
  }
  return out;
}

}  // namespace filibuster
