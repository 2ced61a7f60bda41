// A gRPC service of the matrix in C++: matrix SERVER CLIENT PORT BACK
//
// Answers @PATH@ with itself, after calls of BACK with @PATH/0@, of itself with @PATH/self@ (whose
// own call is @PATH/self/0@), of BACK with @PATH/1@, all on one channel each. A thread calls BACK
// with
// @/background/<number>@ every 5 ms. SERVER: sync, callback (a thread for each request), async
// (threads that take events of one queue and work in line). CLIENT: blocking; queue (asynchronous,
// waited for in the handler on a queue of its own); chained (SERVER async: each completion comes
// through the server's queue, and goes on with the next call). All is over TLS if the environment says so
// (credentials.h).
#include <grpc/byte_buffer.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/codegen/method_handler.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/programs/http2/credentials.h"

namespace {

using grpc::ByteBuffer;
using grpc::internal::RpcMethod;

constexpr const char* kMethod = "/matrix.Web/Get";
constexpr int kThreads = 32;  // every request holds one while it calls itself

ByteBuffer buffer_of(const std::string& text) {
  const grpc::Slice slice(text);
  return ByteBuffer(&slice, 1);
}

std::string text_of(const ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  buffer.Dump(&slices).ok();
  std::string text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

struct Peers {
  std::shared_ptr<grpc::Channel> back, own;
};

struct Step {
  std::shared_ptr<grpc::Channel> channel;
  std::string message;
};
std::vector<Step> steps_of(const Peers& peers, const std::string& message) {
  const std::string path = message.substr(1, message.size() - 2);
  if (path.ends_with("/self")) return {{peers.back, "@" + path + "/0@"}};
  return {{peers.back, "@" + path + "/0@"},
          {peers.own, "@" + path + "/self@"},
          {peers.back, "@" + path + "/1@"}};
}

// --- clients -----------------------------------------------------------------------------------

void by_blocking(const Step& step) {
  grpc::ClientContext context;
  ByteBuffer answer;
  const RpcMethod method(kMethod, RpcMethod::NORMAL_RPC);
  grpc::internal::BlockingUnaryCallImpl<ByteBuffer, ByteBuffer>(
      step.channel.get(), method, &context, buffer_of(step.message), &answer);
}

using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<ByteBuffer>>;
Reader start(const Step& step, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
  Reader reader = grpc::GenericStub(step.channel)
                      .PrepareUnaryCall(context, kMethod, buffer_of(step.message), queue);
  reader->StartCall();
  return reader;
}

void by_queue(const Step& step) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  Reader reader = start(step, &context, &queue);
  ByteBuffer answer;
  grpc::Status status;
  reader->Finish(&answer, &status, &queue);
  void* tag = nullptr;
  bool good = false;
  queue.Next(&tag, &good);
}

using Client = void (*)(const Step&);

void beat(const Peers& peers) {
  for (int number = 0;; ++number) {
    by_blocking({peers.back, "@/background/" + std::to_string(number) + "@"});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// --- the synchronous server --------------------------------------------------------------------

class SyncWeb : public grpc::Service {
 public:
  SyncWeb(const Peers& peers, Client client) {
    const auto answer = [peers, client](SyncWeb*, grpc::ServerContext*, const ByteBuffer* request,
                                        ByteBuffer* response) {
      for (const Step& step : steps_of(peers, text_of(*request))) client(step);
      *response = *request;
      return grpc::Status::OK;
    };
    AddMethod(new grpc::internal::RpcServiceMethod(
        kMethod, RpcMethod::NORMAL_RPC,
        new grpc::internal::RpcMethodHandler<SyncWeb, ByteBuffer, ByteBuffer>(answer, this)));
  }
};

// --- the callback server -----------------------------------------------------------------------

class CallbackWeb : public grpc::Service {
 public:
  CallbackWeb(const Peers& peers, Client client) {
    AddMethod(new grpc::internal::RpcServiceMethod(kMethod, RpcMethod::NORMAL_RPC, nullptr));
    const auto answer = [peers, client](grpc::CallbackServerContext* context,
                                        const ByteBuffer* request, ByteBuffer* response) {
      grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
      std::thread([=] {
        for (const Step& step : steps_of(peers, text_of(*request))) client(step);
        *response = *request;
        reactor->Finish(grpc::Status::OK);
      }).detach();
      return reactor;
    };
    MarkMethodCallback(0, new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(answer));
  }
};

// --- the asynchronous server -------------------------------------------------------------------

class AsyncWeb : public grpc::Service {
 public:
  AsyncWeb() {
    AddMethod(new grpc::internal::RpcServiceMethod(kMethod, RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodAsync(0);
  }
  void request(grpc::ServerContext* context, ByteBuffer* message,
               grpc::ServerAsyncResponseWriter<ByteBuffer>* writer,
               grpc::ServerCompletionQueue* queue, void* tag) {
    RequestAsyncUnary(0, context, message, writer, queue, queue, tag);
  }
};

// One request from its arrival to its answer; every event of it comes with its address.
class Conversation {
 public:
  Conversation(AsyncWeb* web, grpc::ServerCompletionQueue* queue, const Peers& peers, Client client)
      : web_(web), queue_(queue), peers_(peers), client_(client), writer_(&context_) {
    web_->request(&context_, &request_, &writer_, queue_, this);
  }
  void go_on() {
    if (!arrived_) {
      arrived_ = true;
      new Conversation(web_, queue_, peers_, client_);
      steps_ = steps_of(peers_, text_of(request_));
      if (client_ != nullptr) {
        for (const Step& step : steps_) client_(step);
        steps_.clear();
      }
    }
    if (answered_) {
      delete this;
    } else if (next_ < steps_.size()) {
      calling_ = std::make_unique<grpc::ClientContext>();
      reader_ = start(steps_[next_++], calling_.get(), queue_);
      reader_->Finish(&answer_, &status_, this);
    } else {
      answered_ = true;
      writer_.Finish(request_, grpc::Status::OK, this);
    }
  }

 private:
  AsyncWeb* web_;
  grpc::ServerCompletionQueue* queue_;
  const Peers& peers_;
  Client client_;  // nullptr: chained
  grpc::ServerContext context_;
  ByteBuffer request_, answer_;
  grpc::ServerAsyncResponseWriter<ByteBuffer> writer_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientContext> calling_;
  Reader reader_;
  std::vector<Step> steps_;
  size_t next_ = 0;
  bool arrived_ = false, answered_ = false;
};

void take_events(grpc::ServerCompletionQueue* queue) {
  void* tag = nullptr;
  bool good = false;
  while (queue->Next(&tag, &good)) {
    if (good) static_cast<Conversation*>(tag)->go_on();
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const std::string server = arguments[1], client = arguments[2], port = arguments[3];
  const Peers peers{grpc::CreateChannel(arguments[4], channel_credentials()),
                    grpc::CreateChannel("localhost:" + port, channel_credentials())};
  const Client call = client == "blocking" ? by_blocking : client == "queue" ? by_queue : nullptr;

  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + port, server_credentials());
  std::unique_ptr<grpc::Service> web;
  AsyncWeb async;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  if (server == "sync") {
    web = std::make_unique<SyncWeb>(peers, call);
    builder.RegisterService(web.get());
  } else if (server == "callback") {
    web = std::make_unique<CallbackWeb>(peers, call);
    builder.RegisterService(web.get());
  } else {
    builder.RegisterService(&async);
    queue = builder.AddCompletionQueue();
  }
  const std::unique_ptr<grpc::Server> running = builder.BuildAndStart();
  if (running == nullptr) return 1;
  std::thread(beat, std::cref(peers)).detach();
  if (queue != nullptr) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      new Conversation(&async, queue.get(), peers, call);
      threads.emplace_back(take_events, queue.get());
    }
    for (std::thread& thread : threads) thread.join();
  }
  running->Wait();
}
