// The fields of one request and of its response, where they matter: some of them are masked, so
// that the index is formed without them, or the session asks for all of them (reference
// executions). RequestFields is made at the head of the request, and reads both bodies as they pass
// (core/index/body_walker.h).
//
// Without masks and outside of reference executions it is not made, and a request costs one load. Each
// body is fed by the one thread that follows its flow.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/index/body_walker.h"
#include "preload/rpc/agent.h"

namespace filibuster::preload {

struct RequestFields;

// nullptr: nothing is masked in this request and nothing is to be reported.
RequestFields* begin_fields(std::string_view caller, std::string_view service,
                            const RequestHead& head);
// Hashes of the request's head without what is masked: of (m, f, a), and of the query.
Hash128 masked_signature(const RequestFields& fields);
Hash128 masked_query(const RequestFields& fields);
// True: the request's call stack takes no part in its index.
bool stack_is_masked(const RequestFields& fields);

void request_piece(RequestFields* fields, const char* data, size_t size);
void response_piece(RequestFields* fields, const char* data, size_t size);
void request_unseen(RequestFields* fields);
void response_unseen(RequestFields* fields);
// The body is complete, and `plain` is the digest of all of it. Returns the digest without what is masked.
Hash128 request_whole(RequestFields* fields, Hash128 plain, uint64_t size);
Hash128 response_whole(RequestFields* fields, Hash128 plain, uint64_t size);

// Tell the daemon the fields of the complete body, where it asked for them. Those of a request are told as
// soon as its body is complete, because the caller may end before its answer does.
void report_request_fields(uint64_t rpc, uint64_t generation, uint32_t execution,
                           const RequestFields& fields);
void report_response_fields(uint64_t rpc, uint64_t generation, uint32_t execution,
                            const RequestFields& fields);
// nullptr is allowed.
void end_fields(RequestFields* fields);

}  // namespace filibuster::preload
