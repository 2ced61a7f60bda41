// The representations of an execution index (dissertation section 5.4), from what an RpcRecord
// holds. An index is written as the list of its elements, outermost first, each with these parts:
//
//   [metadata, invoking service, signature, synchronous part (stack), asynchronous part (payload)]|k
//
//   debugging  the parts as text, for people and projections
//   verbose    the SHA-1 of each part: it shows which parts are equal, and not the text
//   compact    the one hash by which programs know the RPC (core/index/execution_index.h)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/execution_index.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

enum class Representation : uint8_t { kCompact, kVerbose, kDebugging };
std::optional<Representation> parse_representation(std::string_view name);

// The elements of the index of `rpc`, outermost first. The parts that `index_parts` leaves out are
// empty (count 0, no stack, zero payload); without the path there is one element. The list begins later
// if an ancestor is not in `rpcs`. The metadata are the tags of the RPC (see below), separated by a
// comma; they are no part of the hash.
std::vector<IndexElement> index_elements(const std::vector<RpcRecord>& rpcs, const RpcRecord& rpc,
                                         uint32_t index_parts);
// Tags of one RPC: "by thread", "formed on arrival", "preliminary", "injected status:503", ...
std::vector<std::string> tags_of(const RpcRecord& rpc);

std::string to_text(const std::vector<IndexElement>& index, Representation representation);

// One index a line, in order of issue; for kCompact, tree_text() of finding.h.
std::string trace_text(const std::vector<RpcRecord>& rpcs, Representation representation,
                       uint32_t index_parts);

// FIPS 180-4; 40 hexadecimal digits. It only names the parts of the verbose representation: it is not
// for secrets.
std::string sha1(std::string_view text);

}  // namespace filibuster
