// The web service in C++: the same as web.py, on cpp-httplib and SQLite, with the same bugs. An exception that nobody catches in
// the worker's thread ends the process here.
#include <httplib.h>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tickets.h"

namespace job_queue {
namespace {

constexpr int kQueueTimeout = 5;  // seconds
constexpr int kEnqueueTries = 5;
constexpr int kServingThreads = 64;  // a request that waits for the worker keeps one

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

const std::string bug = environment("BUG", "");
const std::chrono::duration<double> poll{std::stod(environment("POLL_MS", "2")) / 1000};
const std::chrono::duration<double> worker_timeout{
    std::stod(environment("WORKER_TIMEOUT", bug == "impatient" ? "0.1" : "30"))};

// The queue gave no answer, or one that says nothing of what it did.
struct QueueFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Answer {
  int status = 200;
  std::string text;
};

std::string to_hex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    int byte = 0;
    const char* end = hex.data() + std::min(at + 2, hex.size());
    if (std::from_chars(hex.data() + at, end, byte, 16).ptr != end ||
        end - hex.data() != std::ptrdiff_t(at) + 2)
      throw QueueFailed("what came from the queue is not hexadecimal");
    out += static_cast<char>(byte);
  }
  return out;
}

// A kept connection to the queue. cpp-httplib makes another one when it has ended.
class QueueClient {
 public:
  explicit QueueClient(const std::string& url) : client_(url) {
    client_.set_keep_alive(true);
    client_.set_tcp_nodelay(true);
    client_.set_connection_timeout(kQueueTimeout);
    client_.set_read_timeout(kQueueTimeout);
  }

  Answer post(const std::string& path, const nlohmann::json& value) {
    const httplib::Result result = client_.Post(path, value.dump(), "application/json");
    if (!result) throw QueueFailed(path + ": " + httplib::to_string(result.error()));
    return {result->status, result->body};
  }

 private:
  httplib::Client client_;
};

class Service {
 public:
  explicit Service(std::string queue_url) : queue_url_(std::move(queue_url)) {}

  Answer write(const std::string& work) {
    const std::shared_ptr<Ticket> ticket = tickets_.take(work);
    // A ticket that is cancelled will not be served, so 503 says for certain that nothing was stored.
    if (!enqueue(*ticket) && tickets_.cancel(*ticket)) return {503, "the queue takes no tickets"};
    if (!tickets_.wait(*ticket, worker_timeout)) return {500, "the worker did not answer in time"};
    if (!ticket->index) return {503, "everything was reset"};
    return {200, std::to_string(*ticket->index)};
  }

  std::optional<std::string> read(std::int64_t index) { return tickets_.read(index); }

  Answer reset() {
    tickets_.reset();
    for (int tried = 0; tried < kEnqueueTries; ++tried) {
      if (status_of("/reset", nlohmann::json::object()) == 204) return {204, ""};
      std::this_thread::sleep_for(poll);
    }
    return {500, "the queue was not reset"};
  }

  // The worker. Until it says that it has received an item, the queue hands it out again, so whatever fails is only tried again.
  void work_off() {
    QueueClient client(queue_url_);
    std::int64_t received = 0;
    while (true) {
      if (bug == "dead-worker" ? serve_next(client, received)
                               : serve_next_if_possible(client, received))
        continue;
      std::this_thread::sleep_for(poll);
    }
  }

 private:
  // Whether there was an item, whose number becomes `received`.
  bool serve_next(QueueClient& client, std::int64_t& received) {
    const Answer answer = client.post("/dequeue", {{"received", received}});
    if (answer.status == 204) return false;
    if (answer.status != 200) throw QueueFailed("/dequeue: " + std::to_string(answer.status));
    const nlohmann::json handed = nlohmann::json::parse(answer.text);
    const nlohmann::json& item = handed.at("item");
    const std::string work = from_hex(item.at("work").get<std::string>());
    const std::int64_t number = handed.at("number");
    tickets_.serve(item.at("ticket"), work);
    received = number;
    return true;
  }

  bool serve_next_if_possible(QueueClient& client, std::int64_t& received) {
    try {
      return serve_next(client, received);
    } catch (const QueueFailed&) {
    } catch (const nlohmann::json::exception&) {  // what came is not the queue's answer
    }
    return false;
  }

  // Whether the queue has the ticket. If no answer says so, the ticket is put in again: the worker passes over a ticket that
  // it has served.
  bool enqueue(const Ticket& ticket) {
    for (int tried = 0; tried < kEnqueueTries; ++tried) {
      const std::optional<int> status =
          status_of("/enqueue", {{"ticket", ticket.number}, {"work", to_hex(ticket.work)}});
      if (status == 201 || tickets_.wait(ticket, std::chrono::seconds(0)) ||
          (bug == "full" && status))
        return true;
      if (status == 507) return false;
      std::this_thread::sleep_for(poll);
    }
    return false;
  }

  // The status of a request on a connection that no other request uses meanwhile; nothing if there was no answer.
  std::optional<int> status_of(const std::string& path, const nlohmann::json& value) {
    std::unique_ptr<QueueClient> client = idle_client();
    std::optional<int> status;
    try {
      status = client->post(path, value).status;
    } catch (const QueueFailed&) {  // nobody knows what it did
    }
    const std::lock_guard hold(lock_);
    idle_.push_back(std::move(client));
    return status;
  }

  std::unique_ptr<QueueClient> idle_client() {
    const std::lock_guard hold(lock_);
    if (idle_.empty()) return std::make_unique<QueueClient>(queue_url_);
    std::unique_ptr<QueueClient> last = std::move(idle_.back());
    idle_.pop_back();
    return last;
  }

  std::string queue_url_;
  Tickets tickets_;
  std::mutex lock_;
  std::vector<std::unique_ptr<QueueClient>> idle_;
};

void answer(httplib::Response& response, const Answer& with) {
  response.status = with.status;
  if (with.status != 204) response.set_content(with.text, "application/octet-stream");
}

int serve(int port, Service& service) {
  httplib::Server server;
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(1'000'000);
  server.new_task_queue = [] { return new httplib::ThreadPool(kServingThreads); };
  server.Get("/health",
             [](const httplib::Request&, httplib::Response& response) { response.status = 204; });
  // More digits are no index: the store does not have so many rows.
  server.Get(R"(/(\d{1,18}))", [&](const httplib::Request& request, httplib::Response& response) {
    const std::optional<std::string> found = service.read(std::stoll(request.matches[1]));
    answer(response, found ? Answer{200, *found} : Answer{404, ""});
  });
  server.Post("/", [&](const httplib::Request& request, httplib::Response& response) {
    answer(response, service.write(request.body));
  });
  server.Post("/reset", [&](const httplib::Request&, httplib::Response& response) {
    answer(response, service.reset());
  });
  return server.listen("127.0.0.1", port) ? 0 : 1;
}

}  // namespace
}  // namespace job_queue

int main(int argc, char** argv) {
  const std::string queue_url = job_queue::environment("QUEUE_URL", "");
  if (argc != 2 || queue_url.empty()) {
    std::cerr << "usage: " << argv[0] << " PORT   (QUEUE_URL in the environment)\n";
    return 2;
  }
  job_queue::Service service(queue_url);
  std::thread([&] { service.work_off(); }).detach();
  return job_queue::serve(std::atoi(argv[1]), service);
}
