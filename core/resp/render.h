// The replies that a fault gives in a server's place (RESP; nil is the only one whose form depends
// on the version that the connection speaks).
#pragma once

#include <cstddef>
#include <string_view>

namespace filibuster::resp {

// "-CODE message\r\n" into `out`, which has room for `size` bytes; "-CODE\r\n" without a message.
// Line ends in either become blanks: the line must not end early. Returns the bytes written, 0 if
// there is not enough room.
size_t error_reply(char* out, size_t size, std::string_view code, std::string_view message);

// "$-1\r\n" for protocol 2, "_\r\n" for 3. Returns the bytes written, 0 if there is not enough
// room.
size_t nil_reply(char* out, size_t size, int protocol);

}  // namespace filibuster::resp
