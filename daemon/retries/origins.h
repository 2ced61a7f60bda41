// Where an exception comes from: whose code raised it, and which call of an execution it is about. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/execution_record.h"
#include "daemon/suite/failure.h"

namespace filibuster::retries {

// Whose code is whose.
struct CodeOwners {
  // Beginnings of the files of test code, relative or absolute: "tests/". Empty: a file whose name says so, one of `listed_files`, and
  // what lies in a folder of tests (`test`, `spec`, ...) that has one of them.
  std::vector<std::string> test_code = {};
  std::vector<std::string> listed_files = {};  // as runners name them
  // Globs over files that belong to a client library although they are the application's: what goes through them is
  // called by others (`index.frames.deny`).
  std::vector<std::string> client_code = {};
};

// Is the frame one of a library's, or of client code?
bool is_client_frame(std::string_view frame, const CodeOwners& owners);
// Is the frame one of the test's own code?
bool is_test_frame(std::string_view frame, const CodeOwners& owners);

// The innermost frame that is not a library's; nullptr: there is none.
const std::string* own_frame(const suite::Raised& raised, const CodeOwners& owners);
// Does it have a frame of the application?
bool has_own_frames(const suite::Raised& raised, const CodeOwners& owners);
// Was the exception raised in the test's own code?
bool is_of_test_code(const suite::Raised& raised, const CodeOwners& owners);

// Did the exception pass the call at `call_site` on its way? An exception without frames of the application may have.
bool came_from(const suite::Raised& raised, std::string_view call_site,
               const CodeOwners& owners = {});

// The call that failed and has the most lines of the application on its stack that the exception has passed, too; of several the
// newest. One function makes several calls: only the line tells which of them raised what the function did not catch. nullptr: the
// exception has passed none.
const RpcRecord* raised_by(const suite::Raised& raised, const ExecutionRecord& record,
                           const CodeOwners& owners);

}  // namespace filibuster::retries
