#include "daemon/lane/not_forked.h"

namespace filibuster {

std::string_view remedy_for(NotForked why) {
  switch (why) {
    case NotForked::kThreads:
      return "start threads after the first call";
    case NotForked::kRuntimeThreads:
      return "Node and the JVM cannot be forked; docs/snapshots.md says what makes the JVM start faster";
    case NotForked::kChildren:
      return "start other processes after the first call, or make them services of the configuration";
    case NotForked::kSharedMemory:
      return "share memory (a queue or a lock between processes) after the first call";
    case NotForked::kListening:
      return "listen after the first call, or make what listens a service of the configuration";
    case NotForked::kConnected:
      return "make that connection after the first call";
    case NotForked::kFile:
      return "open it after the first call, or write to the standard output, which each execution has for itself";
    case NotForked::kLock:
      return "take it after the first call";
    case NotForked::kTimer:
      return "begin with that after the first call";
    case NotForked::kAnotherProcess:
      return "have the command start that program itself, in a text for the shell with `exec` before it; "
             "a folder can stand in \"directory\", variables in \"env\". Of a test runner, switch its "
             "workers off (pytest -n 0, node test.js)";
    case NotForked::kUnseen:
      return "`filibuster doctor -- PROGRAM` says whether the library enters the program of the test";
    case NotForked::kDiffers:
      return "do after the first call what each execution needs for itself: read the clock, make a "
             "temporary folder, draw a name or an id that is used up";
    case NotForked::kUnknown:
    case NotForked::kNotWorthIt:
      break;
  }
  return "";
}

}  // namespace filibuster
