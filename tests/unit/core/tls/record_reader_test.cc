#include "core/tls/record_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace filibuster::tls {
namespace {

std::string record(ContentType type, size_t length, char fill = '\x5a') {
  std::string out{static_cast<char>(type), 3, 3, static_cast<char>(length >> 8),
                  static_cast<char>(length)};
  return out + std::string(length, fill);
}

// The body of a record with a ServerHello; `supported`: with the extension that chooses TLS 1.3.
std::string server_hello(uint16_t suite, bool supported) {
  std::string hello = "\x03\x03" + std::string(32, 'r') + std::string(1, '\0');
  hello += {static_cast<char>(suite >> 8), static_cast<char>(suite), 0};
  const std::string extension = supported ? std::string("\0\x2b\0\x02\x03\x04", 6) : "";
  hello += {0, static_cast<char>(extension.size())};
  hello += extension;
  return std::string{2, 0, 0, static_cast<char>(hello.size())} + hello;
}

std::vector<Record> records_of(std::string_view bytes, size_t piece, bool* garbled = nullptr) {
  std::vector<Record> out;
  RecordReader reader;
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    for (;;) {
      const auto stop = reader.feed(&part);
      if (stop == RecordReader::Stop::kRecord) out.push_back(reader.record());
      if (garbled != nullptr && stop == RecordReader::Stop::kGarbled) *garbled = true;
      if (stop == RecordReader::Stop::kEnd || stop == RecordReader::Stop::kGarbled) break;
    }
  }
  return out;
}

TEST(RecordReader, AreFoundInAnyPieces) {
  const std::string bytes =
      record(ContentType::kHandshake, 700) + record(ContentType::kChangeCipherSpec, 1) +
      record(ContentType::kApplicationData, 0) + record(ContentType::kApplicationData, 53);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    const auto found = records_of(bytes, piece);
    ASSERT_EQ(found.size(), 4u) << piece;
    EXPECT_EQ(found[0].length, 700);
    EXPECT_EQ(found[1].type, ContentType::kChangeCipherSpec);
    EXPECT_EQ(found[3].type, ContentType::kApplicationData);
    EXPECT_EQ(found[3].length, 53);
  }
}

TEST(RecordReader, WhatIsNoTlsIsGarbled) {
  bool garbled = false;
  EXPECT_TRUE(records_of("GET / HTTP/1.1\r\n", 16, &garbled).empty());
  EXPECT_TRUE(garbled);
  garbled = false;
  records_of(record(ContentType::kApplicationData, 20000), 50, &garbled);  // longer than any record
  EXPECT_TRUE(garbled);
}

TEST(ServerHello, TellsTheVersionAndTheCipherInAnyPart) {
  const std::string body = server_hello(0x1302, true);
  ServerChoice choice;
  ASSERT_TRUE(read_server_hello(body, &choice));
  EXPECT_TRUE(choice.is_tls13);
  EXPECT_EQ(choice.cipher_suite, 0x1302);
  for (size_t size = 0; size < body.size(); ++size)
    EXPECT_FALSE(read_server_hello(std::string_view(body).substr(0, size), &choice)) << size;
  ASSERT_TRUE(read_server_hello(server_hello(0xc02f, false), &choice));
  EXPECT_FALSE(choice.is_tls13);
  EXPECT_FALSE(read_server_hello("\x01\x00\x00\x00", &choice));
}

std::vector<bool> says(ClientTurns turns, const std::vector<Record>& records) {
  std::vector<bool> out;
  for (const Record& one : records) out.push_back(turns.says_something(one));
  return out;
}

constexpr Record data(uint16_t length) {
  return {ContentType::kApplicationData, length};
}

TEST(ClientTurns, OfTls13BeginBehindFinished) {
  ClientTurns turns;
  turns.choose({true, 0x1301});
  const Record spec{ContentType::kChangeCipherSpec, 1};
  EXPECT_EQ(says(turns, {spec, data(53), data(90)}), (std::vector{false, false, true}));
  // A certificate of the client comes before it.
  EXPECT_EQ(says(turns, {data(900), data(300), data(53), data(90)}),
            (std::vector{false, false, false, true}));
  ClientTurns longer;
  longer.choose({true, 0x1302});
  EXPECT_EQ(says(longer, {data(69), data(90)}), (std::vector{false, true}));
  // Where Finished shares its record with others, the handshake ends with as many records as it can have.
  EXPECT_EQ(says(turns, {data(1200), data(90), data(90), data(90), data(90)}),
            (std::vector{false, false, false, false, true}));
}

TEST(ClientTurns, OfTls12BeginWithTheFirstData) {
  ClientTurns turns;
  turns.choose({false, 0xc02f});
  const Record finished{ContentType::kHandshake, 40}, alert{ContentType::kAlert, 26};
  EXPECT_EQ(says(turns, {finished, data(90), alert}), (std::vector{false, true, false}));
}

TEST(ClientTurns, AnAlertOrAnAcknowledgementSaysNothing) {
  ClientTurns turns;
  turns.choose({true, 0x1301});
  // close_notify, KeyUpdate, SETTINGS with ACK, WINDOW_UPDATE
  EXPECT_EQ(says(turns, {data(53), data(19), data(22), data(26), data(30), data(31)}),
            (std::vector{false, false, false, false, false, true}));
}

}  // namespace
}  // namespace filibuster::tls
