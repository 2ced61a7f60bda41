// <sys/pidfd.h> of glibc 2.36 forgets to say that its functions are C.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>

extern "C" {
#include <sys/pidfd.h>
}
