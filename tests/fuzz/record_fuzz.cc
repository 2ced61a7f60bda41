// Records of an agent, as a recording gets them: each begins with a byte that says what it is, then one byte for each of its numbers, and for
// bytes of a connection their length and themselves. Whatever comes in whatever order, a whole case is written and read again as the
// same, its calls wait for earlier ones only, and nothing is kept of what is over.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cases/case_file.h"
#include "daemon/record/assembler.h"

using namespace filibuster;
using namespace filibuster::record;

namespace {

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  std::string_view bytes(size_t most) {
    const std::string_view out(reinterpret_cast<const char*>(data_), std::min(most, size_));
    data_ += out.size();
    size_ -= out.size();
    return out;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

class Recorded {
 public:
  Recorded() : assembler_(options()) {}

  void step(Input* in) {
    const uint8_t what = in->byte();
    now_ += uint64_t{what} * 100'000;
    switch (what % 15) {
      case 0: {
        ConnectionSeen event;
        event.connection = in->byte() % 8;
        event.server = in->byte() % 2;
        event.protocol = static_cast<StreamProtocol>(1 + in->byte() % 3);
        event.seen_from = static_cast<SeenFrom>(in->byte() % 3);
        event.messages = in->byte() % 3;
        event.service = "cache";
        return say(EventType::kConnectionSeen, event);
      }
      case 1:
      case 2: {
        RpcIssued event;
        event.rpc = in->byte() % 16;
        event.parent_rpc = in->byte() % 16;
        event.flags = static_cast<uint16_t>(in->byte() << 5);
        event.thread = in->byte() % 3;
        event.service = what % 2 == 0 ? "pricing" : "";
        event.peer = "127.0.0.1:80";
        event.method = "GET";
        event.target = "/x";
        return say(EventType::kRpcIssued, event);
      }
      case 3: {
        RpcReceived event;
        event.rpc = in->byte() % 16;
        return say(EventType::kRpcReceived, event);
      }
      case 4: {
        RpcFinished event;
        event.rpc = in->byte() % 16;
        event.outcome = static_cast<RpcOutcome>(1 + in->byte() % 7);
        event.status = 200;
        return say(EventType::kRpcFinished, event);
      }
      case 5: {
        IncomingFinished event;
        event.rpc = in->byte() % 16;
        event.status = static_cast<uint16_t>(in->byte());
        return say(EventType::kIncomingFinished, event);
      }
      case 6:
      case 7: {
        RpcAt event;
        event.rpc = in->byte() % 16;
        event.connection = in->byte() % 8;
        event.number = in->byte() % 8;
        event.incoming = what % 2;
        return say(EventType::kRpcAt, event);
      }
      case 8:
      case 9: {
        TapeBytes record;
        record.connection = in->byte() % 8;
        record.requests = in->byte() % 2;
        const std::string_view text = in->bytes(in->byte());
        uint64_t& position = positions_[{record.connection, record.requests}];
        record.position = position;
        position += text.size();
        record.bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
        return assembler_.bytes(source(), head(TapeType::kBytes), record);
      }
      case 10: {
        TapeGap record;
        record.connection = in->byte() % 8;
        record.requests = in->byte() % 2;
        record.size = in->byte();
        record.position = positions_[{record.connection, record.requests}] += record.size;
        return assembler_.gap(source(), head(TapeType::kGap), record);
      }
      case 11: {
        TapeClosed record;
        record.connection = in->byte() % 8;
        record.requests = positions_[{record.connection, 1}];
        record.answers = positions_[{record.connection, 0}];
        record.by_peer = in->byte() % 2;
        record.error = in->byte() % 2;
        return assembler_.closed(source(), head(TapeType::kClosed), record);
      }
      case 12: {
        TapeDraw record;
        record.rpc = in->byte() % 16;
        record.source = 1 + in->byte() % static_cast<uint8_t>(kLastDrawSource);
        record.site = what % 2 == 0 ? "F /srv/orders.py:31 name" : "";
        const std::string_view text = in->bytes(1 + in->byte() % 32);
        if (text.empty()) return;
        record.bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
        return assembler_.draw(source(), head(TapeType::kDraw), record);
      }
      case 13:
        now_ += kSettledNs;
        assembler_.passed(now_);
        return check(assembler_.take());
      default:
        if (in->byte() % 8 == 0) assembler_.lost(source(), 1);
    }
  }

  void finish() {
    assembler_.ended(source());
    assembler_.finish();
    check(assembler_.take());
    assembler_.passed(now_);
    demand(assembler_.take().empty(), "nothing comes twice");
  }

 private:
  static AssemblerOptions options() {
    AssemblerOptions out;
    out.service = "orders";
    out.epoch_ns = 1'796'030'047'000'000'000;
    out.most_kept = 1 << 16;
    return out;
  }
  static EventSource source() { return {0, 7, "orders"}; }
  EventHead head(TapeType type) const { return {static_cast<uint16_t>(type), 2, now_}; }

  template <typename Event>
  void say(EventType type, const Event& event) {
    uint8_t data[1024];
    const size_t size = encode(event, data, sizeof data);
    demand(size != 0, "an event fits");
    assembler_.event(source(), {static_cast<uint16_t>(type), 2, now_}, {data, size});
  }

  static void check(const Assembled& taken) {
    for (const RecordedCase& each : taken.cases) {
      const cases::Case& value = each.value;
      demand(value.calls.size() == each.stacks.size(), "each call has its stack");
      for (size_t i = 0; i < value.calls.size(); ++i) {
        demand(std::is_sorted(value.calls[i].after.begin(), value.calls[i].after.end()),
               "in order");
        for (const size_t before : value.calls[i].after)
          demand(before < i, "waits for earlier ones");
        if (value.calls[i].attempt_of)
          demand(!value.calls[*value.calls[i].attempt_of].attempt_of, "of the first attempt");
      }
      const cases::WrittenFile file = cases::write_case(value, "9a1c");
      if (!value.partial.empty()) continue;
      const cases::ReadCase read =
          cases::read_case(file.text, "x.json", [&](const std::string& name) {
            std::optional<std::string> out;
            for (const auto& [beside, bytes] : file.beside) {
              if (beside == name) out = bytes;
            }
            return out;
          });
      for (const ConfigError& error : read.errors)
        std::fprintf(stderr, "%s\n", error.message.c_str());
      demand(read.errors.empty(), "a whole case is read again");
      demand(read.value == value, "as the same");
    }
  }

  Assembler assembler_;
  uint64_t now_ = 1'000'000'000;
  std::map<std::pair<uint64_t, uint8_t>, uint64_t> positions_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  Recorded recorded;
  while (!in.empty()) recorded.step(&in);
  recorded.finish();
  return 0;
}
