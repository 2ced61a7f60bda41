// Connections that requests share: each is lent to one request at a time, and the one that came back last is lent first.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace tickets {

template <typename Connection>
class Pool {
 public:
  // At most `size` of them, each made when none is idle.
  Pool(std::size_t size, std::function<Connection()> make) : left_(size), make_(std::move(make)) {}

  class Lent {
   public:
    Lent(Pool& pool, Connection connection) : pool_(pool), connection_(std::move(connection)) {}
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() { pool_.give_back(std::move(connection_)); }
    Connection& operator*() { return connection_; }
    const Connection& operator*() const { return connection_; }
    const Connection* operator->() const { return &connection_; }

   private:
    Pool& pool_;
    Connection connection_;
  };

  Lent take() {
    std::unique_lock hold(lock_);
    came_back_.wait(hold, [this] { return !idle_.empty() || left_ > 0; });
    if (!idle_.empty()) {
      Connection last = std::move(idle_.back());
      idle_.pop_back();
      return Lent(*this, std::move(last));
    }
    --left_;
    hold.unlock();
    return Lent(*this, make_());
  }

 private:
  void give_back(Connection connection) {
    const std::lock_guard hold(lock_);
    idle_.push_back(std::move(connection));
    came_back_.notify_one();
  }

  std::size_t left_;
  std::function<Connection()> make_;
  std::vector<Connection> idle_;
  std::mutex lock_;
  std::condition_variable came_back_;
};

}  // namespace tickets
