// Messages of HTTP as the requests and answers of a case, and back.
#pragma once

#include <string>

#include "daemon/cases/model.h"
#include "daemon/wire/http_message.h"

namespace filibuster::cases {

// Without what belongs to one connection (RFC 9110 §7.6.1), Host, Content-Length, Expect,
// grpc-timeout (it is what is left of a time) and our own field; of an answer without Date, too.
Headers kept_of_request(const Headers& headers);
Headers kept_of_answer(const Headers& headers);

// Parts of a body that are nearer than this are one piece.
inline constexpr uint64_t kLeastGapMs = 10;

Request request_of(const wire::HttpMessage& message);
// `request`: where it is known, it says which parts of an answer of gRPC came before it was whole.
Answer answer_of(const wire::HttpMessage& message, const wire::HttpMessage* request = nullptr);

// `host`: the Host field of a request.
wire::HttpMessage message_of(const Request& request, const std::string& host);
// An answer with trailers or pieces is chunked. Of one that never came, the status is 0.
wire::HttpMessage message_of(const Answer& answer);

}  // namespace filibuster::cases
