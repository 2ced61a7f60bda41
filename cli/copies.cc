#include "cli/copies.h"

#include "cli/output_file.h"
#include "cli/verb.h"

namespace filibuster::cli {

int write_copies(std::span<const Copy> copies, const Daemon& daemon, const std::string& id,
                 int code) {
  for (const Copy& copy : copies) {
    if (copy.file.empty()) continue;
    const Result<Answer> answer =
        daemon.client().get("/v1/sessions/" + id + "/report?format=" + copy.format);
    const Result<void> written = !answer ? Result<void>(answer.error())
                                 : answer->status != 200
                                     ? Result<void>(Error{"the daemon has no such report"})
                                     : write_output(copy.file, answer->body);
    if (written) continue;
    complain(kEnvironment, "--" + std::string(copy.format) + ": " + written.error().message);
    if (code == kNothingFound || code == kTimeOver) code = kEnvironment;
  }
  return code;
}

}  // namespace filibuster::cli
