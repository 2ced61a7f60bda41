// Messages of HTTP/1.1 as the requests and answers of a case, and back.
#pragma once

#include <string>

#include "daemon/cases/model.h"
#include "daemon/wire/http1_message.h"

namespace filibuster::cases {

// Without what belongs to one connection (RFC 9110 §7.6.1), Host, Content-Length, Expect and our
// own field; of an answer without Date, too.
Headers kept_of_request(const Headers& headers);
Headers kept_of_answer(const Headers& headers);

// Parts of a body that are nearer than this are one piece.
inline constexpr uint64_t kLeastGapMs = 10;

Request request_of(const wire::HttpMessage& message);
Answer answer_of(const wire::HttpMessage& message);

// `host`: the Host field of a request.
wire::HttpMessage message_of(const Request& request, const std::string& host);
// An answer with trailers or pieces is chunked. Of one that never came, the status is 0.
wire::HttpMessage message_of(const Answer& answer);

}  // namespace filibuster::cases
