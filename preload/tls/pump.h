// A thread of the agent that uses a TLS session in the place of the application, and passes what is in it to another
// process in the clear. The keys stay here.
//
//   the server <- real -> engine: decrypts, encrypts <- plain -> a pair -> the daemon
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace filibuster::preload {

// A session of a TLS library that gets its encrypted bytes from the pump, and gives them to it. Used by the
// thread of the pump only.
class Engine {
 public:
  // All of the bytes that came from the peer, in their order.
  virtual void feed(const char* bytes, size_t size) = 0;
  // Takes bytes for the peer; returns how many.
  virtual size_t take(char* bytes, size_t room) = 0;
  // As recv(2) and send(2) without waiting: -EAGAIN, or another negative number at an error. read() gives 0 at the
  // peer's close_notify.
  virtual ssize_t read(char* bytes, size_t room) = 0;
  virtual ssize_t write(const char* bytes, size_t size) = 0;
  // Says that nothing more is written.
  virtual void close() = 0;
  // The pump ends. `process_ends`: the library may be gone already.
  virtual void drop(bool process_ends) = 0;

 protected:
  ~Engine() = default;
};

// From now on the engine belongs to a thread of the agent, which takes `real` and `plain` over, descriptors of
// ours. False: there is no thread or no memory, and nothing has changed.
bool start_pump(Engine* engine, int real, int plain);
// Ends the pump of the engine, and waits until its thread has left the engine.
void stop_pump(const Engine* engine);
// Is this such a thread? (A callback of the application must not run in it.)
bool is_pump();

}  // namespace filibuster::preload
