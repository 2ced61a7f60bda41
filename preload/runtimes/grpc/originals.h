// gRPC's own functions, as the caller of a hook would have reached them without us (library_originals.h).
#pragma once

#include <cstdint>

namespace filibuster::preload::grpc {

enum class Function : uint8_t {
  kVersionString,
  kCallStartBatch,
  kCallUnref,
  kCallArenaAlloc,
  kChannelCreate,
  kChannelDestroy,
  kChannelCreateCall,
  kChannelCreateRegisteredCall,
  kInsecureCredentialsCreate,
  kSslCredentialsCreate,
  kSslCredentialsCreateEx,
  kTlsCredentialsCreate,
  kCompositeCredentialsCreate,
  kChannelCredentialsRelease,
  kQueueNext,
  kQueuePluck,
  kServerRequestCall,
  kServerRequestRegisteredCall,
  kMetadataArrayInit,
  kMetadataArrayDestroy,
  kSliceFromCopiedBuffer,
  kSliceUnref,
  kCount,
};

// The function for code at `caller`; nullptr: no object in the caller's reach has it.
void* find_original(Function function, const void* caller);
// May the memory of the caller's copy of gRPC be read as abi.h says? If not, the report says so.
bool understood(const void* caller);

template <typename F>
F original(Function function, const void* caller) {
  return reinterpret_cast<F>(find_original(function, caller));
}

}  // namespace filibuster::preload::grpc
