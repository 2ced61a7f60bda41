// The requests that the tests of this folder send.
#pragma once

#include <cstdint>

#include "core/http2/frame.h"
#include "tests/unit/relay/peers.h"

namespace filibuster {

inline const FieldList kGet = {
    {":method", "GET"}, {":scheme", "http"}, {":path", "/a"}, {":authority", "cart:80"}};
inline const FieldList kCall = {{":method", "POST"},
                                {":scheme", "http"},
                                {":path", "/shop.Cart/Get"},
                                {":authority", "cart:80"},
                                {"content-type", "application/grpc"},
                                {"te", "trailers"}};

// As libnghttp2 has error codes.
constexpr uint32_t number(http2::ErrorCode code) {
  return static_cast<uint32_t>(code);
}

}  // namespace filibuster
