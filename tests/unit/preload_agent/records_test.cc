#include "preload/inject/records.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "core/tls/records.h"
#include "preload/inject/aside.h"

namespace filibuster::preload {
namespace {

class ReadsRecords final : public Encryption {
 public:
  explicit ReadsRecords(std::string_view received = {}) : received_(received) {}
  bool has_unread() override { return false; }
  int plain_end(int) override { return -1; }
  bool begin_records(tls::RecordRest* rest) override {
    *rest = tls::rest_of_record(received_);
    return true;
  }

 private:
  std::string_view received_;
};

// A connection whose application finds `answer` in its place.
struct Replaced {
  int ends[2] = {-1, -1}, real = -1;
  Replaced(Encryption* encryption, std::string_view answer) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    EXPECT_STREQ(put_aside(ends[0], encryption, answer, &real), nullptr);
  }
  ~Replaced() {
    put_back(ends[0], real);
    close(ends[0]);
    close(ends[1]);
  }
  int fd() const { return ends[0]; }
};

std::string received(int fd, size_t room, int flags = 0) {
  std::string bytes(room, '?');
  // Two pieces, as for readv.
  const size_t first = room / 2;
  const iovec pieces[] = {{bytes.data(), first}, {bytes.data() + first, room - first}};
  const ssize_t size = receive_records(fd, {pieces, 2}, flags | MSG_DONTWAIT);
  return size < 0 ? "" : bytes.substr(0, static_cast<size_t>(size));
}

std::string all_received(int fd, size_t room) {
  std::string all;
  for (std::string more; !(more = received(fd, room)).empty();) all += more;
  EXPECT_EQ(errno, EAGAIN);
  return all;
}

// What is in the records; `*rest`: what is no whole one.
std::string unframed(std::string_view bytes, std::string_view* rest) {
  std::string all;
  while (bytes.size() >= tls::kRecordHeader && bytes.substr(0, 3) == "\x17\x03\x03") {
    const size_t size =
        static_cast<size_t>(static_cast<uint8_t>(bytes[3])) << 8 | static_cast<uint8_t>(bytes[4]);
    if (bytes.size() < tls::kRecordHeader + size) break;
    EXPECT_TRUE(size > 0 && size <= tls::kMostInRecord);
    all += bytes.substr(tls::kRecordHeader, size);
    bytes.remove_prefix(tls::kRecordHeader + size);
  }
  *rest = bytes;
  return all;
}

std::string text(size_t size) {
  std::string made(size, '\0');
  for (size_t i = 0; i < size; ++i) made[i] = static_cast<char>('a' + i % 23);
  return made;
}

TEST(Records, WholeRecordsComeWhateverRoomThereIs) {
  for (const size_t size : {size_t{1}, size_t{300}, size_t{16'384}}) {
    for (const size_t room : {1, 2, 4, 5, 6, 7, 11, 64, 305, 16'389, 40'000}) {
      ReadsRecords reader;
      const Replaced connection(&reader, text(size));
      ASSERT_TRUE(gives_records(connection.fd()));
      const std::string all = all_received(connection.fd(), room);
      std::string_view rest;
      EXPECT_EQ(unframed(all, &rest), text(size)) << size << " in pieces of " << room;
      EXPECT_EQ(rest, "");
    }
  }
}

TEST(Records, ARecordIsWholeInTheReadThatBeginsIt) {
  ReadsRecords reader;
  const Replaced connection(&reader, text(100));
  std::string_view rest;
  EXPECT_EQ(unframed(received(connection.fd(), 50), &rest), text(100).substr(0, 45));
  EXPECT_EQ(rest, "");
}

TEST(Records, WhatIsLookedAtComesAgain) {
  ReadsRecords reader;
  const Replaced connection(&reader, text(20));
  const std::string seen = received(connection.fd(), 64, MSG_PEEK);
  EXPECT_EQ(seen.size(), 25u);
  EXPECT_EQ(received(connection.fd(), 64), seen);
}

TEST(Records, ARecordThatCameInPartIsCompletedFirst) {
  const std::string whole = std::string("\x17\x03\x03\x00\x08", 5) + "ticketed";
  for (size_t part = 1; part < whole.size(); ++part) {
    const std::string before = whole + whole.substr(0, part);
    ReadsRecords reader(before);
    const Replaced connection(&reader, "answer");
    const std::string all = before + all_received(connection.fd(), 7);
    // The first one, the one that was completed, and the answer.
    std::string_view rest;
    const std::string bytes = unframed(all, &rest);
    EXPECT_EQ(rest, "") << part;
    EXPECT_EQ(bytes.substr(0, 8), "ticketed");
    EXPECT_EQ(bytes.substr(bytes.size() - 6), "answer") << part;
  }
}

TEST(Records, TheSessionHasTakenAllWhenItHasTakenWhatWasRead) {
  ReadsRecords reader;
  const Replaced connection(&reader, "answer");
  EXPECT_TRUE(all_records_are_taken(connection.fd()));
  const size_t size = all_received(connection.fd(), 64).size();
  EXPECT_FALSE(all_records_are_taken(connection.fd()));
  take_records(connection.fd(), size);
  EXPECT_TRUE(all_records_are_taken(connection.fd()));
}

TEST(Records, OthersReadTheBytesAsTheyAre) {
  const Replaced connection(nullptr, "answer");
  EXPECT_FALSE(gives_records(connection.fd()));
}

class UnderWay final : public Encryption {
 public:
  bool has_unread() override { return false; }
  int plain_end(int) override { return -1; }
  bool has_under_way() override { return true; }
};

TEST(Records, NoAnswerStandsBetweenBytesOfTheServerThatAreOnTheirWay) {
  UnderWay reader;
  int ends[2], real = -1;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_STREQ(put_aside(ends[0], &reader, "answer", &real),
               "bytes of an earlier answer are unread");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace filibuster::preload
