// A header value as it may arrive. What decodes must encode to the very same bytes.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/rpc/header_field.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<char> copy(data, data + size);  // exactly as long: overreads are seen
  const std::string_view value(copy.data(), copy.size());
  filibuster::RuntimeField field;
  if (filibuster::decode_runtime_value(value, &field)) {
    char again[filibuster::kRuntimeValueSize];
    filibuster::encode_runtime_value(field, again);
    if (value != std::string_view(again, sizeof again)) std::abort();
  }
  filibuster::RpcContext context;
  if (!filibuster::decode_header_value(value, &context)) return 0;
  char again[filibuster::kHeaderValueSize];
  filibuster::encode_header_value(context, again);
  if (value != std::string_view(again, sizeof again)) std::abort();
  return 0;
}
