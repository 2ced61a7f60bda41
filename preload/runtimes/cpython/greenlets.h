// Greenlets (gevent, eventlet) take turns on one thread. The request that one works for is kept with the greenlet, so that
// it needs no notice of a switch: gevent's Greenlet has a dictionary that all greenlets that it spawns have, too
// (spawn_tree_locals); any other greenlet has a context of its own for context variables. Every function needs the GIL, runs no
// Python code, and leaves no exception set.
#pragma once

namespace filibuster::preload::cpython {

struct Object;

// The module is there. `getcurrent` is its function, and is kept for ever.
void follow_greenlets(Object* getcurrent);
bool has_greenlets();
// Does this thread run a greenlet, other than the one that every thread begins with?
bool in_greenlet();
// The request of the greenlet that runs, as a new reference; nullptr: it has none. `key` is the context variable.
Object* request_of_greenlet(Object* key);
// Sets the request of the greenlet that runs, and of those that it spawns from now on. Returns the one before (empty bytes: none)
// as a new reference; nullptr: this thread runs no greenlet.
Object* swap_request_of_greenlet(Object* key, Object* request);

}  // namespace filibuster::preload::cpython
