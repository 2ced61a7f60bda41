// Edits methods of a Java class file (JVMS 4) so that they call a static method of ours: at their
// beginning, or in place of one call that they make. Pure; works on any class file version.
//
//   kArgument  x = Helper.wrap(x)    or  x = Helper.wrap(this, x)    (replaces a reference argument)
//   kEnter     Helper.enter()        or  Helper.enter(this)
//   kSee       Helper.see(x)         or  Helper.see(this, x)
//   kCall      receiver.called(args)  ->  Helper.called(receiver, args)
//
// A helper may take its arguments as Object: then its descriptor names no class that only the loader of
// the edited class knows.
//
// What is inserted is a multiple of four bytes long, so that no switch needs other padding;
// branches are relative and stay as they are; tables of code positions are moved. Calls are
// replaced in place: `invokestatic` is as long as `invokevirtual`, and shorter than
// `invokeinterface`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace filibuster::preload::jvm {

struct Method {
  // "java/lang/Thread", "start", "()V". The descriptor of a method to edit may end with '*', which stands
  // for whatever follows (versions of a library differ in what we do not look at).
  std::string_view type, name, descriptor;
};

struct Edit {
  enum class Kind : uint8_t { kArgument, kEnter, kSee, kCall };
  Method in;
  Kind kind = Kind::kEnter;
  bool with_this = false;  // all but kCall: the helper's first argument is `this`, or what is in
                           // the first local variable of a static method
  uint8_t slot = 0;        // kArgument, kSee: local variable of the argument
  Method call;             // kCall: what is called there
  Method helper;
};

inline constexpr size_t kMaxEdits = 16;  // of one class

struct EditResult {
  size_t size = 0;    // of the new class file; 0: the file is not understood, or there is no room
  uint32_t done = 0;  // bit i: edit i found its place
};

// Room that the edits need besides the file.
inline constexpr size_t kEditRoom = 8 * 1024;

// `scratch`: one number for each constant of the file (65,536 at most).
EditResult edit_class(std::span<const uint8_t> file, std::span<const Edit> edits,
                      std::span<uint32_t> scratch, std::span<uint8_t> out);

}  // namespace filibuster::preload::jvm
