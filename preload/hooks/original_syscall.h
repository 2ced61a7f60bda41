// libc's syscall(), which forwards all of its arguments as they came.
#pragma once

#include "preload/interpose.h"

FILIBUSTER_REAL(long, syscall, (long, long, long, long, long, long, long))
