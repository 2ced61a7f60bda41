#include "core/tls/client_hello.h"

#include <gtest/gtest.h>

#include <string>

namespace filibuster::tls {
namespace {

// The record, the message, the version and the random of a ClientHello as OpenSSL 3 sends it.
std::string hello() {
  std::string out("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (char i = 0; i < 32; ++i) out += static_cast<char>('a' + i);
  return out;
}

TEST(ClientHello, TheRandomIsRead) {
  ClientRandom random{};
  ASSERT_EQ(sniff_client_hello(hello() + "more", &random), Hello::kYes);
  EXPECT_EQ(random[0], 'a');
  EXPECT_EQ(random[31], 'a' + 31);
  EXPECT_EQ(sniff_client_hello(hello(), nullptr), Hello::kYes);
}

TEST(ClientHello, AnyBeginningNeedsMore) {
  const std::string whole = hello();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(sniff_client_hello(std::string_view(whole).substr(0, size), nullptr),
              Hello::kNeedMore)
        << size;
}

TEST(ClientHello, OtherBytesAreNone) {
  for (const auto& [at, byte] :
       {std::pair<size_t, char>{0, 'G'}, {1, 2}, {2, 5}, {5, 2}, {6, 1}, {9, 2}, {10, 9}}) {
    std::string changed = hello();
    changed[at] = byte;
    EXPECT_EQ(sniff_client_hello(changed, nullptr), Hello::kNo) << at;
    EXPECT_EQ(sniff_client_hello(std::string_view(changed).substr(0, at + 1), nullptr), Hello::kNo)
        << at;
  }
}

TEST(ClientHello, AServerBeginsWithItsHandshakeOrAnAlert) {
  EXPECT_EQ(sniff_server(std::string_view("\x16\x03\x03", 3)), Hello::kYes);
  EXPECT_EQ(sniff_server(std::string_view("\x15\x03\x01\x00", 4)), Hello::kYes);
  EXPECT_EQ(sniff_server("\x15\x03"), Hello::kNeedMore);
  EXPECT_EQ(sniff_server(""), Hello::kNeedMore);
  for (const char* other : {"HTTP", "\x15\x02", "\x15\x03\x05", "\x17\x03\x03"})
    EXPECT_EQ(sniff_server(other), Hello::kNo);
}

TEST(ClientHello, ARecordIsToldByItsType) {
  EXPECT_TRUE(begins_record("\x17\x03\x03", ContentType::kApplicationData));
  EXPECT_TRUE(begins_record("\x14\x03\x03", ContentType::kChangeCipherSpec));
  EXPECT_FALSE(begins_record("\x16\x03\x03", ContentType::kApplicationData));
  EXPECT_FALSE(begins_record("\x17\x03", ContentType::kApplicationData));
  EXPECT_FALSE(begins_record("\x17\x02\x03", ContentType::kApplicationData));
}

// A ClientHello with these extensions.
std::string with_extensions(const std::string& extensions) {
  const auto counted = [](const std::string& text, int bytes) {
    std::string out;
    for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(text.size() >> (8 * i));
    return out + text;
  };
  std::string body = hello().substr(9);
  body += counted(std::string(32, 's'), 1) + counted("\x13\x01", 2) +
          counted(std::string(1, '\0'), 1) + counted(extensions, 2);
  return std::string("\x16\x03\x01", 3) + counted("\x01" + counted(body, 3), 2);
}

TEST(ClientHello, TheNameOfTheServer) {
  const std::string other("\x00\x17\x00\x00", 4);
  const std::string name("\x00\x00\x00\x11\x00\x0f\x00\x00\x0cshop.example", 21);
  EXPECT_EQ(server_name(with_extensions(other + name)), "shop.example");
  EXPECT_EQ(server_name(with_extensions(other)), "");
  EXPECT_EQ(server_name(hello()), "");
  std::string odd = name;
  odd[12] = '\n';
  EXPECT_EQ(server_name(with_extensions(odd)), "");
  const std::string whole = with_extensions(other + name);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(server_name(std::string_view(whole).substr(0, size)), "") << size;
}

}  // namespace
}  // namespace filibuster::tls
