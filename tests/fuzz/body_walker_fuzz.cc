// A body of a request, read field by field. The first byte splits it, the second chooses the walk.
// Any split gives the same; what is not masked keeps its digest; nothing is read beyond the bytes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/body_walker.h"

namespace {

using namespace filibuster;

struct Leaves final : LeafSink {
  void leaf(std::string_view path, uint64_t value) override {
    if (path.size() > kMaxFieldPath) std::abort();
    all.emplace_back(std::string(path), value);
  }
  std::vector<std::pair<std::string, uint64_t>> all;
};

void begin(BodyWalker* walker, uint8_t which, const RequestMasks* masks, LeafSink* leaves) {
  if (which % 3 == 0) walker->begin_request(masks, leaves);
  if (which % 3 == 1) walker->begin_response(masks, leaves);
  if (which % 3 == 2) walker->begin_query(masks, leaves);
}

BodyWalker::Outcome walk(std::string_view body, size_t piece, uint8_t which,
                         const RequestMasks* masks, Leaves* leaves) {
  BodyWalker walker;
  begin(&walker, which, masks, leaves);
  for (size_t at = 0; at < body.size(); at += piece) {
    const std::string_view part = body.substr(at, piece);
    const std::vector<char> copy(part.begin(), part.end());  // exactly as long: overreads are seen
    walker.feed(copy.data(), copy.size());
  }
  return walker.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const size_t piece = data[0] + 1u;
  const uint8_t which = data[1];
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  RequestMasks masks;
  for (const MaskPlace place :
       {MaskPlace::kJson, MaskPlace::kForm, MaskPlace::kResponse, MaskPlace::kQuery}) {
    MaskField& one = masks.fields[masks.count++];
    one = {place, 1, 0, 0, {name_hash("id")}};
    MaskField& two = masks.fields[masks.count++];
    two = {place, 2, 0, 0, {kAnyName, name_hash("a")}};
  }
  Leaves whole_leaves, split_leaves, plain_leaves;
  const auto whole = walk(body, body.size(), which, &masks, &whole_leaves);
  const auto split = walk(body, piece, which, &masks, &split_leaves);
  if (whole.form != split.form || whole_leaves.all != split_leaves.all) std::abort();
  if (whole.form != BodyForm::kOther && whole.digest != split.digest) std::abort();
  const auto plain = walk(body, piece, which, nullptr, &plain_leaves);
  if (plain.form != whole.form || plain.masked) std::abort();
  if (plain_leaves.all != whole_leaves.all) std::abort();
  if (plain.form != BodyForm::kOther && plain.digest != hash_text(body)) std::abort();
  if (!whole.masked && whole.form != BodyForm::kOther && whole.digest != plain.digest) std::abort();
  return 0;
}
