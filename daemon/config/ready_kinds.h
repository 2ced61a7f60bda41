// The objects whose models come with the tool, for the configuration and for the models (daemon/property/ready_model.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace filibuster {

struct ReadyCommand {
  std::string_view f;
  // The members of its value. One that is `value` alone is the value itself. "": there is none.
  std::array<std::string_view, 3> members;
  bool reads = false;     // it changes nothing
  bool answers = false;   // what it is answered says something of the object
  bool is_chosen = true;  // also where nobody says which commands there are

  bool has_member(std::string_view name) const {
    return !name.empty() && std::find(members.begin(), members.end(), name) != members.end();
  }
};

struct ReadyKind {
  std::string_view object;  // as make_object() knows it
  std::span<const ReadyCommand> commands;

  const ReadyCommand* command(std::string_view f) const {
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const ReadyCommand& each) { return each.f == f; });
    return found == commands.end() ? nullptr : &*found;
  }
};

namespace ready {

// clang-format off
constexpr ReadyCommand kRegister[] = {
    {.f = "read", .members = {}, .reads = true, .answers = true},
    {.f = "write", .members = {"value"}}};
constexpr ReadyCommand kCasRegister[] = {
    {.f = "read", .members = {}, .reads = true, .answers = true},
    {.f = "write", .members = {"value"}},
    {.f = "cas", .members = {"old", "new"}}};
constexpr ReadyCommand kKv[] = {
    {.f = "get", .members = {"key"}, .reads = true, .answers = true},
    {.f = "put", .members = {"key", "value"}},
    {.f = "delete", .members = {"key"}, .is_chosen = false},
    {.f = "append", .members = {"key", "value"}, .is_chosen = false},
    {.f = "cas", .members = {"key", "old", "new"}, .is_chosen = false}};
constexpr ReadyCommand kQueue[] = {
    {.f = "enqueue", .members = {"value"}},
    {.f = "dequeue", .members = {}, .answers = true}};
constexpr ReadyCommand kSet[] = {
    {.f = "read", .members = {}, .reads = true, .answers = true},
    {.f = "add", .members = {"value"}},
    {.f = "remove", .members = {"value"}, .is_chosen = false},
    {.f = "contains", .members = {"value"}, .reads = true, .answers = true, .is_chosen = false}};
constexpr ReadyCommand kList[] = {
    {.f = "read", .members = {}, .reads = true, .answers = true},
    {.f = "append", .members = {"value"}}};
constexpr ReadyCommand kBank[] = {
    {.f = "read", .members = {}, .reads = true, .answers = true},
    {.f = "transfer", .members = {"from", "to", "amount"}}};
constexpr ReadyCommand kCounter[] = {
    {.f = "read", .members = {}, .reads = true, .answers = true},
    {.f = "add", .members = {"value"}},
    {.f = "add_and_get", .members = {"value"}, .answers = true, .is_chosen = false}};
// clang-format on

}  // namespace ready

constexpr ReadyKind kReadyKinds[] = {{"register", ready::kRegister},
                                     {"cas-register", ready::kCasRegister},
                                     {"kv", ready::kKv},
                                     {"queue", ready::kQueue},
                                     {"set", ready::kSet},
                                     {"list", ready::kList},
                                     {"bank", ready::kBank},
                                     {"counter", ready::kCounter}};

// nullptr: there is none.
constexpr const ReadyKind* ready_kind(std::string_view object) {
  for (const ReadyKind& kind : kReadyKinds) {
    if (kind.object == object) return &kind;
  }
  return nullptr;
}

}  // namespace filibuster
