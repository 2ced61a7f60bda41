#include "daemon/proxy/watched.h"

#include <fcntl.h>

#include <algorithm>

namespace filibuster::proxy {

// A connection whose first bytes were told is followed from its start. Of another one, what is open now is not known.
WatchedConnections::Connection* WatchedConnections::find(const Event& event) {
  const auto [at, added] = connections_.try_emplace({event.local, event.remote});
  Connection& connection = at->second;
  if (!added) return &connection;
  // Whatever would be written to it by mistake goes nowhere.
  connection.place = UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!connection.place.valid()) {
    connections_.erase(at);
    return nullptr;
  }
  const bool from_start = event.position == 0;
  connection.requests.known = connection.answers.known = from_start;
  connection.number = ++last_number_;
  descriptors_[connection.number] = connection.place.get();
  door_.watched(connection.place.get(), event.local, from_start);
  return &connection;
}

uint64_t WatchedConnections::take(const Event& event) {
  Connection* connection = find(event);
  if (connection == nullptr) return 0;
  show(connection, event);
  return connection->number;
}

// Some bytes may be told again: the kernel did not take them the first time. Others may be missing.
void WatchedConnections::show(Connection* connection, const Event& event) {
  const bool requests = event.kind == FB_REQUESTS;
  const int place = connection->place.get();
  auto& [known, next] = requests ? connection->requests : connection->answers;
  if (!known) next = event.position;
  known = true;
  const auto missing = static_cast<int32_t>(event.position - next);
  if (missing > 0) {
    door_.unseen(place, requests, static_cast<size_t>(missing), event.time_ns);
    next = event.position;
  }
  const uint32_t again = next - event.position;
  if (again >= event.size) return;
  next = event.position + event.size;
  std::string_view bytes = event.bytes;
  bytes.remove_prefix(std::min<size_t>(again, bytes.size()));
  if (!bytes.empty() && !door_.seen(place, requests, bytes, event.time_ns)) {
    // There was no session as it was told. In the middle of it, only a request can be joined.
    door_.watched(place, event.local, requests && event.position == 0);
    door_.seen(place, requests, bytes, event.time_ns);
  }
  const size_t rest = event.size - again - bytes.size();
  if (rest > 0) door_.unseen(place, requests, rest, event.time_ns);
}

uint64_t WatchedConnections::close(const Event& event) {
  const auto found = connections_.find({event.local, event.remote});
  if (found == connections_.end()) return 0;
  const uint64_t number = found->second.number;
  descriptors_.erase(number);
  connections_.erase(found);
  return number;
}

void WatchedConnections::lost(uint32_t count) {
  if (connections_.empty()) return;
  door_.requests_lost(count);
  descriptors_.clear();
  connections_.clear();
}

int WatchedConnections::descriptor(uint64_t number) const {
  const auto found = descriptors_.find(number);
  return found == descriptors_.end() ? -1 : found->second;
}

}  // namespace filibuster::proxy
