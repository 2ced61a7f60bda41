// The teller: POST /transfer with {"from": "A", "to": "B", "amount": 10} moves money (200, or 409 if there is too little),
// GET /balance/A answers a balance, POST /reset begins anew (204). A transfer reads two balances and writes them, each by a
// request to the accounts.
//
// BUG=no-lock: two transfers that meet at an account may both read it before either writes it, and one of them is lost.
// BUG=early-unlock: the same, but only at the account that the first one takes from, and only if its write is slow to leave.
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "serving.h"

namespace ledger {
namespace {

constexpr int kTries = 5;
constexpr int kTimeout = 5;  // seconds

const std::string bug = environment("BUG");
const bool locks = bug != "no-lock";

struct Account {
  std::mutex busy;  // held from the first read of a transfer until its last write
  // What must be written before anything else: a write that was not answered may have been done or not, and half of a transfer
  // must not stay.
  std::optional<long> unfinished;
};

class Teller {
 public:
  explicit Teller(std::string accounts_url) : url_(std::move(accounts_url)) {
    for (const char* name : kAccounts) accounts_[name];
  }

  bool has(const std::string& name) const { return accounts_.count(name) == 1; }

  std::pair<int, std::string> transfer(const std::string& from, const std::string& to,
                                       long amount) {
    std::unique_lock first(accounts_.at(from).busy, std::defer_lock);
    std::unique_lock second(accounts_.at(to).busy, std::defer_lock);
    if (locks) std::lock(first, second);
    const std::optional<long> gets = read(to);
    const std::optional<long> has = gets ? read(from) : std::nullopt;
    if (!has) return {503, "a balance could not be read, and nothing was written"};
    if (*has < amount) return {409, "there is too little"};
    if (bug == "early-unlock") first.unlock();
    const bool taken = write(from, *has - amount);
    const bool given = write(to, *gets + amount);
    if (!taken || !given) return {500, "a balance was not written yet"};
    return {200, ""};
  }

  std::optional<long> balance(const std::string& name) {
    std::unique_lock hold(accounts_.at(name).busy, std::defer_lock);
    if (locks) hold.lock();
    return read(name);
  }

  bool reset() {
    std::unique_lock a(accounts_.at("A").busy, std::defer_lock);
    std::unique_lock b(accounts_.at("B").busy, std::defer_lock);
    std::unique_lock c(accounts_.at("C").busy, std::defer_lock);
    if (locks) std::lock(a, b, c);
    const bool done =
        ask([](httplib::Client& client) { return client.Post("/reset"); }).has_value();
    if (done)
      for (const char* name : kAccounts) set_unfinished(name, std::nullopt);
    return done;
  }

 private:
  std::optional<long> read(const std::string& name) {
    const std::optional<long> before = unfinished(name);
    if (before && !write(name, *before)) return std::nullopt;
    const std::optional<std::string> text =
        ask([&](httplib::Client& client) { return client.Get("/balance/" + name); });
    return text ? parse_balance(*text) : std::nullopt;
  }

  // A balance is replaced, so a write whose answer was lost may be done again.
  bool write(const std::string& name, long balance) {
    const bool done =
        ask([&](httplib::Client& client) {
          return client.Put("/balance/" + name, std::to_string(balance), "text/plain");
        }).has_value();
    set_unfinished(name, done ? std::nullopt : std::optional(balance));
    return done;
  }

  std::optional<long> unfinished(const std::string& name) {
    const std::lock_guard hold(lock_);
    return accounts_.at(name).unfinished;
  }

  void set_unfinished(const std::string& name, std::optional<long> balance) {
    const std::lock_guard hold(lock_);
    accounts_.at(name).unfinished = balance;
  }

  // The body of the first answer that is a success.
  template <typename Request>
  std::optional<std::string> ask(Request request) {
    std::unique_ptr<httplib::Client> client = idle_client();
    std::optional<std::string> body;
    for (int tried = 0; tried < kTries && !body; ++tried) {
      const httplib::Result result = request(*client);
      if (result && (result->status == 200 || result->status == 204)) body = result->body;
    }
    const std::lock_guard hold(lock_);
    idle_.push_back(std::move(client));
    return body;
  }

  // A kept connection that no other request uses meanwhile. The last one that was used comes first, so that there are no more of
  // them than requests at the same time: each keeps a thread of the accounts.
  std::unique_ptr<httplib::Client> idle_client() {
    const std::lock_guard hold(lock_);
    if (!idle_.empty()) {
      std::unique_ptr<httplib::Client> last = std::move(idle_.back());
      idle_.pop_back();
      return last;
    }
    auto client = std::make_unique<httplib::Client>(url_);
    client->set_keep_alive(true);
    client->set_tcp_nodelay(true);
    client->set_connection_timeout(kTimeout);
    client->set_read_timeout(kTimeout);
    return client;
  }

  std::string url_;
  std::mutex lock_;  // of what is unfinished, and of what is idle
  std::vector<std::unique_ptr<httplib::Client>> idle_;
  std::map<std::string, Account> accounts_;
};

struct Transfer {
  std::string from, to;
  long amount = 0;
};

std::optional<Transfer> parse_transfer(const std::string& body, const Teller& teller) {
  try {
    const nlohmann::json value = nlohmann::json::parse(body);
    Transfer transfer{value.at("from"), value.at("to"), value.at("amount")};
    const bool known = teller.has(transfer.from) && teller.has(transfer.to);
    if (known && transfer.from != transfer.to && transfer.amount > 0) return transfer;
  } catch (const nlohmann::json::exception&) {  // no transfer
  }
  return std::nullopt;
}

}  // namespace
}  // namespace ledger

int main(int argc, char** argv) {
  ledger::Teller teller(ledger::environment("ACCOUNTS_URL"));
  httplib::Server server;
  server.Post("/transfer", [&](const httplib::Request& request, httplib::Response& response) {
    const std::optional<ledger::Transfer> wanted = ledger::parse_transfer(request.body, teller);
    if (!wanted) return ledger::answer(response, 400);
    const auto [status, text] = teller.transfer(wanted->from, wanted->to, wanted->amount);
    ledger::answer(response, status, text);
  });
  server.Get(R"(/balance/(\w+))",
             [&](const httplib::Request& request, httplib::Response& response) {
               if (!teller.has(request.matches[1])) return ledger::answer(response, 404);
               const std::optional<long> balance = teller.balance(request.matches[1]);
               balance ? ledger::answer(response, 200, std::to_string(*balance))
                       : ledger::answer(response, 503);
             });
  server.Post("/reset", [&](const httplib::Request&, httplib::Response& response) {
    ledger::answer(response, teller.reset() ? 204 : 500);
  });
  return ledger::serve(argc, argv, server);
}
