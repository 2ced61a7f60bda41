// filibuster-proxy: forwards the connections of one attached service. The daemon starts it, preloads the agent
// into it, and gives it a connection to the loader of the eBPF programs. It prints a line that begins with
// "attached" when it is, or ends with exit code 3 and the loader's text. After SIGUSR1 it prints the line "looked" as soon as all that
// the kernel told before the signal has been told to the agent.
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "daemon/process/pidfd.h"
#include "daemon/proxy/loader.h"
#include "daemon/proxy/maps.h"
#include "daemon/proxy/options.h"
#include "daemon/proxy/proxy.h"

namespace filibuster::proxy {
namespace {

constexpr int kUsage = 2;
constexpr int kNotAttached = 3;

int fail(const std::string& message, int code) {
  std::fprintf(stderr, "filibuster-proxy: %s\n", message.c_str());
  return code;
}

// As many descriptors as are allowed: each connection takes two.
void raise_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<UniqueFd> listener(const Address& where) {
  sockaddr_storage address{};
  const socklen_t size = to_socket(where, &address);
  const int family = address.ss_family;
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return system_error("A listener cannot be made");
  const int on = 1;
  if (family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0)
    return system_error(where.text() + " cannot be listened on");
  return fd;
}

struct Listeners {
  std::vector<UniqueFd> outbound, inbound;
};

// On loopback, unless the options say where. Without IPv6 there is one listener of each kind.
Result<Listeners> make_listeners(const Options& options) {
  const Address v4 = *parse_address("127.0.0.1:0"), v6 = *parse_address("[::1]:0");
  Listeners out;
  for (const auto& [group, given] : {std::pair{&out.outbound, options.listen_outbound},
                                     std::pair{&out.inbound, options.listen_inbound}}) {
    auto first = listener(given.value_or(v4));
    if (!first) return first.error();
    group->push_back(std::move(first).value());
    if (given) continue;
    if (auto second = listener(v6)) group->push_back(std::move(second).value());
  }
  return out;
}

// What is watched besides connections: the signals to look and to leave, the daemon, the loader.
struct Watched {
  UniqueFd signals, parent;
};

bool has_ended(int process) {
  pollfd ask{process, POLLIN, 0};
  return ::poll(&ask, 1, 0) == 1;
}

Watched watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  // Ctrl-C reaches the whole group. What that means, the daemon decides.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  return {UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)),
          UniqueFd(::pidfd_open(::getppid(), 0))};
}

bpf::AttachRequest request_of(const Options& options, size_t listeners) {
  bpf::AttachRequest request;
  options.service.copy(request.service, sizeof request.service - 1);
  request.lane = options.lane;
  request.flags = (options.go ? bpf::kAttachGo : 0) | (listeners == 2 ? bpf::kAttachNoIpv6 : 0) |
                  (options.watch ? bpf::kAttachWatch : 0);
  request.pid_count = static_cast<uint32_t>(options.pids.size());
  for (size_t i = 0; i < options.pids.size(); ++i) {
    request.pids[i] = options.pids[i];
    request.start_times[i] = start_time_of(options.pids[i]);
  }
  request.port_count = static_cast<uint32_t>(options.ports.size());
  std::copy(options.ports.begin(), options.ports.end(), request.ports);
  return request;
}

Routes routes_of(const Attached& attached) {
  const int originals = attached.originals.get(), bypass = attached.bypass.get();
  return {[originals](const Address& client) -> std::optional<Address> {
            const fb_address key = to_key(client);
            fb_address target{};
            if (!map_find(originals, &key, &target)) return std::nullopt;
            return from_event(target);
          },
          [](const Address& asked) { return std::optional<Address>(asked); },
          [bypass](uint16_t port) {
            const uint8_t one = 1;
            return map_put(bypass, &port, &one);
          },
          [bypass](uint16_t port) { map_remove(bypass, &port); }};
}

Routes fixed_routes(const Options& options) {
  return {[to = options.fixed](const Address&) { return to; },
          [to = options.inner](const Address&) { return to; },
          {},
          {}};
}

int run(Proxy* proxy, const Watched& events, Listeners listeners, Loader* loader) {
  const auto leave = [proxy, loader] {
    if (proxy->leaving()) return;
    proxy->leave();
    if (loader == nullptr || !loader->detach()) proxy->close_listeners();
  };
  Result<void> good;
  const auto add = [&good](Result<void> added) {
    if (good) good = std::move(added);
  };
  for (auto& fd : listeners.outbound) add(proxy->listen(std::move(fd), PairKind::kOutbound));
  for (auto& fd : listeners.inbound) add(proxy->listen(std::move(fd), PairKind::kInbound));
  add(proxy->watch(events.signals.get(), [&events, leave] {
    signalfd_siginfo info;
    while (::read(events.signals.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGTERM) {
        leave();
      } else {
        // The ring is read before any signal is handled (Proxy::run).
        std::puts("looked");
        std::fflush(stdout);
      }
    }
  }));
  if (events.parent.valid()) add(proxy->watch_once(events.parent.get(), leave));
  if (loader != nullptr) {
    add(proxy->watch(loader->descriptor(), [proxy, loader, &events, leave] {
      switch (loader->hear()) {
        case Loader::Heard::kNothing:
          return;
        case Loader::Heard::kDetached:
          return proxy->close_listeners();
        case Loader::Heard::kGone:
          // New connections go direct by themselves. Where the loader has ended with the daemon, as it should,
          // what is open here goes on to its end. A loader that was killed takes its connections with it.
          if (!proxy->leaving() && !has_ended(events.parent.get())) return proxy->reset_all();
          proxy->unwatch(loader->descriptor());
          leave();
          return proxy->close_listeners();
      }
    }));
  }
  if (!good) return fail(good.error().message, kNotAttached);
  proxy->run();
  return 0;
}

int main_without_loader(const Options& options, const Watched& events) {
  auto listeners = make_listeners(options);
  if (!listeners) return fail(listeners.error().message, kNotAttached);
  Proxy proxy(Door::find(),
              options.events_fd >= 0 ? socket_source(UniqueFd(options.events_fd)) : nullptr,
              fixed_routes(options));
  std::printf("listening outbound=%s inbound=%s\n",
              local_address(listeners->outbound[0].get())->text().c_str(),
              local_address(listeners->inbound[0].get())->text().c_str());
  std::fflush(stdout);
  return run(&proxy, events, std::move(listeners).value(), nullptr);
}

int main_with_loader(const Options& options, const Watched& events) {
  auto listeners = make_listeners(options);
  if (!listeners) return fail(listeners.error().message, kNotAttached);
  std::vector<int> numbers;
  for (const auto& fd : listeners->outbound) numbers.push_back(fd.get());
  for (const auto& fd : listeners->inbound) numbers.push_back(fd.get());
  Loader loader{UniqueFd(options.loader_fd)};
  auto attached = loader.attach(request_of(options, numbers.size()), numbers);
  if (!attached) return fail(attached.error().message, kNotAttached);
  auto ring = ring_source(std::move(attached->ring));
  if (!ring) return fail(ring.error().message, kNotAttached);
  const auto retired = loader.retire();
  if (!retired) return fail(retired.error().message, kNotAttached);
  Proxy proxy(Door::find(), std::move(ring).value(), routes_of(attached.value()));
  options.watch ? proxy.watch_only() : proxy.keep_no_connections();
  std::printf("attached slot=%u found=%u open=%u staying=%u %s%s%.*s\n", attached->slot,
              retired->found, retired->open, retired->staying, attached->note.c_str(),
              attached->note.empty() ? "" : " ",
              static_cast<int>(strnlen(retired->text, sizeof retired->text)), retired->text);
  std::fflush(stdout);
  return run(&proxy, events, std::move(listeners).value(), &loader);
}

}  // namespace
}  // namespace filibuster::proxy

int main(int count, char** arguments) {
  using namespace filibuster::proxy;
  const auto options = parse_options(count, arguments);
  if (!options) return fail(options.error().message, kUsage);
  raise_limit();
  const Watched events = watched();  // before "attached" is said
  return options->loader_fd >= 0 ? main_with_loader(options.value(), events)
                                 : main_without_loader(options.value(), events);
}
