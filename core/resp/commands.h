// What is known of a Redis command by its name (Redis 7, https://redis.io/docs/latest/commands/):
// who says it, whether it waits, what it makes of its connection, and where its first key stands.
// One row each in commands.cc; commands of modules have none.
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster::resp {

enum CommandFlag : uint16_t {
  // A client library says it by itself, to set up, check, route or end a connection. An application
  // may say it as well (PING, ECHO, INFO).
  kByLibrary = 1 << 0,
  kContainer = 1 << 1,  // its first argument is the name of a subcommand
  kBlocks = 1 << 2,     // it may wait for what other clients do (in a transaction it never does)
  // It blocks only with its option BLOCK, which may be any of its first arguments.
  kBlocksByOption = 1 << 3,
  // After it the server sends what nobody asked for, or no longer does: publish/subscribe, MONITOR.
  // That comes as arrays under RESP2, as pushes under RESP3; the answers to these commands themselves
  // have the same form, one for each channel.
  kSubscription = 1 << 4,
  kTransaction = 1 << 5,   // after MULTI, commands are answered with QUEUED until EXEC or DISCARD
  kReplication = 1 << 6,   // what follows is the protocol between servers: not to be parsed
  kSetsProtocol = 1 << 7,  // HELLO 3, RESET: the form of answers may change, from its own answer on
  // The argument before the first key is the number of keys, and may be 0: then there is no key.
  kCountsKeys = 1 << 8,
  // A read-only replica may refuse it: Redis' flag `write`, and scripts, which may hold such commands.
  kWrites = 1 << 9,
  // A server without memory left may refuse it: Redis' flag `denyoom`, and scripts.
  kAllocates = 1 << 10,
};

struct CommandProperties {
  std::string_view name;
  uint16_t flags = 0;
  // The number of the argument that is the first key (the name is 0); 0: it has none, or its place
  // depends on options (XREAD). Channels are no keys.
  uint8_t first_key = 0;

  bool has(CommandFlag flag) const { return (flags & flag) != 0; }
};

// `name` in capital letters. nullptr: not a command that is known here.
const CommandProperties* find_command(std::string_view name);

}  // namespace filibuster::resp
