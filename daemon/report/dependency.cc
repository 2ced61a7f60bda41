#include "daemon/report/dependency.h"

#include "core/protocol/events.h"

namespace filibuster {
namespace {

// What a reason means; "" where its name says enough.
std::string in_words(const NotInterposedRecord& record) {
  if (record.reason == reason_name(NotInterposedReason::kTls))
    return "encrypted by a library that is not followed, or opened before the session: docs/tls.md";
  if (record.reason == reason_name(NotInterposedReason::kSealed)) {
    return "nobody decrypts it: it is refused, reset, silent and late, but no answer is made, and several requests on one "
           "connection count as one, except those of Go's net/http: docs/attach.md";
  }
  if (record.reason == reason_name(NotInterposedReason::kRedis)) {
    return record.target_service.empty()
               ? "it speaks Redis, and is no service of the configuration: an entry in `services` with "
                 "its address and \"protocol\": \"redis\" gives its commands faults"
               : "it speaks Redis, and is not declared so: \"protocol\": \"redis\" in the entry of '" +
                     record.target_service + "' gives its commands faults";
  }
  if (record.reason == reason_name(NotInterposedReason::kRedisBlocking))
    return "a command that waits for other clients, such as BLPOP, gets no fault";
  if (record.reason == reason_name(NotInterposedReason::kRedisSubscription))
    return "after a command such as SUBSCRIBE or MONITOR the server sends what answers no command, so "
           "replies are not followed";
  if (record.reason == reason_name(NotInterposedReason::kRedisUnfollowed))
    return "after a command such as CLIENT REPLY or PSYNC nothing tells which reply answers which "
           "command";
  if (record.reason == reason_name(NotInterposedReason::kOpenBefore))
    return "the connection was open before the service was attached, and what is spoken there has no polite end: start the "
           "service again, and it is followed";
  return "";
}

}  // namespace

std::string reason_text(const NotInterposedRecord& record) {
  const std::string words = in_words(record);
  return record.reason + (words.empty() ? "" : " (" + words + ")");
}

}  // namespace filibuster
