// The proxy's connection to the loader of the eBPF programs (bpf/loader/protocol.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/loader/protocol.h"
#include "core/result.h"
#include "daemon/base/descriptors.h"

namespace filibuster::proxy {

struct Attached {
  uint32_t slot = 0;
  std::string note;  // for people; empty: none
  UniqueFd ring, originals, bypass;
};

class Loader {
 public:
  explicit Loader(UniqueFd socket) : socket_(std::move(socket)) {}
  // Readable when a reply is there, or when the loader is gone.
  int descriptor() const { return socket_.get(); }

  // Waits for the reply. `listeners`: as AttachRequest wants them. The error is the loader's text.
  Result<Attached> attach(const bpf::AttachRequest& request, const std::vector<int>& listeners);
  // Waits for the reply. Connections that were open before are ended politely.
  Result<bpf::RetireReply> retire();
  // Returns at once; hear() says when it is so.
  Result<void> detach();

  enum class Heard : uint8_t { kNothing, kDetached, kGone };
  // What there is to read. Never waits.
  Heard hear();

 private:
  UniqueFd socket_;
};

}  // namespace filibuster::proxy
