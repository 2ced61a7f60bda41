// Rules of `nondeterminism` that help where a name varies and no mask was found for it, as a line of JSON that can be put into a
// configuration. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

// The pattern of names that vary, by what is alike in all of them: of "report-1700000000.txt" and "report-1700000031.txt" it is
// "report-", ten times '?', ".txt". What has several lengths is a '*'.
std::string shape_of(const std::vector<std::string_view>& names);

// The rule in one line: {"on":{"service":"s","path":"/items/*"},"mask":{"path":[2]}}. "": a configuration cannot have it.
std::string rule_line(const NondeterminismRule& rule);

// "; a rule of 'nondeterminism' helps: LINE"; "" of "".
std::string advice(const std::string& line);

// For a planned call that did not come, and in whose place its call site has made one with other values: the line of a rule
// that masks what differs between them. "": there is none, or no rule helps.
std::string rule_for_missing(const ExecutionRecord& record, const RpcRecord& planned,
                             const std::vector<NondeterminismRule>& masks, uint32_t index_parts);

}  // namespace filibuster
