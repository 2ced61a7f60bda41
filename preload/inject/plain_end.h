// A fault on a connection whose descriptor carries encrypted bytes. The keys stay in this process, and what
// the daemon does with the real connection, it does in the clear.
#pragma once

#include "core/tls/records.h"

namespace filibuster::preload {

class Encryption {
 public:
  // Are bytes of the peer unread that were decrypted?
  virtual bool has_unread() = 0;
  // Makes a descriptor of ours from which another process reads what the peer sends, and writes what the peer
  // gets. It takes `real` over, the real connection, which is one of our descriptors. -1: that cannot be
  // done, and nothing has changed.
  virtual int plain_end(int real) = 0;
  // Does the application read records of TLS, which it gives to its session? Then it finds such in the pair that stands
  // in the place of the connection (records.h). The pair is about to take that place, and `*rest` comes before its bytes.
  virtual bool begin_records(tls::RecordRest* /*rest*/) { return false; }
  // Has the application encrypted bytes that its session has not got yet?
  virtual bool has_under_way() { return false; }

 protected:
  ~Encryption() = default;
};

}  // namespace filibuster::preload
