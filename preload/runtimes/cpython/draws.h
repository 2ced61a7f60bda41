// Random numbers of Python's module random. All of them come from two methods of the class that it builds upon
// (_random.Random), which advance a generator of the process: what one request draws depends on what others have drawn. Where a
// recording or a replay counts the numbers (rpc/draws.h), the two methods go through us. Modules that the program has
// imported hold methods that are bound already, so the rows of the class's own table are changed, which these read at each call.
#pragma once

namespace filibuster::preload::cpython {

struct Object;

// A function of the helper. drawing(type): the program has imported the module, and this is the class.
Object* drawing(Object* self, Object* type);
// To be called at each registration, without the GIL or with it.
void follow_draws();

}  // namespace filibuster::preload::cpython
