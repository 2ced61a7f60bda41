// The route of a request, and the names of the files that its cases have.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/hash.h"

namespace filibuster::cases {

// "GET /users/_" of GET and "/users/7?full=1": a segment is "_" that holds a digit (but for a
// version, "v2"), or is of at least 16 hexadecimal letters.
std::string route_of(std::string_view method, std::string_view target);

// "get-users-_": a name of a folder, whatever the route is.
std::string route_folder(std::string_view route);

inline constexpr size_t kNameDigits = 12;
// The first digits of `hash`, as many as tell it from the names in `taken`.
std::string case_name(Hash128 hash, const std::set<std::string>& taken);

// The name of a case, by its file.
std::string name_in_path(std::string_view path);

// Is it a name such as case_name() and body_file_name() make them, and so no way out of the folder?
bool is_plain_file_name(std::string_view name);
// "9a1c2b3d4e5f.2.bin"
std::string body_file_name(std::string_view case_name, size_t number);

}  // namespace filibuster::cases
