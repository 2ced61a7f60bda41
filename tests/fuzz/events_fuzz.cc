// One byte that chooses the event, then its bytes. Decoding must survive them and keep its views
// inside; what decodes must encode to the same bytes again.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/protocol/events.h"

namespace {

template <typename Event>
void check(const std::vector<uint8_t>& bytes) {
  Event event;
  if (!decode(bytes.data(), bytes.size(), &event)) return;
  std::vector<uint8_t> again(bytes.size());
  const size_t size = encode(event, again.data(), again.size());
  // Bytes after the last field belong to a later minor version.
  if (size == 0 || std::memcmp(again.data(), bytes.data(), size) != 0) std::abort();
  if (size < 2) return;
  again.resize(size - 1);
  if (encode(event, again.data(), again.size()) != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace filibuster;
  if (size == 0) return 0;
  const std::vector<uint8_t> bytes(data + 1, data + size);
  switch (data[0] % 14) {
    case 0:
      check<RpcIssued>(bytes);
      break;
    case 1:
      check<RpcReceived>(bytes);
      break;
    case 2:
      check<RpcFinished>(bytes);
      break;
    case 3:
      check<IncomingFinished>(bytes);
      break;
    case 4:
      check<FaultFired>(bytes);
      break;
    case 5:
      check<Listen>(bytes);
      break;
    case 6:
      check<NotInterposed>(bytes);
      break;
    case 7:
      check<RpcFinalized>(bytes);
      break;
    case 8:
      check<UnseenRequests>(bytes);
      break;
    case 9:
      check<Note>(bytes);
      break;
    case 10:
      check<RpcFields>(bytes);
      break;
    case 11:
      check<RpcBody>(bytes);
      break;
    case 12:
      check<ConnectionSeen>(bytes);
      break;
    default:
      check<RpcAt>(bytes);
      break;
  }
  return 0;
}
