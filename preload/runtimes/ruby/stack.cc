// Where a Ruby program makes a request: file, line and method of each frame, by Ruby's interface for profilers. It needs no GVL,
// which a thread gives back while it writes, and allocates nothing.
#include "core/text/number.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/reader.h"
#include "preload/runtimes/ruby/api.h"

namespace filibuster::preload {
namespace {

constexpr int kMaxFrames = 64;

std::string_view prepare() {
  return ruby::find_api() != nullptr ? ruby::description() : std::string_view{};
}

void walk(const ruby::Api& api, const ruby::Value* frames, const int* lines, int count,
          bool keep_all, FrameSink* sink) {
  for (int i = 0; i < count; ++i) {
    std::string_view file = ruby::text_of(api.frame_absolute_path(frames[i]));
    if (file.empty()) file = ruby::text_of(api.frame_path(frames[i]));
    // A method that is written in C has no file.
    if (file.empty() || file == "<cfunc>" || !is_kept(FrameKind::kFile, file, keep_all)) continue;
    const std::string_view method = ruby::text_of(api.frame_label(frames[i]));
    const uint32_t line = lines[i] > 0 ? static_cast<uint32_t>(lines[i]) : 0;
    char digits[20];
    sink->add(frame_hash(file, line, method),
              {"F ", file, ":", number_text(line, 10, digits), " ", method});
  }
}

bool read(FrameSink* sink) {
  const ruby::Api* api = ruby::api();
  if (api == nullptr || api->is_ruby_thread() == 0) return false;
  ruby::Value frames[kMaxFrames];
  int lines[kMaxFrames];
  const int count = api->profile_frames(0, kMaxFrames, frames, lines);
  walk(*api, frames, lines, count, false, sink);
  if (sink->frames() == 0) {
    sink->begin_with_libraries();
    walk(*api, frames, lines, count, true, sink);
  }
  return sink->frames() > 0;
}

}  // namespace

constinit const StackReader kRubyReader{prepare, read};

}  // namespace filibuster::preload
