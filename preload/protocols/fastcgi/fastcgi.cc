#include "preload/protocols/fastcgi/fastcgi.h"

#include <new>
#include <utility>

#include "core/fastcgi/requests.h"
#include "preload/rpc/agent.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {
namespace {

// A worker's side. It stands in Connection::room.
class FastCgi final : public HoldsNothing, fastcgi::RequestHandler, fastcgi::AnswerHandler {
 public:
  bool skipped(Connection&, uint64_t) override { return false; }

  void observed(Connection& c, int, Traffic traffic, Pieces pieces, size_t size) override {
    pieces.each(0, size, [&](const char* part, size_t bytes) {
      const bool good = traffic == Traffic::kRequests ? requests_.feed(part, bytes, this)
                                                      : answers_.feed(part, bytes, this);
      if (!good) give_up_silently(c);
      return good;
    });
  }
  // Only the contents of records go by unseen, and nothing tells their end then.
  bool unseen(Connection&, Traffic, size_t) override { return false; }
  bool may_begin_with(Pieces) const override { return false; }
  uint32_t open_requests() const override { return incoming_ != nullptr ? 1 : 0; }
  const Incoming* incoming_at(uint32_t) const override { return incoming_; }
  void end_unanswered(Connection&) override { end(0); }
  void settle(Connection&) override { end(0); }
  void adopt_in_child(Connection&) override {}

 private:
  void on_request(uint16_t id, std::string_view method, std::string_view target,
                  std::string_view field) override {
    end(0);
    // Of a request without the field the web server has formed the entry, and the worker cannot know its index.
    if (field.empty()) return;
    RequestHead head;
    head.method = method;
    head.target = target;
    head.filibuster = field;
    id_ = id;
    incoming_ = incoming_begin({&head, false});
  }
  void on_end(uint16_t id, uint16_t status) override {
    if (id == id_) end(status);
  }
  void end(uint16_t status) {
    if (Incoming* incoming = std::exchange(incoming_, nullptr)) incoming_end(incoming, status);
  }

  fastcgi::RequestParser requests_;
  fastcgi::AnswerParser answers_;
  Incoming* incoming_ = nullptr;
  uint16_t id_ = 0;
};
static_assert(sizeof(FastCgi) <= sizeof(Connection::room));

}  // namespace

Recognised is_fastcgi_of_client(std::string_view first) {
  switch (fastcgi::sniff(first)) {
    case fastcgi::Sniff::kRequest:
      return Recognised::kYes;
    case fastcgi::Sniff::kNeedMore:
      return Recognised::kNeedMore;
    case fastcgi::Sniff::kOther:
      break;
  }
  return Recognised::kNo;
}

void begin_fastcgi(Connection& c, Pieces, size_t) {
  void* room = take_room(c);
  if (room == nullptr) return;
  auto* fastcgi = new (room) FastCgi;
  if (c.role != Role::kServer) give_up_silently(c);
  publish(c, fastcgi);
}

Joined joins_fastcgi(std::string_view first, NotInterposedReason*) {
  return is_fastcgi_of_client(first) == Recognised::kYes ? Joined::kRequests : Joined::kNo;
}

}  // namespace filibuster::preload
