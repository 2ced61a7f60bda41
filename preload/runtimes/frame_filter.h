// Which frames are kept in a call stack, and how a kept one is hashed. The functions are pure, but for
// the lists that the session's configuration sets.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/hash.h"
#include "core/index/frame_rules.h"

namespace filibuster::preload {

// Modules whose frames never tell call sites apart: we ourselves, the C and C++ runtimes, HTTP and
// TLS libraries, interpreters. By the base name of the file.
bool is_runtime_module(std::string_view path);

// Modules that run code which they make themselves (V8, the JVM, interpreters): their own frames
// change while the program warms up, so they name no call site. By the base name of the file.
bool is_engine_module(std::string_view path);

// A file that belongs to a runtime (the interpreter, Go's standard library) or to an installed package.
bool is_library_file(std::string_view file);

// A Java class ("com.example.Users") of the JDK, of an HTTP library, server or framework.
bool is_java_library_class(std::string_view name);
// A class made while the program runs (lambda, proxy, reflection), whose name differs each time; or one of ours, which is
// not always there.
bool is_generated_java_class(std::string_view name);
// The name without the number that the compiler gave a lambda: "lambda$get$0" -> "lambda$get".
std::string_view stable_java_method(std::string_view name);

// --- the lists of the configuration, over these defaults ---------------------------------------
// (core/index/frame_rules.h). Modules of engines and generated classes never count, whatever is
// listed: their frames change while a program warms up.

// Sets the lists. A reader that caches answers asks again when frame_rules_version() has changed.
void set_frame_rules(const FrameTable& table);
uint32_t frame_rules_version();
// Does a frame of this module, file or class not count?
bool is_left_out(FrameKind kind, std::string_view name);
// Is such a frame kept? `keep_all`: those of libraries are, since the stack has no others; those of event loops and of pools of
// threads are not even then (loop_frames.h).
bool is_kept(FrameKind kind, std::string_view name, bool keep_all);

// The path relative to the directory that the process was started in; unchanged if it is elsewhere.
std::string_view from_start_directory(std::string_view path);
// The last two components, so that the index is the same on a machine with another prefix.
std::string_view last_two_components(std::string_view path);

// Hash of a native frame. `module`: the hash of the bytes of its build id.
Hash128 native_frame_hash(Hash128 module, uint64_t offset);
// In place of the hash of a build id, if the module has none: of the base name.
Hash128 nameless_module_hash(std::string_view path);

// Hash of a function of a runtime, by its file and name.
Hash128 function_hash(std::string_view file, std::string_view function);
// Hash of a runtime's frame: its function's, combined with its line (0: unknown).
Hash128 frame_hash(std::string_view file, uint32_t line, std::string_view function);

}  // namespace filibuster::preload
