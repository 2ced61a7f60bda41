// Cuts one direction of an HTTP/2 connection so that whoever reads it is given frames of DATA in
// any pieces, and of everything else only what is whole: a frame, or a header block with all its
// frames (RFC 9113 §4.3). What is not whole yet is kept, so that the reader can be changed for another
// one between any two bytes: the new reader begins with kept().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster::http2 {

class WholeFrames {
 public:
  // At most so many bytes are kept. Where that is not enough, everything is given as it comes from then
  // on.
  static constexpr size_t kMostKept = 16 * 1024;

  // The bytes that come next, in any split. `give(const char*, size_t)` is called for those that
  // may be read, in order.
  template <typename Give>
  void feed(const char* data, size_t size, Give give) {
    while (size != 0) {
      const Step step = kept_size_ == 0 ? scan(data, size) : complete(data, size);
      if (step.give_kept) {
        const size_t kept = kept_size_;
        kept_size_ = 0;
        give(static_cast<const char*>(kept_), kept);
      }
      if (step.give != 0) give(data, step.give);
      data += step.give + step.kept;
      size -= step.give + step.kept;
    }
  }
  // Bytes that came, and went by unseen. False: there are no such bytes of DATA.
  bool skip(uint64_t size);

  std::string_view kept() const { return {kept_, kept_size_}; }
  // kMostKept was not enough: frames are not given whole any more.
  bool gives_as_it_comes() const { return as_it_comes_; }

 private:
  // What becomes of the next bytes. With `give_kept`, what was kept is given first. Then `give` bytes
  // are given, and the `kept` bytes behind them are kept.
  struct Step {
    size_t give = 0;
    size_t kept = 0;
    bool give_kept = false;
  };
  Step scan(const char* data, size_t size);
  Step complete(const char* data, size_t size);
  Step keep(const char* data, size_t whole, size_t size);

  uint64_t data_left_ = 0;  // of a frame of DATA
  bool as_it_comes_ = false;
  size_t frame_ = 0;  // of what is kept: where the frame that is not whole begins
  size_t kept_size_ = 0;
  char kept_[kMostKept];
};

}  // namespace filibuster::http2
