// The part of gRPC's C interface that is followed, as <grpc/grpc.h> lays it out since core 24
// (1.46): metadata carries no flags any more, and what a batch is given is copied when it starts.
// Found by name in the process: nothing of gRPC is linked, no header of it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster::preload::grpc {

inline constexpr unsigned kFirstCore = 24;

struct Call;
struct Channel;
struct Credentials;
struct Queue;
struct Server;
struct CallDetails;
struct ByteBuffer;

struct Timespec {
  int64_t seconds;
  int32_t nanoseconds;
  int32_t clock;
};

struct Slice {
  static constexpr size_t kInlined = 23;
  struct Counted {
    size_t size;
    const uint8_t* bytes;
  };
  struct Inlined {
    uint8_t size;
    uint8_t bytes[kInlined];
  };
  void* references;  // nullptr: the bytes are in the slice itself
  union {
    Counted counted;
    Inlined inlined;
  };
};
static_assert(sizeof(Slice) == 4 * sizeof(void*));

inline std::string_view text_of(const Slice& slice) {
  const bool inlined = slice.references == nullptr;
  return {reinterpret_cast<const char*>(inlined ? slice.inlined.bytes : slice.counted.bytes),
          inlined ? slice.inlined.size : slice.counted.size};
}

struct Metadata {
  Slice key, value;
  void* internal[4];
};
static_assert(sizeof(Metadata) == 12 * sizeof(void*));

struct MetadataArray {
  size_t count, capacity;
  Metadata* elements;
};

inline constexpr int kSendInitialMetadata = 0;  // grpc_op_type
struct MetadataToSend {
  size_t count;
  Metadata* elements;
};
struct Op {
  int type;
  uint32_t flags;
  void* reserved;
  union {
    void* words[8];
    MetadataToSend metadata;
  };
};
static_assert(sizeof(Op) == 10 * sizeof(void*));

inline constexpr int kOpComplete = 2;  // grpc_completion_type
struct Event {
  int type;
  int success;
  void* tag;
};

}  // namespace filibuster::preload::grpc
