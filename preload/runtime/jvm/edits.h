// Which methods of the JDK call our helper classes, and how: a table.
#pragma once

#include <span>

#include "preload/runtime/jvm/class_editor.h"

namespace filibuster::preload::jvm {

// The edits of one class stand together.
std::span<const Edit> edit_table();

}  // namespace filibuster::preload::jvm
