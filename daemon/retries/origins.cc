#include "daemon/retries/origins.h"

#include <algorithm>

#include "core/text/glob.h"
#include "daemon/retries/groups.h"

namespace filibuster::retries {
namespace {

// A frame as far as runtimes write it alike: without folders, columns and classes.
struct Frame {
  std::string_view file, line, function;
};
Frame parse_frame(std::string_view text) {
  Frame out;
  const size_t open = text.find(" (");
  if (open != text.npos) {
    out.function = text.substr(open + 2);
    if (out.function.ends_with(')')) out.function.remove_suffix(1);
    if (out.function.starts_with("async ")) out.function.remove_prefix(6);
    out.function = out.function.substr(out.function.find_last_of(". ") + 1);
    text = text.substr(0, open);
  }
  const size_t colon = text.find(':', text.find_last_of('/') + 1);
  out.file = text.substr(0, colon);
  out.file = out.file.substr(out.file.find_last_of('/') + 1);
  if (colon != text.npos) out.line = text.substr(colon + 1);
  out.line = out.line.substr(0, out.line.find(':'));
  return out;
}

// "packages/shop/test/" of "packages/shop/test/unit/cart.js". "": none of its folders has a name that tests' folders have.
std::string_view folder_of_tests(std::string_view file) {
  constexpr std::string_view kNames[] = {"test", "tests", "__tests__", "spec", "specs", "e2e"};
  for (size_t begin = 0, end = file.find('/'); end != file.npos;
       begin = end + 1, end = file.find('/', begin)) {
    if (std::ranges::find(kNames, file.substr(begin, end - begin)) != std::end(kNames))
      return file.substr(0, end + 1);
  }
  return "";
}

// Is `file` the one that a runner has listed, or in the same folder of tests? Runtimes write absolute paths, runners relative ones.
bool belongs_to_tests(std::string_view file, std::string_view listed) {
  if (listed.starts_with("./")) listed.remove_prefix(2);
  if (file == listed || file.ends_with("/" + std::string(listed))) return true;
  const std::string folder(folder_of_tests(listed));
  return !folder.empty() &&
         (file.starts_with(folder) || file.find("/" + folder) != std::string_view::npos);
}

// Do both stand for the same line?
bool is_same_line(const Frame& a, const Frame& b) {
  return a.file == b.file && !a.line.empty() && a.line == b.line;
}

// How many lines of the application on the call's stack the exception has passed.
size_t shared_lines(const suite::Raised& raised, const RpcRecord& rpc, const CodeOwners& owners) {
  size_t out = 0;
  for (const std::string& text : rpc.stack_text) {
    if (is_client_frame(text, owners) || is_test_frame(text, owners)) continue;
    const Frame frame = parse_frame(text);
    out += std::any_of(raised.frames.begin(), raised.frames.end(), [&](const std::string& one) {
      return is_same_line(parse_frame(one), frame);
    });
  }
  return out;
}

}  // namespace

const std::string* own_frame(const suite::Raised& raised, const CodeOwners& owners) {
  for (const std::string& frame : raised.frames) {
    if (!is_client_frame(frame, owners)) return &frame;
  }
  return nullptr;
}

bool has_own_frames(const suite::Raised& raised, const CodeOwners& owners) {
  return std::any_of(raised.frames.begin(), raised.frames.end(), [&](const std::string& frame) {
    return !is_client_frame(frame, owners) && !is_test_frame(frame, owners);
  });
}

bool is_client_frame(std::string_view frame, const CodeOwners& owners) {
  if (is_library_frame(frame)) return true;
  const std::string file = "/" + std::string(frame.substr(0, frame.find(':')));
  return std::any_of(owners.client_code.begin(), owners.client_code.end(), [&](const auto& glob) {
    return glob_match(glob, std::string_view(file).substr(1)) || glob_match(glob, file);
  });
}

bool is_test_frame(std::string_view frame, const CodeOwners& owners) {
  const std::string_view file = frame.substr(0, frame.find(':'));
  if (!owners.test_code.empty()) {
    return std::any_of(owners.test_code.begin(), owners.test_code.end(), [&](const auto& begin) {
      return file.starts_with(begin) || file.find("/" + begin) != file.npos;
    });
  }
  if (std::any_of(owners.listed_files.begin(), owners.listed_files.end(),
                  [&](const std::string& listed) { return belongs_to_tests(file, listed); }))
    return true;
  const std::string_view name = file.substr(file.find_last_of('/') + 1);
  return name.starts_with("test_") || name.find("_test.") != name.npos ||
         name.find(".test.") != name.npos || name.find(".spec.") != name.npos ||
         name.find("Test.java") != name.npos || name.find("Tests.java") != name.npos ||
         name == "conftest.py";
}

bool is_of_test_code(const suite::Raised& raised, const CodeOwners& owners) {
  const std::string* own = own_frame(raised, owners);
  return own != nullptr && is_test_frame(*own, owners);
}

bool came_from(const suite::Raised& raised, std::string_view call_site, const CodeOwners& owners) {
  if (call_site.empty() || is_library_frame(call_site)) return true;
  const Frame wanted = parse_frame(call_site);
  bool any = false;
  for (const std::string& frame : raised.frames) {
    if (is_client_frame(frame, owners) || is_test_frame(frame, owners)) continue;
    any = true;
    const Frame one = parse_frame(frame);
    if (one.file != wanted.file) continue;
    if (one.line == wanted.line || (!one.function.empty() && one.function == wanted.function))
      return true;
  }
  return !any;
}

const RpcRecord* raised_by(const suite::Raised& raised, const ExecutionRecord& record,
                           const CodeOwners& owners) {
  const RpcRecord* out = nullptr;
  size_t most = 0;
  for (const RpcRecord& rpc : record.rpcs) {
    if (!rpc.injected && !rpc.failed()) continue;
    const size_t shared = shared_lines(raised, rpc, owners);
    if (shared == 0 || shared < most) continue;
    if (shared > most || rpc.issued_ns >= out->issued_ns) out = &rpc;
    most = shared;
  }
  return out;
}

}  // namespace filibuster::retries
