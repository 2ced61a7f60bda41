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
  // The connection has said what it had to say.
  void said(uint64_t cookie);
  // Some connections have not said it yet, as far as is known. The kernel wakes nobody when they do.
  bool waits() const { return !unsaid_.empty(); }
  // Nothing more is said on connections of this attachment.
  void leave(uint32_t owner);

 private:
  void adopt_socket(const Attachment& attachment, int socket, const std::set<uint16_t>& spared);
  Outcome list(uint32_t owner, std::vector<ListedRow>* rows) const;

  Programs& programs_;
  std::map<uint64_t, uint32_t> owners_;       // of what was adopted, by cookie
  std::set<uint64_t> unsaid_;                 // of these, what is in the sockhash
  std::map<std::string, uint32_t> not_ours_;  // what cannot be adopted, and how many, as of now
};

// "2 at 8080 (HTTP/2), 1 to 127.0.0.1:5432 (neither HTTP/1.1 nor gRPC in the clear)": those of the rows
// that cannot be ended politely.
std::map<std::string, uint32_t> staying(const std::vector<ListedRow>& rows);
std::string counted(const std::map<std::string, uint32_t>& counts);
bool stays(const KeptRow& row);
std::string to_text(const fb_address& address);

}  // namespace filibuster::bpf
