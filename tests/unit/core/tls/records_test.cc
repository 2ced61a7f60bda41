#include "core/tls/records.h"

#include <gtest/gtest.h>

#include <string>

namespace filibuster::tls {
namespace {

using namespace std::string_literals;

const std::string kRecord = "\x17\x03\x03\x00\x02"s + "ab";

std::string completed(std::string bytes) {
  const RecordRest rest = rest_of_record(bytes);
  bytes.append(rest.header + kRecordHeader - rest.header_left, rest.header_left);
  return bytes + std::string(rest.zeros, '\0');
}

TEST(RestOfRecord, IsEmptyBehindWholeRecords) {
  EXPECT_EQ(completed(""), "");
  EXPECT_EQ(completed(kRecord), kRecord);
  EXPECT_EQ(completed(kRecord + kRecord), kRecord + kRecord);
}

TEST(RestOfRecord, FillsTheBodyWithZeros) {
  EXPECT_EQ(completed(kRecord + kRecord.substr(0, 6)), kRecord + kRecord.substr(0, 6) + "\0"s);
  EXPECT_EQ(completed(kRecord.substr(0, 5)), kRecord.substr(0, 5) + "\0\0"s);
}

TEST(RestOfRecord, CompletesAHeaderSoThatTheRecordHasBytes) {
  EXPECT_EQ(completed("\x17"), "\x17\x03\x03\x00\x01\x00"s);
  EXPECT_EQ(completed("\x15\x03\x03\x00"s), "\x15\x03\x03\x00\x01\x00"s);
  // The high byte of the size was there already.
  EXPECT_EQ(completed("\x17\x03\x03\x01"s), "\x17\x03\x03\x01\x01"s + std::string(257, '\0'));
}

TEST(RecordHeader, HasTheSizeInTwoBytes) {
  char header[kRecordHeader];
  write_record_header(kMostInRecord, header);
  EXPECT_EQ(std::string(header, sizeof header), "\x17\x03\x03\x40\x00"s);
}

}  // namespace
}  // namespace filibuster::tls
