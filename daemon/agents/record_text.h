// Texts of a record, and what they tell. For recorder.cc and recorder_record.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/execution_record.h"
#include "daemon/model/no_conclusion.h"

namespace filibuster {

// An agent that floods makes no list of a record longer.
inline constexpr size_t kMaxTexts = 1000;

// Adds what the list does not have yet.
void add_text(std::vector<std::string>* list, std::string text);
// What the detail of a fault that was not injected tells.
NoConclusion cause_of(std::string_view detail);
std::string rpc_text(const RpcRecord& rpc);
std::string number_text(uint64_t rpc);

}  // namespace filibuster
