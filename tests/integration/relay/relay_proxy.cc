// What an agent does with a faulted HTTP/2 connection, as a proxy: so that the daemon's relay meets
// clients and servers of every make, before and beside the agent's own tests.
//
//   relay_proxy SERVER_PORT HANG_LIMIT_MS FAULT...
//
// Prints its port. Every connection to it is handed off to a hub with its connection to the server
// right after the client's first SETTINGS. A request with the field `x-fault: N`, or `fault=N` in
// its path, gets the N-th FAULT (a body of M bytes: `status:503/M`). At the end of its input it
// ends the execution, prints what the record says (one line each, "lost N" first), and ends the
// session.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/http2/frame_parser.h"
#include "core/http2/header_block.h"
#include "core/http2/insertion.h"
#include "core/protocol/relay.h"
#include "tests/unit/agents/fake_agent.h"
#include "tests/unit/agents/tcp_pair.h"

namespace filibuster::test {
namespace {

using http2::FrameType;

FakeAgent* agent = nullptr;
std::mutex agent_mutex;
size_t faults = 0;

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

// The requests of one client: blocks are written anew, orders placed before them.
class Requests final : http2::FrameHandler, http2::FieldHandler {
 public:
  explicit Requests(int out) : out_(out) {}

  // Bytes of the client; false: the connection is over.
  bool take(std::string_view bytes) {
    pending_ += bytes;
    while (true) {
      if (!preface_) {
        if (pending_.size() < http2::kClientPreface.size()) return true;
        parser_.feed(pending_.data(), http2::kClientPreface.size());
        if (!send_all(out_, http2::kClientPreface)) return false;
        pending_.erase(0, http2::kClientPreface.size());
        preface_ = true;
      }
      if (pending_.size() < http2::kFrameHeaderSize) return true;
      const http2::FrameHeader frame = http2::read_frame_header(pending_.data());
      if (pending_.size() < frame.size()) return true;
      if (parser_.feed(pending_.data(), frame.size()) != http2::Error::kNone) std::abort();
      const bool block =
          frame.type == FrameType::kHeaders || frame.type == FrameType::kContinuation;
      if (!block && !send_all(out_, std::string_view(pending_).substr(0, frame.size()))) {
        return false;
      }
      if (!written_.empty() && !send_all(out_, std::exchange(written_, {}))) return false;
      pending_.erase(0, frame.size());
    }
  }
  bool begun() const { return preface_ && settings_; }
  // After the hand-off.
  void redirect(int out) { out_ = out; }
  const http2::Settings& settings() const { return parser_.settings(); }

 private:
  void on_settings(const http2::SettingsFrame&) override { settings_ = true; }
  void on_block(const http2::HeaderBlock&) override {
    fault_.reset();
    head_ = false;
    grpc_ = false;
    rewriter_.begin();
    if (decoder_.begin() != http2::Error::kNone) std::abort();
  }
  void on_block_bytes(const char* data, size_t size) override {
    if (decoder_.feed(data, size, this) != http2::Error::kNone) std::abort();
  }
  void on_field(const http2::Field& field) override {
    const size_t query = field.name == ":path" ? field.value.find("fault=") : std::string::npos;
    if (field.name == "x-fault") fault_ = std::atoi(std::string(field.value).c_str());
    if (query != std::string::npos) fault_ = std::atoi(field.value.data() + query + 6);
    if (field.name == ":method") head_ = field.value == "HEAD";
    if (field.name == "content-type") grpc_ = field.value.starts_with("application/grpc");
    rewriter_.add(field);
  }
  void on_block_end(const http2::HeaderBlock& block) override {
    if (decoder_.end(this) != http2::Error::kNone) std::abort();
    if (block.stream > last_ && fault_ && static_cast<size_t>(*fault_) < faults) {
      StreamOrder order;
      order.flags = (head_ ? kOrderHead : 0u) | (grpc_ ? kOrderGrpc : 0u);
      order.rpc = agent->rpc(static_cast<uint32_t>(*fault_ + 1));
      order.execution = 1;
      order.plan_entry = static_cast<uint32_t>(*fault_);
      char frame[kOrderFrameSize];
      write_order(block.stream, order, frame);
      written_.append(frame, sizeof frame);
    }
    last_ = std::max(last_, block.stream);
    std::string frames(400'000, '\0');
    http2::Output out(frames.data(), frames.size());
    if (!rewriter_.write(block, http2::kDefaultMaxFrameSize, out)) std::abort();
    written_ += out.view();
  }

  int out_;
  std::string pending_, written_;
  bool preface_ = false, settings_ = false;
  http2::FrameParser parser_{http2::Direction::kRequests, this};
  std::unique_ptr<char, decltype(&std::free)> memory_{
      static_cast<char*>(std::aligned_alloc(64, 1 << 20)), &std::free};
  http2::HeaderDecoder decoder_{memory_.get(), 1 << 19};
  http2::BlockRewriter rewriter_{memory_.get() + (1 << 19), 1 << 19};
  uint32_t last_ = 0;
  std::optional<int> fault_;
  bool head_ = false, grpc_ = false;
};

// One direction, to its end, which it passes on.
template <typename Take>
void copy(int from, int to, Take take) {
  char buffer[65536];
  for (;;) {
    const ssize_t size = ::recv(from, buffer, sizeof buffer, 0);
    if (size > 0 && take(std::string_view(buffer, static_cast<size_t>(size)))) continue;
    if (size == 0) {
      ::shutdown(to, SHUT_WR);
    } else {
      // Leaves its connection with a reset, whoever else waits in it.
      const sockaddr nowhere{AF_UNSPEC, {}};
      ::connect(to, &nowhere, sizeof nowhere);
    }
    return;
  }
}

void serve(UniqueFd client, uint16_t server_port) {
  UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server_port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(server.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
  Requests requests(server.get());
  while (!requests.begun()) {
    char byte;  // no byte of what follows the first SETTINGS
    if (::recv(client.get(), &byte, 1, 0) != 1 || !requests.take({&byte, 1})) return;
  }
  Pair pair = tcp_pair();
  const timeval forever{0, 0};
  ::setsockopt(pair.one.get(), SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
  RelayState state;
  state.client_max_frame_size = requests.settings().max_frame_size;
  state.client_initial_window = requests.settings().initial_window_size;
  state.server_max_frame_size = http2::kDefaultMaxFrameSize;
  state.client_window = http2::kDefaultWindow;
  {
    HandOff head;
    head.kind = HandOffKind::kRelay;
    const std::lock_guard lock(agent_mutex);
    agent->hand_off(head, {pair.other.get(), server.get()},
                    std::string(reinterpret_cast<const char*>(&state), sizeof state));
  }
  server.reset();
  pair.other.reset();
  requests.redirect(pair.one.get());
  std::thread back([&] {
    copy(pair.one.get(), client.get(),
         [&](std::string_view b) { return send_all(client.get(), b); });
  });
  copy(client.get(), pair.one.get(), [&](std::string_view b) { return requests.take(b); });
  back.join();
}

int run(int argc, char** argv) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.hang_limit = milliseconds(std::atoi(argv[2]));
  auto started = AgentHub::start(options);
  if (!started) return 1;
  std::unique_ptr<AgentHub> hub = std::move(started).value();
  FakeAgent fake(hub->address(), "client");
  agent = &fake;
  std::vector<PlannedRpcFault> plan;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    PlannedRpcFault planned;
    planned.index = key(static_cast<uint64_t>(i) * 10);
    planned.fault = parse_fault(text.substr(0, text.find('/'))).value();
    if (text.find('/') != std::string::npos) {
      planned.fault.body.assign(static_cast<size_t>(std::stoi(text.substr(text.find('/') + 1))),
                                'b');
    }
    if (planned.fault.kind == FaultKind::kGrpc) planned.fault.message = "made here: " + text;
    plan.push_back(planned);
  }
  faults = plan.size();
  if (!hub->begin_execution(1, plan)) return 1;
  for (uint32_t n = 1; n <= faults; ++n) {
    const uint64_t rpc = fake.issue(1, n, "server", "/" + std::to_string(n - 1));
    fake.fire(1, rpc, n - 1, FaultHow::kInjected);
    fake.finish(1, rpc, true);
  }

  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), 64) != 0) return 1;
  ::getsockname(listener.get(), generic, &size);
  const auto port = static_cast<uint16_t>(std::atoi(argv[1]));
  std::cout << ntohs(address.sin_port) << std::endl;
  std::thread([&listener, port] {
    const int on = 1;
    for (;;) {
      UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      std::thread(serve, std::move(client), port).detach();
    }
  }).detach();
  for (std::string line; std::getline(std::cin, line);) {
  }
  const ExecutionRecord record = hub->end_execution();
  std::cout << "lost " << record.lost_events << std::endl;
  for (const std::string& note : record.notes) std::cout << note << std::endl;
  hub.reset();
  std::cout << "ended" << std::endl;
  std::filesystem::remove_all(scratch.path());
  std::_Exit(0);  // the threads of connections may be waiting still
}

}  // namespace
}  // namespace filibuster::test

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return filibuster::test::run(argc, argv);
}
