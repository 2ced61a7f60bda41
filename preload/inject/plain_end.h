// A fault on a connection whose descriptor carries encrypted bytes. The keys stay in this process, and what
// the daemon does with the real connection, it does in the clear.
#pragma once

namespace filibuster::preload {

class Encryption {
 public:
  // Are bytes of the peer unread that were decrypted?
  virtual bool has_unread() = 0;
  // Makes a descriptor of ours from which another process reads what the peer sends, and writes what the peer
  // gets. It takes `real` over, the real connection, which is one of our descriptors. -1: that cannot be
  // done, and nothing has changed.
  virtual int plain_end(int real) = 0;

 protected:
  ~Encryption() = default;
};

}  // namespace filibuster::preload
