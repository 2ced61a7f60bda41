#include "filibuster_principled.h"
#include "tests/programs/http_text.h"

struct Front : filibuster::PrincipledTest {
  std::string response;

  void stub_block() override { stub_for("stock", rpc("GET /"), answer().status(200).text("ten")); }
  void failure_block() override {
    if (getenv("STATED") == nullptr) return;
    assert_fault_throws(rpc("GET /").fault("503"), 503);
    assert_on_exception(503, [] {});
  }
  void execute_block() override {
    const std::string url = getenv("FRONT");
    const int fd = connect_to(std::stoi(url.substr(url.rfind(':') + 1)));
    std::string rest;
    send_all(fd, "GET / HTTP/1.1\r\nHost: front\r\n\r\n");
    receive_answer(fd, &rest, &response);
    close(fd);
  }
  void assert_test_block() override { EXPECT_EQ(response.substr(9, 3), "200"); }
  void assert_stub_block() override { verify_that("GET /", 1); }
};

FILIBUSTER_PRINCIPLED(Front)
