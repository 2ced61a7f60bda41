// Sessions of OpenSSL under the library, in a session of Filibuster (in_session.py starts it there). The input is a sequence of calls;
// tests/programs/tls/session_model.h says which, and what they have to give.
#include <cstdlib>

#include "tests/programs/tls/session_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const port = std::getenv("SESSIONS_PORT");
  sessions::run(data, size, port != nullptr ? std::atoi(port) : 0, sessions::Fault::kNone);
  return 0;
}
