// The connections of attached processes that were open before, or that were opened past the proxy: they are
// put into the sockhash of bpf/stream.bpf.c, which makes their other ends open new ones.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bpf/loader/attachment.h"
#include "bpf/loader/failure.h"
#include "bpf/loader/programs.h"
#include "bpf/loader/protocol.h"
#include "bpf/loader/rows.h"

namespace filibuster::bpf {

class OpenBefore {
 public:
  explicit OpenBefore(Programs& programs) : programs_(programs) {}

  // Takes in what the processes of the attachment have open by now, and counts. Connections to `spared`
  // ports of this machine are left alone.
  Outcome retire(const Attachment& attachment, const std::set<uint16_t>& spared,
                 RetireReply* reply);
  // Those that were used and cannot be ended politely, those with the same ends together.
  struct Staying {
    uint32_t owner = 0;
    bool outgoing = false;
    std::string address;  // of the other end
    uint32_t count = 0;
  };
  std::vector<Staying> staying_connections() const;
  // The connection has said what it had to say.
  void said(uint64_t cookie);
  // Some connections have not said it yet, as far as is known, or have just said it: look() is to be called from time to
  // time. The kernel wakes nobody.
  bool waits() const { return !unsaid_.empty() || !ending_.empty(); }
  // Helps who waits for bytes that are there already: of a socket in a sockhash, the kernel says that there is nothing to
  // read (FIONREAD, Linux 6.18), and a server like nginx, which is told of news alone (EPOLLET), then waits for more. A
  // connection on which nothing was read since the last look is taken out of the sockhash, and its reader is woken. It
  // comes back when all is read.
  void look(const std::vector<const Attachment*>& attachments);
  // Nothing more is said on connections of this attachment, and nobody who reads them needs help any more.
  void leave(const Attachment& attachment);

 private:
  void adopt_socket(const Attachment& attachment, int socket, const std::set<uint16_t>& spared);
  Outcome list(std::vector<ListedRow>* rows) const;  // those of all attachments
  // Wakes who reads `stuck`; puts back what has been read up.
  void help(const std::vector<const Attachment*>& attachments, const std::set<uint64_t>& stuck,
            const std::set<uint64_t>& read_up);

  Programs& programs_;
  std::map<uint64_t, uint32_t> owners_;  // of what was adopted, by cookie
  std::set<uint64_t> unsaid_;            // of these, what is in the sockhash, or is to come back
  std::set<uint64_t> taken_out_;         // of these, what look() took out
  // What has said it, and for how many looks it is still looked at.
  std::map<uint64_t, uint32_t> ending_;
  std::map<uint64_t, uint32_t> behind_;  // copied_seq of what had unread bytes at the last look
  std::map<std::string, uint32_t> not_ours_;  // what cannot be adopted, and how many, as of now
};

// "2 at 8080 (HTTP/2), 1 to 127.0.0.1:5432 (neither HTTP/1.1 nor gRPC in the clear)": those of the rows
// that cannot be ended politely.
std::map<std::string, uint32_t> staying(const std::vector<ListedRow>& rows);
std::string counted(const std::map<std::string, uint32_t>& counts);
bool stays(const KeptRow& row);
std::string to_text(const fb_address& address);

}  // namespace filibuster::bpf
