// Node 18 and later: its helper is a script that runs in the process itself, before the program.
//
//   environment.cc  before main: NODE_OPTIONS asks for the script, if this process is a Node
//   helper.cjs      the script: carries contexts with AsyncLocalStorage, takes call sites
//   draws.cjs       its part for random numbers, in the same script
//   addon.cc        what the script calls: this library is a Node-API addon as well
//   arrivals.cc     gives the context of the request that the script sees arriving
//   writes.cc       keeps who writes what, on sockets whose protocol has no field for it
#pragma once

#include "preload/runtimes/runtimes.h"
#include "preload/runtimes/task.h"

namespace filibuster::preload::node {

extern const TaskReader kReader;

// What answers the question whether encrypted connections that begin now are seen above their encryption.
void set_tls_question(bool (*question)());

// The script has loaded this library as an addon.
void note_helper_started();

// The context of the request without our field that Node now hands to the program, read from `fd`.
// `after` is that of the request before it on this connection (kUnknown: there was none). Returns
// kUnknown if the request was not followed.
TaskContext next_entry(int fd, const TaskContext& after);
// The context of the same request later: its path changes once, when its body is complete.
TaskContext entry_now(int fd, const TaskContext& entry);

// Does the protocol of this connection want to be told who writes? (Its calls have no field for the cause.)
bool asks_who_writes(int fd);
// Says that `who` makes the bytes [start, end) of what the program writes to `fd`. They are counted from
// the first byte that it ever wrote there.
void say_who_writes(int fd, uint64_t start, uint64_t end, const RuntimeField& who);

}  // namespace filibuster::preload::node
