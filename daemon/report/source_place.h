// Where a frame of a call stack stands in the sources.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace filibuster {

// "users.py:31 (get_bookings)" -> {users.py, 31, get_bookings}; line 0 if the file is not known.
struct Place {
  std::string file;
  uint32_t line = 0;
  std::string function;
};
Place parse_place(std::string_view frame);

}  // namespace filibuster
