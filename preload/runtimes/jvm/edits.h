// Which methods of the JDK and of libraries call our helper classes, and how: tables, in each
// of which the edits of one class stand together.
#pragma once

#include <span>
#include <string_view>

#include "preload/runtimes/jvm/class_editor.h"

namespace filibuster::preload::jvm {

// Edits of classes of the JDK, which its own loaders load.
std::span<const Edit> edit_table();
// Edits of the JDK's TLS. Either all of them are made, or none counts.
std::span<const Edit> tls_edits();
// Edits of the JDK's generators of random numbers. Either all of them are made, or a note says so.
std::span<const Edit> draw_edits();
// Edits of classes of libraries that programs bring, whoever loads them.
std::span<const Edit> library_edits();

// The rows of one class, such as "java/lang/Thread"; empty if the class is not in the table.
std::span<const Edit> edits_of(std::span<const Edit> table, std::string_view type);
// Is this a method of a transport, which writes the heads of calls of grpc-java?
bool is_transport(const Method& method);

}  // namespace filibuster::preload::jvm
