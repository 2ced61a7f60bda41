// The registration socket: how an agent's messages are received and answered. Nothing here trusts
// what an agent sends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/program/entry.h"
#include "core/protocol/messages.h"
#include "core/protocol/relay.h"
#include "core/result.h"
#include "daemon/base/descriptors.h"

namespace filibuster {

// A listening SOCK_SEQPACKET socket at `path`, mode 0600, non-blocking.
Result<UniqueFd> listen_at(const std::string& path);

struct Peer {
  pid_t pid = 0;  // as this process sees it
  uid_t uid = 0;
};
// Who is at the other end (SO_PEERCRED); false if it cannot be known.
bool peer_of(int socket, Peer* peer);

// Larger than any message of this major version: the largest is a hand-off with a header table of
// 64 KiB.
inline constexpr size_t kMaxMessage = 128 * 1024;

struct Message {
  enum class State : uint8_t { kNone, kEnd, kWhole, kBad };
  State state = State::kNone;  // kNone: nothing to read now
  size_t size = 0;
  // What is longer than kMaxMessage is kBad.
  std::vector<uint8_t> bytes;
  std::vector<UniqueFd> descriptors;
};
Message receive_message(int socket);

// What a first message says.
struct Greeting {
  Refusal refusal = Refusal::kNone;
  bool is_hello = false;  // false: not a Hello of any version
  Hello hello;
  std::string service, executable, notes;  // printable
};
Greeting read_greeting(const Message& message, uint32_t lane);

// A program that a process of the session executes, and that takes no part in it.
struct OutsideProgram {
  Entry entry = Entry::kByGlibc;
  Gain gain = Gain::kNone;
  std::string service, program;  // printable
  std::string obstacle;          // "is linked with musl: ..."
};
// nullopt: the message is no Outside, makes no sense, or is of another lane or version.
std::optional<OutsideProgram> read_outside(const Message& message, uint32_t lane);

// Is it a GivenUp, after which the agent's process goes on as without us?
bool is_given_up(const Message& message);
// False: the message is no hand-off, or makes no sense.
bool read_hand_off(const Message& message, HandOff* hand_off);
// Reads what follows a hand-off of kind kRelay; `table` and `half_read` are within `message`. False: it
// makes no sense.
bool read_relay_state(const Message& message, RelayState* state, std::string_view* table,
                      std::string_view* half_read);

// The descriptors are lane memory, ring and tape, or none where the agent is refused. False: the agent is gone.
bool send_welcome(int socket, const Welcome& welcome, std::initializer_list<int> descriptors);

// Text from an agent as it may stand in a report: control characters become '?', and all bytes
// beyond ASCII do if the whole is not UTF-8.
std::string printable(std::string_view text);

}  // namespace filibuster
