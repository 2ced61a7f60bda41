// What one loader has attached: up to FB_SLOTS services, and the programs that they share.
#pragma once

#include <bpf/libbpf.h>

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "bpf/loader/attachment.h"
#include "bpf/loader/claims.h"
#include "bpf/loader/open_before.h"
#include "bpf/loader/programs.h"
#include "bpf/loader/protocol.h"

namespace filibuster::bpf {

class Session {
 public:
  // `daemon`: connections to the ports at which it listens are never redirected.
  // `spared`: the port of the daemon to which connections are left alone; 0: all of its ports.
  Session(pid_t daemon, std::string writes, uint16_t spared)
      : daemon_(daemon), spared_(spared), programs_(std::move(writes)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // One connection of a proxy: what it attaches ends with it.
  class Client {
   public:
    Client(Session& session, pid_t proxy) : session_(session), proxy_(proxy) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    // `descriptors`: for the reply.
    AttachReply attach(const AttachRequest& request, const std::vector<UniqueFd>& listeners,
                       std::vector<int>* descriptors);
    RetireReply retire();
    DetachReply detach();

   private:
    Session& session_;
    const pid_t proxy_;
    std::unique_ptr<Attachment> attachment_;  // null: nothing yet, or no more
    bool counted_ = false;                    // in clients_
  };

  // Of what is attached now.
  OldReply old_connections();

  // Readable when there is news from the kernel; -1: there is none to come.
  int news_fd() const;
  void read_news();
  // Until all old connections have ended, look() is to be called from time to time (open_before.h).
  bool has_old_connections() const { return open_before_.waits(); }
  void look();

 private:
  friend class Client;
  Outcome attach(const AttachRequest& request, const std::vector<UniqueFd>& listeners, pid_t proxy,
                 std::unique_ptr<Attachment>* made);
  Outcome prepare();
  Outcome spare_daemon();
  std::set<uint16_t> spared() const;
  void unload();
  void ended(std::unique_ptr<Attachment> attachment);
  static int take_news(void* session, void* bytes, size_t size);

  struct NewsDeleter {
    void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
  };
  const pid_t daemon_;
  const uint16_t spared_;
  Programs programs_;
  Claims claims_;
  OpenBefore open_before_{programs_};
  std::map<uint32_t, Attachment*> slots_;
  uint32_t clients_ = 0;      // that have attached something, and are connected still
  uint32_t attachments_ = 0;  // ever
  std::unique_ptr<ring_buffer, NewsDeleter> news_;
};

}  // namespace filibuster::bpf
