#include "core/pieces.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace filibuster {
namespace {

// "abcdef" in pieces, two of them empty.
class PiecesTest : public testing::Test {
 protected:
  std::string text_ = "abcdef";
  iovec vectors_[5] = {
      {text_.data(), 2}, {nullptr, 0}, {text_.data() + 2, 1}, {text_.data() + 3, 3}, {nullptr, 0}};
  Pieces pieces_{vectors_, 5};

  std::vector<std::string> parts(size_t from, size_t size) {
    std::vector<std::string> out;
    pieces_.each(from, size, [&](const char* part, size_t bytes) {
      out.emplace_back(part, bytes);
      return true;
    });
    return out;
  }
};

TEST_F(PiecesTest, ItsSizeIsThatOfAllPieces) {
  EXPECT_EQ(pieces_.size(), 6u);
  EXPECT_EQ(Pieces().size(), 0u);
}

TEST_F(PiecesTest, EveryRangeIsWalkedInItsPartsAndCopied) {
  EXPECT_EQ(parts(0, SIZE_MAX), (std::vector<std::string>{"ab", "c", "def"}));
  EXPECT_EQ(parts(1, 3), (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(parts(6, 1), std::vector<std::string>());
  for (size_t from = 0; from <= text_.size(); ++from) {
    for (size_t size = 0; from + size <= text_.size(); ++size) {
      std::string copy(size, '?');
      pieces_.copy(from, copy.data(), size);
      EXPECT_EQ(copy, text_.substr(from, size));
    }
  }
}

TEST_F(PiecesTest, AWalkEndsWhereItsUserSays) {
  int calls = 0;
  EXPECT_FALSE(pieces_.each(0, SIZE_MAX, [&](const char*, size_t) { return ++calls < 2; }));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace filibuster
