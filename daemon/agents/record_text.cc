#include "daemon/agents/record_text.h"

#include <algorithm>
#include <utility>

#include "daemon/agents/unmet_plan.h"
#include "daemon/base/fault_texts.h"
#include "daemon/model/call_name.h"

namespace filibuster {

NoConclusion cause_of(std::string_view detail) {
  if (detail.starts_with(kAnswerEndedAfter)) return NoConclusion::kAnswerEnded;
  if (detail.starts_with(kConnectionEndedFirst)) return NoConclusion::kConnectionEnded;
  if (detail.starts_with(kOpenedNoConnection)) return NoConclusion::kAtConnect;
  if (detail.starts_with(kPartWasSent)) return NoConclusion::kCommandInParts;
  if (detail.starts_with(kAnsweredFirst)) return NoConclusion::kAnsweredEarly;
  if (detail.starts_with(kCheckNotReached) || detail.starts_with(kDoesNotCheck))
    return NoConclusion::kNoCertificateCheck;
  return NoConclusion::kOther;
}

void add_text(std::vector<std::string>* list, std::string text) {
  if (list->size() >= kMaxTexts) return;
  if (std::find(list->begin(), list->end(), text) == list->end()) list->push_back(std::move(text));
}

std::string rpc_text(const RpcRecord& rpc) {
  return rpc.caller + " (pid " + std::to_string(rpc.pid) + ") -> " + rpc.service + " " +
         call_name(rpc, rpc.target);
}

std::string number_text(uint64_t rpc) {
  return "agent " + std::to_string(rpc >> 32) + ", RPC " + std::to_string(rpc & 0xffffffffu);
}

}  // namespace filibuster
