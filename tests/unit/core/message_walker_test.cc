#include "core/index/message_walker.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace filibuster {
namespace {

using std::string;

string varint(uint64_t value) {
  string out;
  for (; value > 0x7f; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
string number(uint32_t field, uint64_t value) {
  return varint(field << 3) + varint(value);
}
string bytes(uint32_t field, const string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
string framed(const string& message, bool compressed = false) {
  char prefix[grpc::kPrefixSize];
  grpc::write_prefix(compressed, static_cast<uint32_t>(message.size()), prefix);
  return string(prefix, sizeof prefix) + message;
}

struct Walked final : LeafSink {
  void leaf(std::string_view path, uint64_t value) override {
    paths.emplace_back(path);
    values[string(path)].push_back(value);
  }
  std::vector<string> paths;
  std::map<string, std::vector<uint64_t>> values;
  BodyWalker::Outcome outcome;
};

RequestMasks masks_of(std::initializer_list<std::vector<const char*>> fields,
                      MaskPlace place = MaskPlace::kMessage) {
  RequestMasks masks;
  for (const auto& names : fields) {
    MaskField& field = masks.fields[masks.count++];
    field = {};
    field.place = place;
    field.depth = static_cast<uint8_t>(names.size());
    for (size_t i = 0; i < names.size(); ++i) field.names[i] = name_hash(names[i]);
  }
  return masks;
}

Walked walk_message(const string& body, const RequestMasks* masks = nullptr,
                    size_t piece = 1 << 20) {
  Walked out;
  const auto walker = std::make_unique<MessageWalker>();
  walker->begin(masks, MaskPlace::kMessage, &out);
  for (size_t at = 0; at < body.size(); at += piece)
    walker->feed(body.data() + at, std::min(piece, body.size() - at));
  out.outcome = walker->finish();
  return out;
}

Hash128 digest(const string& body, const RequestMasks& masks) {
  const Walked walked = walk_message(body, &masks);
  EXPECT_TRUE(walked.outcome.masked);
  return walked.outcome.digest;
}

// { id 7, code "DAILY", cart { id <id>, place { 3: 4 } }, tags "a", "b" }
string order(const string& id) {
  return framed(number(1, 7) + bytes(2, "DAILY") + bytes(3, bytes(1, id) + bytes(2, number(3, 4))) +
                bytes(4, "a") + bytes(4, "b"));
}

TEST(MessageWalker, LeavesAreCalledByNumbers) {
  const Walked walked = walk_message(order("c1"));
  EXPECT_EQ(walked.outcome.form, BodyForm::kMessage);
  EXPECT_TRUE(walked.outcome.leaves_whole);
  EXPECT_FALSE(walked.outcome.masked);
  EXPECT_EQ(walked.paths, (std::vector<string>{"/1", "/2", "/3/1", "/3/2/3", "/4", "/4"}));
  EXPECT_NE(walked.values.at("/4")[0], walked.values.at("/4")[1]);
  const Walked other = walk_message(order("another one"));
  for (const auto& [path, values] : walked.values)
    EXPECT_EQ(values == other.values.at(path), path != "/3/1") << path;
}

TEST(MessageWalker, ATextIsNoMessageThoughItsBytesCouldBeOne) {
  // '0' is the tag of field 6 with a varint, '7' its value.
  EXPECT_EQ(walk_message(framed(bytes(2, "07"))).paths, std::vector<string>{"/2"});
  EXPECT_EQ(walk_message(framed(bytes(2, "0\x07"))).paths, std::vector<string>{"/2/6"});
  EXPECT_EQ(walk_message(framed(bytes(2, ""))).paths, std::vector<string>{"/2"});
}

TEST(MessageWalker, AMaskHidesAValueAndTheLengthsThatItIsIn) {
  const RequestMasks masks = masks_of({{"3", "1"}});
  const Hash128 one = digest(order("c1"), masks);
  EXPECT_EQ(one, digest(order("much longer, so that every length around it is another"), masks));
  EXPECT_EQ(one, digest(order(""), masks));
  string other = order("c1");
  other[other.find('D')] = 'd';
  EXPECT_NE(one, digest(other, masks));
}

TEST(MessageWalker, ThatThereIsAFieldStays) {
  const RequestMasks masks = masks_of({{"2"}});
  const string once = framed(number(1, 1) + bytes(2, "x")),
               twice = framed(number(1, 1) + bytes(2, "x") + bytes(2, "x"));
  EXPECT_NE(digest(once, masks), digest(twice, masks));
  EXPECT_FALSE(walk_message(framed(number(1, 1)), &masks).outcome.masked);
  // Neither the same bytes in another message nor in another order.
  EXPECT_NE(digest(framed(bytes(2, "x")) + framed(number(1, 1)), masks),
            digest(framed(bytes(2, "x") + number(1, 1)), masks));
}

TEST(MessageWalker, AMessageThatIsMaskedIsMaskedWhole) {
  const RequestMasks masks = masks_of({{"3"}});
  const string empty =
      framed(number(1, 7) + bytes(2, "DAILY") + bytes(3, "") + bytes(4, "a") + bytes(4, "b"));
  EXPECT_EQ(digest(order("c1"), masks), digest(empty, masks));
  // Its leaves are told all the same.
  EXPECT_EQ(walk_message(order("c1"), &masks).paths, walk_message(order("c1")).paths);
}

TEST(MessageWalker, AMaskThatGoesThroughALeafMasksNothing) {
  const RequestMasks masks = masks_of({{"2", "1"}});
  EXPECT_FALSE(walk_message(order("c1"), &masks).outcome.masked);
  const RequestMasks response = masks_of({{"1"}}, MaskPlace::kResponse);
  EXPECT_FALSE(walk_message(order("c1"), &response).outcome.masked);
}

TEST(MessageWalker, EverySplitGivesTheSame) {
  const RequestMasks masks = masks_of({{"3", "1"}, {"4"}});
  const string body = order("c1") + framed("") + order(string(300, 'x'));
  const Walked whole = walk_message(body, &masks);
  EXPECT_EQ(whole.paths.size(), 12u);
  for (size_t piece = 1; piece < 40; ++piece) {
    const Walked split = walk_message(body, &masks, piece);
    EXPECT_EQ(split.outcome.digest, whole.outcome.digest);
    EXPECT_EQ(split.values, whole.values);
  }
}

TEST(MessageWalker, WhatIsNotReadableMasksNothing) {
  const RequestMasks masks = masks_of({{"1"}});
  const string good = framed(number(1, 1));
  const string bad[] = {
      framed(number(1, 1), true),                        // compressed
      framed(string("\x0b\x0c", 2)),                     // a group
      framed(string("\x00\x01", 2)),                     // field zero
      framed(bytes(2, "abc").substr(0, 3)),              // cut
      framed(string(12, '\xff')),                        // no varint
      framed(bytes(2, string(kMaxWalkedMessage, 'x'))),  // too large
      good.substr(0, good.size() - 1),                   // the stream is cut
      "\x02" + good,                                     // no prefix of gRPC
  };
  for (const string& body : bad) {
    const Walked walked = walk_message(body, &masks);
    EXPECT_EQ(walked.outcome.form, BodyForm::kOther) << body.substr(0, 20);
    EXPECT_FALSE(walked.outcome.masked);
  }
  EXPECT_EQ(walk_message("").outcome.form, BodyForm::kEmpty);
  EXPECT_EQ(walk_message(framed("")).outcome.form, BodyForm::kMessage);
}

TEST(MessageWalker, DeeperThanItsBoundIsALeaf) {
  string deep = number(1, 1);
  for (size_t i = 0; i < kMaxMessageDepth + 4; ++i) deep = bytes(1, deep);
  const Walked walked = walk_message(framed(deep));
  ASSERT_EQ(walked.paths.size(), 1u);
  EXPECT_EQ(walked.paths[0].size(), 2 * kMaxMessageDepth);
}

}  // namespace
}  // namespace filibuster
