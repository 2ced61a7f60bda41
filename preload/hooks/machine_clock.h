// The originals of the clocks that hooks read themselves: those of libc, or of a library behind us that puts another clock in its
// place.
#pragma once

#include <time.h>

#include "preload/interpose.h"

FILIBUSTER_REAL(int, clock_gettime, (clockid_t, timespec*))
