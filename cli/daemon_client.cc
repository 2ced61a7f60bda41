#include "cli/daemon_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "core/http1/message_parser.h"
#include "daemon/base/descriptors.h"

namespace filibuster::cli {
namespace {

// No library: those that speak TLS as well, which the daemon does not, take longer to load than a request takes.

struct Authority {
  std::string host, port;  // without the brackets of an IPv6 address
  std::string text;        // as it stands in the URL
};

// Of "http://HOST:PORT", with or without a slash at its end.
Result<Authority> authority_of(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const Error wrong{"'" + url + "' is no address of a daemon (http://127.0.0.1:PORT)"};
  if (!url.starts_with(kScheme)) return wrong;
  Authority out;
  out.text = url.substr(kScheme.size(), url.find('/', kScheme.size()) - kScheme.size());
  const size_t bracket = out.text.find(']');
  const size_t colon = out.text.find(':', bracket == std::string::npos ? 0 : bracket);
  out.host = out.text.substr(0, colon);
  out.port = colon == std::string::npos ? "80" : out.text.substr(colon + 1);
  if (out.host.starts_with("[") && out.host.ends_with("]"))
    out.host = out.host.substr(1, out.host.size() - 2);
  if (out.host.empty() || out.port.empty()) return wrong;
  return out;
}

// Bytes that a request line must not have are escaped; what is escaped already stays.
std::string target_of(const std::string& path) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f)
      out += c;
    else
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

// After a signal a connection is made in the background.
bool connects(int fd, const addrinfo& address, int timeout) {
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINTR) return false;
  pollfd writable{fd, POLLOUT, 0};
  int ready;
  do {
    ready = poll(&writable, 1, 1000 * timeout);
  } while (ready < 0 && errno == EINTR);
  int error = ready > 0 ? 0 : ETIMEDOUT;
  socklen_t size = sizeof error;
  if (ready > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0;
}

Result<UniqueFd> connect_to(const Authority& authority, int timeout) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (const int error = getaddrinfo(authority.host.c_str(), authority.port.c_str(), &hints, &found);
      error != 0)
    return Error{gai_strerror(error)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    UniqueFd fd(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{timeout, 0};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
      setsockopt(fd.get(), SOL_SOCKET, option, &limit, sizeof limit);
    if (fd.valid() && connects(fd.get(), *at, timeout)) return fd;
    error = errno;
  }
  return Error{std::strerror(error == EINPROGRESS ? ETIMEDOUT : error)};
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

class AnswerReader final : public http1::Handler {
 public:
  // The answer to one request of this method.
  Result<Answer> read(int fd, std::string_view method) {
    http1::MessageParser parser(http1::Direction::kResponses, this);
    parser.expect_response_to(method);
    char bytes[16384];
    while (!complete_) {
      const ssize_t size = recv(fd, bytes, sizeof bytes, 0);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0)
        return Error{errno == EAGAIN ? "it did not answer in time" : std::strerror(errno)};
      const http1::ParseState state =
          size == 0 ? parser.finish() : parser.feed(bytes, static_cast<size_t>(size));
      if (state == http1::ParseState::kInvalid) return Error{"what answers there is not HTTP"};
      if (size == 0 && !complete_) return Error{"it closed the connection without an answer"};
    }
    return std::move(answer_);
  }

 private:
  void on_head(const http1::MessageHead& head, size_t) override { answer_.status = head.status; }
  void on_body(const char* data, size_t size) override {
    if (!complete_) answer_.body.append(data, size);
  }
  void on_complete(size_t, Hash128, uint64_t) override { complete_ = true; }

  Answer answer_;
  bool complete_ = false;
};

Result<Answer> exchange(const std::string& url, const std::string& method,
                        const std::string& fields_and_body, const std::string& path,
                        const std::string& token, int timeout) {
  const auto failed = [&](const std::string& why) {
    return Error{"no answer from " + url + " (" + why + ")"};
  };
  const auto authority = authority_of(url);
  if (!authority) return authority.error();
  const auto fd = connect_to(authority.value(), timeout);
  if (!fd) return failed(fd.error().message);
  const std::string request =
      method + " " + target_of(path) + " HTTP/1.1\r\nHost: " + authority->text +
      "\r\nAuthorization: Bearer " + token + "\r\nConnection: close\r\n" + fields_and_body;
  // A server that refuses a request may answer before it has read the whole of it.
  const bool sent = send_all(fd->get(), request);
  const int why_not = errno;
  auto answer = AnswerReader().read(fd->get(), method);
  if (answer) return answer;
  return failed(sent ? answer.error().message : std::strerror(why_not));
}

}  // namespace

Result<Answer> DaemonClient::get(const std::string& path, int timeout) const {
  return exchange(url_, "GET", "\r\n", path, token_, timeout);
}

Result<Answer> DaemonClient::post(const std::string& path, const std::string& json,
                                  int timeout) const {
  return exchange(url_, "POST",
                  "Content-Type: application/json\r\nContent-Length: " +
                      std::to_string(json.size()) + "\r\n\r\n" + json,
                  path, token_, timeout);
}

std::string query_argument(const char* name, const std::string& value) {
  if (value.empty()) return "";
  // Everything but RFC 3986's unreserved characters is escaped.
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = std::string("&") + name + "=";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    if (letter || (byte >= '0' && byte <= '9') || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

}  // namespace filibuster::cli
