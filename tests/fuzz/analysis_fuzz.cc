// Sources and documents of services: the first byte says of which kind the rest is. Looking at them
// must survive anything, and what is found stands in the text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cli/analysis/documents.h"
#include "cli/analysis/imports.h"
#include "cli/analysis/scan.h"

using namespace filibuster::analysis;

namespace {

void check_source(const std::shared_ptr<const Source>& source) {
  const size_t size = source->text.size();
  const auto count = static_cast<uint32_t>(source->tokens.size());
  uint32_t before = 0;
  for (const Token& token : source->tokens) {
    if (token.offset < before || token.offset >= size || token.line < 1) std::abort();
    if (token.text.data() < source->text.data() ||
        token.text.data() + token.text.size() > source->text.data() + size)
      std::abort();
    before = token.offset;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t other = source->partner[i];
    if (other > count || (other < count && source->partner[other] != i)) std::abort();
  }
  for (const Definition& one : source->definitions) {
    if (one.begin > one.body || one.body > count || one.end > count || one.name.empty())
      std::abort();
  }
  (void)imports_of(*source);
  (void)go_packages_of(*source);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  constexpr const char* kNames[] = {"a.py", "a.js",   "A.java", "a.go",
                                    "a.cc", "a.yaml", "a.json", "a.proto"};
  const std::string name = kNames[data[0] % std::size(kNames)];
  if (name == "a.proto") {
    (void)read_proto(name, text);
    return 0;
  }
  if (name == "a.yaml" || name == "a.json") {
    const auto read = read_openapi(name, text);
    if (!read.ok() && !read.error().message.starts_with(name + ":")) std::abort();
    return 0;
  }
  const std::shared_ptr<const Source> source = read_source(name, text);
  check_source(source);
  const std::vector<GrpcMethod> methods = {{"shop.Cart", "Get"}};
  for (const bool closure : {false, true}) {
    ServiceSources sources;
    sources.closure = closure;
    sources.files = {source, source};
    for (const Evidence& one : scan_service(sources, methods).evidence) {
      if (!is_error(one.answer) || !one.text.starts_with(name + ":")) std::abort();
    }
  }
  for (const std::string& word : shell_words(text)) (void)path_pattern(word);
  (void)program_candidates(shell_words(text));
  return 0;
}
