// The accounts keep balances: GET /balance/A answers it in decimal digits, PUT /balance/A replaces it (204), and POST /reset
// gives each account what it began with (204). They know nothing of transfers.
#include <map>
#include <mutex>

#include "serving.h"

int main(int argc, char** argv) {
  std::mutex lock;
  std::map<std::string, long> balances;
  const auto reset = [&] {
    const std::lock_guard hold(lock);
    for (const char* account : ledger::kAccounts) balances[account] = ledger::kBegin;
  };
  reset();

  httplib::Server server;
  server.Get(R"(/balance/(\w+))",
             [&](const httplib::Request& request, httplib::Response& response) {
               const std::lock_guard hold(lock);
               const auto found = balances.find(request.matches[1]);
               if (found == balances.end()) return ledger::answer(response, 404);
               ledger::answer(response, 200, std::to_string(found->second));
             });
  server.Put(R"(/balance/(\w+))",
             [&](const httplib::Request& request, httplib::Response& response) {
               const std::optional<long> balance = ledger::parse_balance(request.body);
               const std::lock_guard hold(lock);
               const auto found = balances.find(request.matches[1]);
               if (found == balances.end() || !balance)
                 return ledger::answer(response, found == balances.end() ? 404 : 400);
               found->second = *balance;
               ledger::answer(response, 204);
             });
  server.Post("/reset", [&](const httplib::Request&, httplib::Response& response) {
    reset();
    ledger::answer(response, 204);
  });
  return ledger::serve(argc, argv, server);
}
