// The body of a gRPC call, read field by field without a schema. The first byte splits it. Any
// split gives the same; masks change no leaf; what names no field of it masks nothing; nothing is
// read beyond the bytes.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/message_walker.h"

namespace {

using namespace filibuster;

struct Leaves final : LeafSink {
  void leaf(std::string_view path, uint64_t value) override {
    if (path.empty() || path.size() > kMaxFieldPath) std::abort();
    all.emplace_back(std::string(path), value);
  }
  std::vector<std::pair<std::string, uint64_t>> all;
};

BodyWalker::Outcome walk(std::string_view body, size_t piece, const RequestMasks* masks,
                         Leaves* leaves) {
  const auto walker = std::make_unique<MessageWalker>();
  walker->begin(masks, MaskPlace::kMessage, leaves);
  for (size_t at = 0; at < body.size(); at += piece) {
    const std::string_view part = body.substr(at, piece);
    const std::vector<char> copy(part.begin(), part.end());  // exactly as long: overreads are seen
    walker->feed(copy.data(), copy.size());
  }
  return walker->finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t piece = data[0] + 1u;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  RequestMasks masks;
  masks.fields[masks.count++] = {MaskPlace::kMessage, 1, 0, 0, {name_hash("2")}};
  masks.fields[masks.count++] = {MaskPlace::kMessage, 2, 0, 0, {name_hash("3"), name_hash("1")}};
  masks.fields[masks.count++] = {
      MaskPlace::kMessage, 3, 0, 0, {kAnyName, kAnyName, name_hash("4")}};
  masks.fields[masks.count++] = {MaskPlace::kJson, 1, 0, 0, {name_hash("1")}};
  Leaves whole_leaves, split_leaves, plain_leaves;
  const auto whole = walk(body, body.size(), &masks, &whole_leaves);
  const auto split = walk(body, piece, &masks, &split_leaves);
  if (whole.form != split.form || whole.masked != split.masked ||
      whole_leaves.all != split_leaves.all)
    std::abort();
  if (whole.masked && whole.digest != split.digest) std::abort();
  const auto plain = walk(body, piece, nullptr, &plain_leaves);
  if (plain.form != whole.form || plain.masked || plain_leaves.all != whole_leaves.all)
    std::abort();
  // Without leaves nothing else is masked.
  const auto silent = walk(body, piece, &masks, nullptr);
  if (silent.masked != whole.masked || (whole.masked && silent.digest != whole.digest))
    std::abort();
  return 0;
}
