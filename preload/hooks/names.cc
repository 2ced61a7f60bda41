// Names of hosts. One that leads to a service of the lane (preload/hooks/hosts.h) is asked as the address that stands for
// it, so that the answer is libc's own, with its memory and its errors. Every other name is asked as it is.
#include <netdb.h>

#include "preload/hooks/hosts.h"
#include "preload/interpose.h"

using filibuster::preload::AskedName;

FILIBUSTER_HOOK(int, getaddrinfo,
                (const char* name, const char* service, const addrinfo* hints, addrinfo** found)) {
  const bool numeric = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
  const AskedName asked(numeric ? nullptr : name);
  if (!asked) return REAL(getaddrinfo)(name, service, hints, found);
  addrinfo wanted{};
  if (hints != nullptr) wanted = *hints;
  // A machine may have no address but those of its loopback device, which AI_ADDRCONFIG does not count.
  wanted.ai_flags &= ~(AI_ADDRCONFIG | AI_IDN | AI_CANONIDN);
  wanted.ai_flags |= AI_NUMERICHOST;
  const int result = REAL(getaddrinfo)(asked.address(), service, &wanted, found);
  if (result == 0) asked.write_over((*found)->ai_canonname);
  // A numeric address is of another family than the one that is wanted, a name has no address of it.
  return result == EAI_ADDRFAMILY ? EAI_NODATA : result;
}

FILIBUSTER_HOOK(hostent*, gethostbyname, (const char* name)) {
  const AskedName asked(name);
  if (!asked) return REAL(gethostbyname)(name);
  hostent* const found = REAL(gethostbyname)(asked.address());
  if (found != nullptr) asked.write_over(found->h_name);
  return found;
}

FILIBUSTER_HOOK(hostent*, gethostbyname2, (const char* name, int family)) {
  const AskedName asked(name);
  if (!asked) return REAL(gethostbyname2)(name, family);
  hostent* const found = REAL(gethostbyname2)(asked.address(), family);
  if (found != nullptr) asked.write_over(found->h_name);
  return found;
}

FILIBUSTER_HOOK(int, gethostbyname_r,
                (const char* name, hostent* out, char* buffer, size_t size, hostent** found,
                 int* error)) {
  const AskedName asked(name);
  if (!asked) return REAL(gethostbyname_r)(name, out, buffer, size, found, error);
  const int result = REAL(gethostbyname_r)(asked.address(), out, buffer, size, found, error);
  if (result == 0 && *found != nullptr) asked.write_over((*found)->h_name);
  return result;
}

FILIBUSTER_HOOK(int, gethostbyname2_r,
                (const char* name, int family, hostent* out, char* buffer, size_t size,
                 hostent** found, int* error)) {
  const AskedName asked(name);
  if (!asked) return REAL(gethostbyname2_r)(name, family, out, buffer, size, found, error);
  const int result =
      REAL(gethostbyname2_r)(asked.address(), family, out, buffer, size, found, error);
  if (result == 0 && *found != nullptr) asked.write_over((*found)->h_name);
  return result;
}
