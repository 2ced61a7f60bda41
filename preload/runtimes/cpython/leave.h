// How a Python test that was forked from a snapshot ends: its exit handlers run and what it wrote is
// flushed, but the interpreter is not taken apart, which takes longer than most executions.
#pragma once

namespace filibuster::preload::cpython {

// Called once at the snapshot point, in the process that is forked. Does nothing where there is no Python.
void prepare_to_leave();

}  // namespace filibuster::preload::cpython
