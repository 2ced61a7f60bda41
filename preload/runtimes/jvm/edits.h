// Which methods of the JDK and of libraries call our helper classes, and how: two tables, in each
// of which the edits of one class stand together.
#pragma once

#include <span>
#include <string_view>

#include "preload/runtimes/jvm/class_editor.h"

namespace filibuster::preload::jvm {

// Of the JDK, by its own loaders.
std::span<const Edit> edit_table();
// Of libraries that programs bring, by whatever loaders.
std::span<const Edit> library_edits();

// The rows of the class "java/lang/Thread"; none: it is not in the table.
std::span<const Edit> edits_of(std::span<const Edit> table, std::string_view type);
// Does it write the heads of calls of grpc-java?
bool is_transport(const Method& method);

}  // namespace filibuster::preload::jvm
