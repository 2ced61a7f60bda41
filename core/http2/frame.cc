#include "core/http2/frame.h"

#include <iterator>

namespace filibuster::http2 {
namespace {

struct Row {
  Error error;
  std::string_view meaning;
};

constexpr Row kRows[] = {
    {Error::kNone, "no error"},
    {Error::kBadPreface, "not the client preface (RFC 9113 3.4)"},
    {Error::kFirstNotSettings, "the first frame is not SETTINGS (RFC 9113 3.4)"},
    {Error::kFrameTooLarge, "a frame longer than allowed (RFC 9113 4.2)"},
    {Error::kFrameSize, "a frame of a length that its type cannot have (RFC 9113 6)"},
    {Error::kStreamZero, "a frame of a stream on stream 0 (RFC 9113 6)"},
    {Error::kNotStreamZero, "a frame of the connection on a stream (RFC 9113 6)"},
    {Error::kPadding, "padding longer than its frame (RFC 9113 6)"},
    {Error::kContinuationExpected, "a header block interrupted by another frame (RFC 9113 6.10)"},
    {Error::kContinuationUnexpected, "CONTINUATION without a header block (RFC 9113 6.10)"},
    {Error::kBadSetting, "a setting out of its range (RFC 9113 6.5.2)"},
    {Error::kZeroIncrement, "a window increment of 0 (RFC 9113 6.9)"},
    {Error::kPushByClient, "PUSH_PROMISE from the client (RFC 9113 8.4)"},
    {Error::kStreamId, "a stream number that the client cannot use (RFC 9113 5.1.1)"},
    {Error::kIdleStream, "a frame on a stream that was never opened (RFC 9113 5.1)"},
    {Error::kCompression, "a header block that cannot be decoded (RFC 7541)"},
    {Error::kHeaderBlockTooLarge, "a header block longer than is followed"},
    {Error::kTooManyContinuations, "more CONTINUATION frames than are followed"},
    {Error::kHeaderListTooLarge, "more header fields than are followed"},
    {Error::kHeaderMemory, "more memory for header compression than is given"},
    {Error::kTooManySettings, "more unacknowledged SETTINGS than are followed"},
};
static_assert(sizeof kRows / sizeof kRows[0] == static_cast<size_t>(Error::kCount));

// In the order of ErrorCode.
constexpr std::string_view kErrorCodes[] = {
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
};
static_assert(std::size(kErrorCodes) == static_cast<size_t>(ErrorCode::kHttp11Required) + 1);

}  // namespace

std::string_view to_name(ErrorCode code) {
  const auto row = static_cast<size_t>(code);
  return row < std::size(kErrorCodes) ? kErrorCodes[row] : std::string_view{};
}

std::string_view describe(Error error) {
  const auto row = static_cast<size_t>(error);
  return row < static_cast<size_t>(Error::kCount) ? kRows[row].meaning : "unknown";
}

}  // namespace filibuster::http2
