// `filibuster-bpf probe`: tries each feature that attaching needs, by loading, attaching and detaching what
// uses it.
#pragma once

namespace filibuster::bpf {

// Prints a JSON array of {"feature", "works", "answer", "what_to_do"}, in a fixed order, and returns the exit
// code: 0, whatever works.
int probe();

// The same of each program by itself: {"program", "place", "works", "answer"}. Those that are attached to places in
// other programs are loaded only.
int probe_programs();

}  // namespace filibuster::bpf
