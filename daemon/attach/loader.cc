#include "daemon/attach/loader.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string_view>

#include "bpf/loader/protocol.h"

extern char** environ;

namespace filibuster::attach {
namespace {

constexpr std::chrono::milliseconds kEndGrace{3000};
constexpr std::chrono::seconds kAnswerLimit{10};  // it may be placing probes in a large program
constexpr int kLoaderLogLines = 20;

bool send_with_descriptor(int to, const bpf::JoinRequest& request, int descriptor) {
  iovec part{const_cast<bpf::JoinRequest*>(&request), sizeof request};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(to, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof request);
}

}  // namespace

std::string program_beside(const std::string& library, const char* name) {
  // The library may be reached by a link (LibraryPath).
  std::error_code failed;
  std::filesystem::path file = std::filesystem::canonical(library, failed);
  if (failed) file = library;
  return (file.parent_path() / "filibuster" / name).string();
}

Loader::~Loader() {
  control_.reset();  // it ends by that
  if (process_ && !process_->wait(kEndGrace)) process_->stop(kEndGrace);
}

Result<void> Loader::start() {
  SpawnOptions spawn;
  const std::string program = program_beside(options_.library, "filibuster-bpf");
  if (access(program.c_str(), X_OK) != 0)
    return Error{program + " is not there; build or install it (it needs clang and libbpf)"};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("socketpair");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (!variable.starts_with("FILIBUSTER_") && !variable.starts_with("LD_PRELOAD="))
      spawn.environment.emplace_back(variable);
  }
  spawn.argv = {program, "serve", "--fd", "3"};
  if (options_.api_port != 0)
    spawn.argv.insert(spawn.argv.end(), {"--spare", std::to_string(options_.api_port)});
  spawn.log_path = options_.log_path;
  spawn.inherited = theirs.get();
  auto process = Process::spawn(spawn);
  if (!process) return process.error();
  process_.emplace(std::move(process).value());
  control_ = std::move(ours);
  return {};
}

std::string Loader::how_it_ended() {
  const auto status = process_->poll_exit();
  if (!status) return "";
  const std::string lines = last_lines(options_.log_path, kLoaderLogLines);
  return "the loader of eBPF programs has ended (" + to_text(*status) + ")" +
         (lines.empty() ? "" : ":\n" + lines);
}

std::string Loader::problem() {
  const std::lock_guard lock(mutex_);
  return process_ ? how_it_ended() : "";
}

Result<UniqueFd> Loader::connect() {
  const std::lock_guard lock(mutex_);
  if (!process_) {
    if (auto started = start(); !started) return started.error();
  }
  return join();
}

OldConnections Loader::old_connections() {
  const std::lock_guard lock(mutex_);
  OldConnections out;
  if (!process_) return out;
  if (!questions_.valid()) {
    auto joined = join();
    if (!joined) return out;
    questions_ = std::move(joined).value();
    const timeval limit{kAnswerLimit.count(), 0};
    setsockopt(questions_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  const bpf::OldRequest request;
  bpf::OldReply reply;
  // Who has ended closes the connection. Its end is reported by problem().
  if (::send(questions_.get(), &request, sizeof request, MSG_NOSIGNAL) != sizeof request ||
      ::recv(questions_.get(), &reply, sizeof reply, 0) != sizeof reply ||
      reply.magic != bpf::kOldReplyMagic) {
    questions_.reset();  // so that no late answer is taken for that of another question
    return out;
  }
  for (uint32_t i = 0; i < reply.service_count && i < std::size(reply.services); ++i)
    out.writes[reply.services[i].service] += reply.services[i].writes;
  for (uint32_t i = 0; i < reply.staying_count && i < std::size(reply.staying); ++i) {
    const bpf::OldReply::Staying& row = reply.staying[i];
    out.staying.push_back({row.service, row.address, row.outgoing != 0, row.count});
  }
  return out;
}

Result<UniqueFd> Loader::join() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("socketpair");
  UniqueFd proxy(ends[0]), loader(ends[1]);
  if (send_with_descriptor(control_.get(), bpf::JoinRequest(), loader.get())) return proxy;
  const Error failed = system_error("the loader of eBPF programs");
  const std::string how = process_->wait(kEndGrace) ? how_it_ended() : "";
  return how.empty() ? failed : Error{how};
}

}  // namespace filibuster::attach
