#include "bpf/loader/session.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bpf/loader/capabilities.h"
#include "bpf/loader/foreign_sockets.h"
#include "bpf/loader/kernel.h"

namespace filibuster::bpf {
namespace {

// PROC_PID_INIT_INO of the kernel: the namespace in which it counts processes itself.
constexpr uint64_t kFirstPidNamespace = 0xeffffffc;

}  // namespace

Outcome Session::prepare() {
  if (const std::string missing = missing_capabilities(); !missing.empty())
    return refused("capabilities", EPERM);
  const uint64_t pids = namespace_of(getpid(), "pid");
  if (pids != kFirstPidNamespace)
    return declined(
        "pid namespace", EINVAL,
        "Filibuster runs in a container, and the kernel's process numbers are not those "
        "that are seen there: start it outside, or with --pid=host");
  if (programs_.started()) return std::nullopt;
  news_.reset();
  if (Outcome failed = programs_.start()) return failed;
  news_.reset(ring_buffer__new(programs_.map("fb_news"), take_news, this, nullptr));
  return news_ ? Outcome() : refused("ring buffer", errno);
}

Outcome Session::spare_daemon() {
  std::vector<uint16_t> ports;
  if (spared_ != 0) {
    // At its other ports the daemon listens in the place of services (stubs), whose callers are followed.
    ports.push_back(spared_);
  } else if (Outcome failed = listening_ports(daemon_, &ports)) {
    return failed;
  }
  const uint8_t yes = 1;
  for (const uint16_t port : ports) {
    if (bpf_map_update_elem(programs_.map("fb_spared"), &port, &yes, BPF_ANY) != 0)
      return refused("map fb_spared", errno);
  }
  return std::nullopt;
}

std::set<uint16_t> Session::spared() const {
  std::set<uint16_t> ports;
  for_each_key<uint16_t, uint8_t>(programs_.map("fb_spared"),
                                  [&](uint16_t port, uint8_t) { ports.insert(port); });
  return ports;
}

Outcome Session::attach(const AttachRequest& request, const std::vector<UniqueFd>& listeners,
                        pid_t proxy, std::unique_ptr<Attachment>* made) {
  const size_t expected = (request.flags & kAttachNoIpv6) != 0 ? 2 : 4;
  if (request.pid_count == 0 || request.pid_count > kMaxPids || request.port_count > kMaxPorts ||
      listeners.size() != expected)
    return declined("request", EINVAL, "the proxy's request is not complete");
  uint32_t slot = 0;
  while (slots_.contains(slot)) ++slot;
  if (slot == FB_SLOTS)
    return declined("slot", ENOSPC,
                    "a session attaches " + std::to_string(FB_SLOTS) + " services at most");
  auto attachment = std::make_unique<Attachment>(programs_, claims_, slot, ++attachments_);
  if (Outcome failed = attachment->claim(request, {getpid(), daemon_, proxy})) return failed;
  if (Outcome failed = prepare()) return failed;
  if (Outcome failed = spare_daemon()) return failed;
  if (Outcome failed = attachment->attach(request, listeners)) return failed;
  slots_[slot] = attachment.get();
  *made = std::move(attachment);
  return std::nullopt;
}

void Session::unload() {
  news_.reset();
  programs_.unload();
}

void Session::ended(std::unique_ptr<Attachment> attachment) {
  open_before_.leave(*attachment);
  slots_.erase(attachment->slot());
  attachment.reset();
  if (slots_.empty()) programs_.stop();
}

int Session::news_fd() const {
  return news_ && programs_.started() ? ring_buffer__epoll_fd(news_.get()) : -1;
}

void Session::read_news() {
  if (news_) ring_buffer__consume(news_.get());
}

void Session::look() {
  read_news();
  std::vector<const Attachment*> attachments;
  for (const auto& [slot, attachment] : slots_) attachments.push_back(attachment);
  open_before_.look(attachments);
}

int Session::take_news(void* context, void* bytes, size_t size) {
  auto* session = static_cast<Session*>(context);
  News news;
  if (size < sizeof(news)) return 0;
  std::memcpy(&news, bytes, sizeof(news));
  if (news.kind == NewsKind::kSaid) {
    session->open_before_.said(news.cookie);
    return 0;
  }
  const auto process = static_cast<pid_t>(news.tgid);
  if (news.kind == NewsKind::kEnded) {
    for (auto& [slot, attachment] : session->slots_) attachment->ended(process);
    return 0;
  }
  uint32_t slot = 0;
  if (bpf_map_lookup_elem(session->programs_.map("fb_tgids"), &news.tgid, &slot) != 0) return 0;
  const auto found = session->slots_.find(slot);
  if (found == session->slots_.end()) return 0;
  if (news.kind == NewsKind::kExeced)
    found->second->runs_another_program(process);
  else
    found->second->joined(process);
  return 0;
}

OldReply Session::old_connections() {
  read_news();
  OldReply reply;
  std::map<uint32_t, const Attachment*> by_number;
  for (const auto& [slot, attachment] : slots_) {
    by_number[attachment->number()] = attachment;
    OldReply::Service& row = reply.services[reply.service_count++];
    copy_text(row.service, sizeof(row.service), attachment->service());
    bpf_map_lookup_elem(programs_.map("fb_unseen"), &slot, &row.writes);
  }
  for (const OpenBefore::Staying& staying : open_before_.staying_connections()) {
    const auto attachment = by_number.find(staying.owner);
    if (attachment == by_number.end() || reply.staying_count == std::size(reply.staying)) continue;
    OldReply::Staying& row = reply.staying[reply.staying_count++];
    copy_text(row.service, sizeof(row.service), attachment->second->service());
    copy_text(row.address, sizeof(row.address), staying.address);
    row.outgoing = staying.outgoing ? 1 : 0;
    row.count = staying.count;
  }
  return reply;
}

Session::Client::~Client() {
  if (attachment_) session_.ended(std::move(attachment_));
  if (counted_ && --session_.clients_ == 0) session_.unload();
}

AttachReply Session::Client::attach(const AttachRequest& request,
                                    const std::vector<UniqueFd>& listeners,
                                    std::vector<int>* descriptors) {
  AttachReply reply;
  const Outcome failed =
      counted_ ? declined("request", EALREADY, "this connection has attached a service already")
               : session_.attach(request, listeners, proxy_, &attachment_);
  if (failed) {
    if (session_.clients_ == 0) session_.unload();
    reply.error = failed->error;
    copy_text(reply.step, sizeof(reply.step), failed->step);
    copy_text(reply.text, sizeof(reply.text), failed->text);
    return reply;
  }
  counted_ = true;
  ++session_.clients_;
  reply.slot = attachment_->slot();
  *descriptors = attachment_->descriptors();
  copy_text(reply.text, sizeof(reply.text), session_.programs_.notes() + attachment_->notes());
  return reply;
}

RetireReply Session::Client::retire() {
  RetireReply reply;
  Outcome failed;
  if (!attachment_) {
    failed = declined("request", EINVAL, "nothing is attached by this connection");
  } else {
    // Those that have said all since are taken out of the sockhash first.
    session_.read_news();
    failed = session_.open_before_.retire(*attachment_, session_.spared(), &reply);
  }
  if (failed) {
    reply.error = failed->error;
    copy_text(reply.step, sizeof(reply.step), failed->step);
    copy_text(reply.text, sizeof(reply.text), failed->text);
  }
  return reply;
}

DetachReply Session::Client::detach() {
  DetachReply reply;
  if (attachment_) {
    session_.ended(std::move(attachment_));
  } else {
    reply.error = EINVAL;
    copy_text(reply.text, sizeof(reply.text), "nothing is attached by this connection");
  }
  return reply;
}

}  // namespace filibuster::bpf
