#include "preload/rpc/fields.h"

#include <cstring>
#include <new>

#include "core/index/execution_index.h"
#include "core/index/message_walker.h"
#include "preload/os/pool.h"
#include "preload/rpc/plan.h"
#include "preload/session/state.h"

namespace filibuster::preload {

// Leaves of one body, as they go into RpcFields.
struct LeafBuffer final : LeafSink {
  static constexpr size_t kSize = 24 * 1024;  // about 500 leaves; fits into a Scratch

  void leaf(std::string_view path, uint64_t value) override {
    const auto length = static_cast<uint16_t>(path.size());  // at most kMaxFieldPath
    if (sizeof value + sizeof length + path.size() > kSize - size) {
      whole = false;
      return;
    }
    std::memcpy(bytes + size, &value, sizeof value);
    std::memcpy(bytes + size + sizeof value, &length, sizeof length);
    std::memcpy(bytes + size + sizeof value + sizeof length, path.data(), path.size());
    size += sizeof value + sizeof length + path.size();
  }

  bool whole = true;
  size_t size = 0;
  char bytes[kSize];
};

struct RequestFields {
  struct Body {
    BodyWalker walker;
    MessageWalker* messages = nullptr;  // reads the body of a gRPC call, in place of `walker`
    // What is read is another form of the body: its digest is not the body's.
    bool transcribed = false;
    BodyWalker::Outcome outcome;
    Hash128 plain;
    uint64_t size = 0;
    bool complete = false;
    LeafBuffer* leaves = nullptr;
  };
  Hash128 signature, query;
  bool stack_masked = false;
  Body request, response;
};

namespace {

Pool<RequestFields, 8, 2048> g_fields;
Pool<LeafBuffer, 2, 1024> g_leaves;
Pool<MessageWalker, 2, 1024> g_message_walkers;

// The request would get another index than in the other executions: nothing is concluded.
void lost(Attachment* a, std::string_view why) {
  report_note(why);
  a->lane->lost(Incomplete::kFields);
}

LeafBuffer* make_leaves() {
  LeafBuffer* memory = g_leaves.take();
  return memory == nullptr ? nullptr : new (memory) LeafBuffer;
}

// False: there is no memory for it.
bool read_messages(RequestFields::Body* body, const RequestMasks* masks, MaskPlace place) {
  MessageWalker* memory = g_message_walkers.take();
  if (memory == nullptr) return false;
  body->messages = new (memory) MessageWalker;
  body->messages->begin(masks, place, body->leaves);
  return true;
}

void take_piece(RequestFields::Body* body, const char* data, size_t size) {
  if (body->messages != nullptr) {
    body->messages->feed(data, size);
  } else {
    body->walker.feed(data, size);
  }
}

void unseen(RequestFields::Body* body) {
  if (body->messages != nullptr) body->messages->skip();
  body->walker.skip();
}

Hash128 whole(RequestFields::Body* body, Hash128 plain, uint64_t size) {
  const bool messages = body->messages != nullptr;
  body->outcome = messages ? body->messages->finish() : body->walker.finish();
  body->plain = plain;
  body->size = size;
  body->complete = true;
  if (messages || body->transcribed) return body->outcome.masked ? body->outcome.digest : plain;
  return body->outcome.form == BodyForm::kOther ? plain : body->outcome.digest;
}

void report(uint64_t rpc, uint64_t generation, uint32_t execution, const RequestFields::Body& body,
            bool response) {
  if (body.leaves == nullptr || !body.complete) return;
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || !a->issued(rpc, generation)) return;
  RpcFields event;
  event.rpc = rpc;
  event.response = response ? 1 : 0;
  event.form = static_cast<uint8_t>(body.outcome.form);
  event.whole = body.outcome.leaves_whole && body.leaves->whole ? 1 : 0;
  event.size = body.size;
  event.plain = body.plain;
  event.leaves = {body.leaves->bytes, body.leaves->size};
  Scratch scratch(Scratch::Patience::kBounded);
  const size_t size = scratch ? encode(event, scratch.data(), Scratch::kSize) : 0;
  if (size != 0) {
    write_event(a, EventType::kRpcFields, execution, now_ns(), scratch.data(), size);
    return;
  }
  event.leaves = {};
  event.whole = 0;
  emit(a, EventType::kRpcFields, execution, now_ns(), event);
}

}  // namespace

RequestFields* begin_fields(std::string_view caller, std::string_view service,
                            const RequestHead& head) {
  Attachment* a = attach();
  if (a == nullptr) return nullptr;
  const uint32_t options = a->lane->field_options.load(std::memory_order_acquire);
  if (options == 0) return nullptr;
  uint32_t execution = 0;
  uint64_t now = 0;
  a = attach_executing(&execution, &now);
  if (a == nullptr) return nullptr;

  Scratch scratch(Scratch::Patience::kBounded);
  if (!scratch) {
    lost(a, "no buffer was left to read the fields of a request");
    return nullptr;
  }
  auto* masks = new (scratch.data()) RequestMasks;
  if ((options & kFieldsMasked) != 0 &&
      !find_masks(
          a->lane,
          {caller, service, head.method, request_path(head.method, head.target), head.is_grpc()},
          masks)) {
    lost(a, "the masks could not be read");
    return nullptr;
  }
  if (masks->too_many) lost(a, "more fields of a request are masked than one request may have");
  const bool reported = (options & kFieldsReported) != 0;
  if (!reported && !masks->any()) return nullptr;

  RequestFields* memory = g_fields.take();
  if (memory == nullptr) {
    lost(a, "the table of requests whose fields are read is full");
    return nullptr;
  }
  auto* fields = new (memory) RequestFields;
  fields->signature = http_signature_hash(service, head.method, head.target, masks->path_segments);
  fields->stack_masked = masks->stack;
  const std::string_view query = split_target(head.target).query;
  if (masks->has(MaskPlace::kQuery)) {
    BodyWalker& walker = fields->request.walker;
    walker.begin_query(masks, nullptr);
    walker.feed(query);
    fields->query = walker.finish().digest;
  } else {
    fields->query = hash_text(query);
  }
  if (reported) {
    fields->request.leaves = make_leaves();
    fields->response.leaves = make_leaves();
  }
  fields->request.transcribed = head.protocol == Protocol::kRedis;
  fields->request.walker.begin_request(masks, fields->request.leaves);
  fields->response.walker.begin_response(masks, fields->response.leaves);
  if (head.is_grpc() && (!read_messages(&fields->request, masks, MaskPlace::kMessage) ||
                         !read_messages(&fields->response, masks, MaskPlace::kResponse))) {
    lost(a, "the table of gRPC calls whose fields are read is full");
    end_fields(fields);
    return nullptr;
  }
  return fields;
}

Hash128 masked_signature(const RequestFields& fields) {
  return fields.signature;
}
Hash128 masked_query(const RequestFields& fields) {
  return fields.query;
}
bool stack_is_masked(const RequestFields& fields) {
  return fields.stack_masked;
}

void request_piece(RequestFields* fields, const char* data, size_t size) {
  take_piece(&fields->request, data, size);
}
void response_piece(RequestFields* fields, const char* data, size_t size) {
  take_piece(&fields->response, data, size);
}
void request_unseen(RequestFields* fields) {
  unseen(&fields->request);
}
void response_unseen(RequestFields* fields) {
  unseen(&fields->response);
}

Hash128 request_whole(RequestFields* fields, Hash128 plain, uint64_t size) {
  return whole(&fields->request, plain, size);
}
Hash128 response_whole(RequestFields* fields, Hash128 plain, uint64_t size) {
  return whole(&fields->response, plain, size);
}

void report_request_fields(uint64_t rpc, uint64_t generation, uint32_t execution,
                           const RequestFields& fields) {
  report(rpc, generation, execution, fields.request, false);
}
void report_response_fields(uint64_t rpc, uint64_t generation, uint32_t execution,
                            const RequestFields& fields) {
  report(rpc, generation, execution, fields.response, true);
}

void end_fields(RequestFields* fields) {
  if (fields == nullptr) return;
  for (LeafBuffer* leaves : {fields->request.leaves, fields->response.leaves}) {
    if (leaves != nullptr) g_leaves.give(leaves);
  }
  for (MessageWalker* messages : {fields->request.messages, fields->response.messages}) {
    if (messages != nullptr) g_message_walkers.give(messages);
  }
  g_fields.give(fields);
}

}  // namespace filibuster::preload
