// One session of the JDK's TLS (an SSLEngine or an SSLSocket), as the transport of a followed connection. Which
// descriptor it is used on, the random of its ClientHello tells (claims.h).
//
// A socket reads and writes its descriptor inside of its calls. An engine gives its encrypted bytes to the
// application, and gets them from there: so some of them may be on their way when a fault takes the
// connection's place. They are counted. The application is rid of them before bytes in the clear come.
#pragma once

#include <jni.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/tls/library_session.h"
#include "preload/tls/tail.h"

namespace filibuster::preload::jvm {

// A call of the application on a session: a FilibusterCall, which calls the original.
struct Call {
  JNIEnv* env;
  jobject object;
  // As put() and get() of the object.
  jint put(const void* bytes, size_t size, bool clear) const;
  jint get(bool clear, uint64_t skipped) const;
  // A FilibusterPumped, which uses the session in the place of the application; nullptr: there is none.
  jobject pumped() const;
};

// Finds what Call needs. False: it is not there.
bool bind_call(JNIEnv* env, jclass call);

class Session final : public LibrarySession {
 public:
  static Session* make(bool engine, bool server);  // nullptr: no memory
  // The engine or the socket is gone.
  void freed() { drop(); }

  // Finds the connection that has begun with this random, and becomes its transport.
  bool join(const tls::ClientRandom& random);
  // The connection, with the descriptor that carries it. Empty: it is not followed.
  Pinned connection(int* fd);

  bool is_engine() const { return engine_; }
  // How many bytes the application still has of those that it received before a fault took their place.
  uint64_t to_skip() const { return under_way(); }
  void consumed(size_t size) { consumed_ += size; }
  void produced(const void* bytes, size_t size);
  // The engine's application has so many bytes in the clear that nobody is to get. (It would not go on without any.)
  void swallowed(size_t size) { swallowed_ += size; }

  ssize_t send(const OnTheWire& out) override;
  bool may_hold() override { return false; }
  void flushed(int) override {}
  bool enter() override { return false; }
  void leave() override {}
  bool watches_descriptor() const override { return engine_; }
  size_t obsolete(int fd, size_t size) override;
  bool has_unread() override;
  bool all_is_read() override;
  int plain_end(int real) override;
  // An application that has an engine may look at the records that it gives to it (Netty does).
  bool begin_records(filibuster::tls::RecordRest* rest) override;
  bool has_under_way() override { return engine_ && under_way() != 0; }
  // The engine has given so many bytes that came in the clear, all of one record.
  void unframed(size_t size);

  // For a thread that is inside of a read of a socket. nullptr: it is not.
  class Reading {
   public:
    explicit Reading(Session* session) : session_(session) {
      if (session_ != nullptr) ++session_->reading_;
    }
    ~Reading() {
      if (session_ != nullptr) --session_->reading_;
    }
    Reading(const Reading&) = delete;

   private:
    Session* session_;
  };

 private:
  void give_back() override;
  void joins(const Connection& c) override;
  uint64_t consumed() const override { return consumed_; }
  bool keep_out();
  // What the engine has given, and the application has not sent yet.
  uint64_t to_send() const;

  bool engine_ = false, server_ = false, pumped_ = false;
  std::atomic<int> reading_{0};
  // What an engine has taken and given: encrypted bytes.
  std::atomic<uint64_t> consumed_{0}, produced_{0};
  std::atomic<uint64_t> swallowed_{0};
  Tail unsent_;
};

// The call that this thread is inside of.
extern constinit thread_local const Call* t_call __attribute__((tls_model("initial-exec")));

}  // namespace filibuster::preload::jvm
