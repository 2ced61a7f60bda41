#include "preload/runtimes/jvm/edits.h"

namespace filibuster::preload::jvm {
namespace {

#define JUC "java/util/concurrent/"
#define RUNNABLE "Ljava/lang/Runnable;"
#define CALLABLE "L" JUC "Callable;"
#define EXECUTOR "L" JUC "Executor;"
#define STAGE "L" JUC "CompletionStage;"
#define FUTURE "L" JUC "CompletableFuture;"
#define FORK_JOIN_TASK "L" JUC "ForkJoinTask;"
#define POOL "L" JUC "ThreadPoolExecutor;"
#define TIME_UNIT "L" JUC "TimeUnit;"
#define FUNCTION(kind) "Ljava/util/function/" kind ";"
#define HTTP "jdk/internal/net/http/"

constexpr std::string_view kHelper = JUC "Filibuster";

// The reference argument in local variable `slot` goes through helper `name`.
constexpr Edit argument(Method in, uint8_t slot, std::string_view name,
                        std::string_view descriptor) {
  return {in, Edit::Kind::kArgument, false, slot, {}, {kHelper, name, descriptor}};
}
constexpr Edit enter(Method in, std::string_view name) {
  return {in, Edit::Kind::kEnter, false, 0, {}, {kHelper, name, "()V"}};
}
constexpr Edit enter_with_this(Method in, std::string_view name, std::string_view descriptor) {
  return {in, Edit::Kind::kEnter, true, 0, {}, {kHelper, name, descriptor}};
}
constexpr Edit call(Method in, Method called, std::string_view name, std::string_view descriptor) {
  return {in, Edit::Kind::kCall, false, 0, called, {kHelper, name, descriptor}};
}
constexpr std::string_view kGrpcHelper = JUC "FilibusterGrpc";

constexpr Edit see(Method in, uint8_t slot, std::string_view name) {
  return {in, Edit::Kind::kSee, false, slot, {}, {kGrpcHelper, name, "(Ljava/lang/Object;)V"}};
}
constexpr Edit see_with_this(Method in, uint8_t slot, std::string_view name) {
  return {in,   Edit::Kind::kSee,
          true, slot,
          {},   {kGrpcHelper, name, "(Ljava/lang/Object;Ljava/lang/Object;)V"}};
}
// The first two arguments of a static method.
constexpr Edit see_two(Method in, std::string_view name) {
  return see_with_this(in, 1, name);
}
// A function given to a CompletableFuture.
#define STAGE_OF(method, arguments, slot, type)                                             \
  argument({JUC "CompletableFuture", method, "(" arguments type ")" FUTURE}, slot, "stage", \
           "(" type ")" type)
#define TASK_OF(type_name, method, arguments, slot, type, rest, helper) \
  argument({JUC type_name, method, "(" arguments type rest}, slot, helper, "(" type ")" type)

constexpr Edit kEdits[] = {
    // Futures: whoever completes one runs what depends on it.
    STAGE_OF("uniApplyStage", EXECUTOR, 2, FUNCTION("Function")),
    STAGE_OF("uniAcceptStage", EXECUTOR, 2, FUNCTION("Consumer")),
    STAGE_OF("uniRunStage", EXECUTOR, 2, RUNNABLE),
    STAGE_OF("uniWhenCompleteStage", EXECUTOR, 2, FUNCTION("BiConsumer")),
    STAGE_OF("uniHandleStage", EXECUTOR, 2, FUNCTION("BiFunction")),
    STAGE_OF("uniExceptionallyStage", EXECUTOR, 2, FUNCTION("Function")),
    STAGE_OF("uniComposeStage", EXECUTOR, 2, FUNCTION("Function")),
    STAGE_OF("uniComposeExceptionallyStage", EXECUTOR, 2, FUNCTION("Function")),
    STAGE_OF("biApplyStage", EXECUTOR STAGE, 3, FUNCTION("BiFunction")),
    STAGE_OF("biAcceptStage", EXECUTOR STAGE, 3, FUNCTION("BiConsumer")),
    STAGE_OF("biRunStage", EXECUTOR STAGE, 3, RUNNABLE),
    STAGE_OF("orApplyStage", EXECUTOR STAGE, 3, FUNCTION("Function")),
    STAGE_OF("orAcceptStage", EXECUTOR STAGE, 3, FUNCTION("Consumer")),
    STAGE_OF("orRunStage", EXECUTOR STAGE, 3, RUNNABLE),
    STAGE_OF("asyncSupplyStage", EXECUTOR, 1, FUNCTION("Supplier")),  // static
    STAGE_OF("asyncRunStage", EXECUTOR, 1, RUNNABLE),                 // static

    // Executors: submit() and schedule() make FutureTasks; execute() takes anything.
    TASK_OF("FutureTask", "<init>", "", 1, CALLABLE, ")V", "task"),
    TASK_OF("FutureTask", "<init>", "", 1, RUNNABLE, "Ljava/lang/Object;)V", "task"),
    TASK_OF("ScheduledThreadPoolExecutor", "schedule", "", 1, RUNNABLE,
            "J" TIME_UNIT ")L" JUC "ScheduledFuture;", "scheduled"),
    TASK_OF("ScheduledThreadPoolExecutor", "schedule", "", 1, CALLABLE,
            "J" TIME_UNIT ")L" JUC "ScheduledFuture;", "scheduled"),
    TASK_OF("ScheduledThreadPoolExecutor", "scheduleAtFixedRate", "", 1, RUNNABLE,
            "JJ" TIME_UNIT ")L" JUC "ScheduledFuture;", "scheduled"),
    TASK_OF("ScheduledThreadPoolExecutor", "scheduleWithFixedDelay", "", 1, RUNNABLE,
            "JJ" TIME_UNIT ")L" JUC "ScheduledFuture;", "scheduled"),
    {{JUC "ThreadPoolExecutor", "execute", "(" RUNNABLE ")V"},
     Edit::Kind::kArgument,
     true,
     1,
     {},
     {kHelper, "executed", "(" POOL RUNNABLE ")" RUNNABLE}},
    argument({JUC "ThreadPoolExecutor", "remove", "(" RUNNABLE ")Z"}, 1, "sought",
             "(" RUNNABLE ")" RUNNABLE),
    call({JUC "ThreadPoolExecutor", "runWorker", "(L" JUC "ThreadPoolExecutor$Worker;)V"},
         {JUC "ThreadPoolExecutor", "beforeExecute", "(Ljava/lang/Thread;" RUNNABLE ")V"},
         "beforeExecute", "(" POOL "Ljava/lang/Thread;" RUNNABLE ")V"),
    call({JUC "ThreadPoolExecutor", "runWorker", "(L" JUC "ThreadPoolExecutor$Worker;)V"},
         {"java/lang/Runnable", "run", "()V"}, "run", "(" RUNNABLE ")V"),
    call({JUC "ThreadPoolExecutor", "runWorker", "(L" JUC "ThreadPoolExecutor$Worker;)V"},
         {JUC "ThreadPoolExecutor", "afterExecute", "(" RUNNABLE "Ljava/lang/Throwable;)V"},
         "afterExecute", "(" POOL RUNNABLE "Ljava/lang/Throwable;)V"),
    call({JUC "ThreadPoolExecutor", "reject", "(" RUNNABLE ")V"},
         {JUC "RejectedExecutionHandler", "rejectedExecution", "(" RUNNABLE POOL ")V"},
         "rejectedExecution", "(L" JUC "RejectedExecutionHandler;" RUNNABLE POOL ")V"),

    // Fork and join.
    TASK_OF("ForkJoinTask$AdaptedRunnable", "<init>", "", 1, RUNNABLE, "Ljava/lang/Object;)V",
            "task"),
    TASK_OF("ForkJoinTask$AdaptedRunnableAction", "<init>", "", 1, RUNNABLE, ")V", "task"),
    TASK_OF("ForkJoinTask$RunnableExecuteAction", "<init>", "", 1, RUNNABLE, ")V", "task"),
    TASK_OF("ForkJoinTask$AdaptedCallable", "<init>", "", 1, CALLABLE, ")V", "task"),
    TASK_OF("ForkJoinTask$AdaptedInterruptibleCallable", "<init>", "", 1, CALLABLE, ")V", "task"),
    TASK_OF("ForkJoinPool", "execute", "", 1, FORK_JOIN_TASK, ")V", "submitted"),
    TASK_OF("ForkJoinPool", "submit", "", 1, FORK_JOIN_TASK, ")" FORK_JOIN_TASK, "submitted"),
    TASK_OF("ForkJoinPool", "invoke", "", 1, FORK_JOIN_TASK, ")Ljava/lang/Object;", "submitted"),
    enter_with_this({JUC "ForkJoinTask", "fork", "()" FORK_JOIN_TASK}, "forking",
                    "(" FORK_JOIN_TASK ")V"),
    call({JUC "ForkJoinTask", "doExec", "()I"}, {JUC "ForkJoinTask", "exec", "()Z"}, "exec",
         "(" FORK_JOIN_TASK ")Z"),
    call({JUC "ForkJoinPool$WorkQueue", "topLevelExec",
          "(" FORK_JOIN_TASK "L" JUC "ForkJoinPool$WorkQueue;)V"},
         {JUC "ForkJoinTask", "doExec", "()I"}, "begin", "(" FORK_JOIN_TASK ")I"),

    // Threads and timers of the program's own.
    enter_with_this({"java/lang/Thread", "start", "()V"}, "starting", "(Ljava/lang/Thread;)V"),
    argument({"java/util/Timer", "sched", "(Ljava/util/TimerTask;JJ)V"}, 1, "timed",
             "(Ljava/util/TimerTask;)Ljava/util/TimerTask;"),
    call({"java/util/TimerThread", "mainLoop", "()V"}, {"java/util/TimerTask", "run", "()V"}, "run",
         "(Ljava/util/TimerTask;)V"),

    // A thread that takes work from a queue, or waits for many connections, goes on for others.
    enter({JUC "LinkedBlockingQueue", "take", "()Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "LinkedBlockingQueue", "poll", "(J" TIME_UNIT ")Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "ArrayBlockingQueue", "take", "()Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "ArrayBlockingQueue", "poll", "(J" TIME_UNIT ")Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "LinkedBlockingDeque", "takeFirst", "()Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "LinkedBlockingDeque", "takeLast", "()Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "LinkedBlockingDeque", "pollFirst", "(J" TIME_UNIT ")Ljava/lang/Object;"},
          "serveOthers"),
    enter({JUC "LinkedBlockingDeque", "pollLast", "(J" TIME_UNIT ")Ljava/lang/Object;"},
          "serveOthers"),
    enter({JUC "PriorityBlockingQueue", "take", "()Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "PriorityBlockingQueue", "poll", "(J" TIME_UNIT ")Ljava/lang/Object;"},
          "serveOthers"),
    enter({JUC "SynchronousQueue", "take", "()Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "SynchronousQueue", "poll", "(J" TIME_UNIT ")Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "LinkedTransferQueue", "take", "()Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "LinkedTransferQueue", "poll", "(J" TIME_UNIT ")Ljava/lang/Object;"}, "serveOthers"),
    enter({JUC "DelayQueue", "take", "()L" JUC "Delayed;"}, "serveOthers"),
    enter({JUC "DelayQueue", "poll", "(J" TIME_UNIT ")L" JUC "Delayed;"}, "serveOthers"),
    enter({"sun/nio/ch/EPollSelectorImpl", "doSelect", "(Ljava/util/function/Consumer;J)I"},
          "serveOthers"),

    // The JDK's HTTP server and its asynchronous client.
    enter({"sun/net/httpserver/ServerImpl$Exchange", "run", "()V"}, "serveExchange"),
    {{HTTP "HttpClientImpl", "sendAsync",
      "(Ljava/net/http/HttpRequest;Ljava/net/http/HttpResponse$BodyHandler;"
      "Ljava/net/http/HttpResponse$PushPromiseHandler;" EXECUTOR ")" FUTURE},
     Edit::Kind::kArgument,
     true,
     1,
     {},
     {HTTP "FilibusterRequest", "with",
      "(L" HTTP "HttpClientImpl;Ljava/net/http/HttpRequest;)Ljava/net/http/HttpRequest;"}},
    call({HTTP "ResponseSubscribers$HttpResponseInputStream", "current", "()Ljava/nio/ByteBuffer;"},
         {JUC "BlockingQueue", "take", "()Ljava/lang/Object;"}, "take",
         "(L" JUC "BlockingQueue;)Ljava/lang/Object;"),
};

#define SSL "sun/security/ssl/"
#define BUFFER "Ljava/nio/ByteBuffer;"
#define BUFFERS "[" BUFFER "II[" BUFFER "II)Ljavax/net/ssl/SSLEngineResult;"

constexpr std::string_view kEngineHelper = SSL "FilibusterEngine";
constexpr std::string_view kSocketHelper = SSL "FilibusterSocket";

// What an engine does with a record, in its method `in`.
constexpr Edit of_engine(std::string_view in, std::string_view called) {
  return {{SSL "SSLEngineImpl", in, "(" BUFFERS},
          Edit::Kind::kCall,
          false,
          0,
          {SSL "SSLEngineImpl", called, "(" BUFFERS},
          {kEngineHelper, in, "(L" SSL "SSLEngineImpl;" BUFFERS}};
}

constexpr Edit kTlsEdits[] = {
    of_engine("wrap", "writeRecord"),
    of_engine("unwrap", "readRecord"),
    {{SSL "SSLSocketImpl", "decode", "(" BUFFER ")L" SSL "Plaintext;"},
     Edit::Kind::kEnter,
     true,
     0,
     {},
     {kSocketHelper, "handshaking", "(L" SSL "SSLSocketImpl;)V"}},
    {{SSL "SSLSocketImpl$AppInputStream", "read", "([BII)I"},
     Edit::Kind::kCall,
     false,
     0,
     {SSL "SSLSocketImpl", "readApplicationRecord", "(" BUFFER ")" BUFFER},
     {kSocketHelper, "read", "(L" SSL "SSLSocketImpl;" BUFFER ")" BUFFER}},
    {{SSL "SSLSocketImpl$AppOutputStream", "write", "([BII)V"},
     Edit::Kind::kCall,
     false,
     0,
     {SSL "OutputRecord", "deliver", "([BII)V"},
     {kSocketHelper, "deliver", "(L" SSL "OutputRecord;[BII)V"}},
};

#define UTIL "java/util/"
#define RANDOM UTIL "Random"
#define SPLITTABLE UTIL "SplittableRandom"
#define THREAD_RANDOM JUC "ThreadLocalRandom"
#define SECURE "java/security/SecureRandom"

// Whatever a Random gives comes of next(int), also in its subclasses.
constexpr Edit of_random(std::string_view name, std::string_view descriptor) {
  return {{RANDOM, name, descriptor},
          Edit::Kind::kCall,
          false,
          0,
          {RANDOM, "next", "(I)I"},
          {UTIL "FilibusterRandom", "next", "(L" RANDOM ";I)I"}};
}
constexpr Edit of_seed(std::string_view type, std::string_view name, std::string_view descriptor,
                       std::string_view helper, std::string_view helper_descriptor) {
  return {
      {type, name, descriptor},           Edit::Kind::kCall, false, 0, {type, "nextSeed", "()J"},
      {helper, "seed", helper_descriptor}};
}
#define OF_SPLITTABLE(name, descriptor) \
  of_seed(SPLITTABLE, name, descriptor, UTIL "FilibusterRandom", "(L" SPLITTABLE ";)J")
#define OF_THREAD(name, descriptor) \
  of_seed(THREAD_RANDOM, name, descriptor, JUC "FilibusterThreadRandom", "(L" THREAD_RANDOM ";)J")
#define OF_SECURE(arguments)                                                                 \
  Edit {                                                                                     \
    {SECURE, "nextBytes", "(" arguments ")V"}, Edit::Kind::kCall, false, 0,                  \
        {SECURE "Spi", "engineNextBytes", "(" arguments ")V"}, {                             \
      "java/security/FilibusterSecureRandom", "nextBytes", "(L" SECURE "Spi;" arguments ")V" \
    }                                                                                        \
  }

constexpr Edit kDrawEdits[] = {
    of_random("nextInt", "()I"),
    of_random("nextInt", "(I)I"),
    of_random("nextLong", "()J"),
    of_random("nextBoolean", "()Z"),
    of_random("nextFloat", "()F"),
    of_random("nextDouble", "()D"),
    OF_SPLITTABLE("nextInt", "()I"),
    OF_SPLITTABLE("nextLong", "()J"),
    OF_THREAD("nextInt", "()I"),
    OF_THREAD("nextLong", "()J"),
    OF_SECURE("[B"),
    OF_SECURE("[BL" SECURE "Parameters;"),
};

#define GRPC "io/grpc/internal/"
#define METADATA "Lio/grpc/Metadata;"
#define SHADED "io/grpc/netty/shaded/"
#define JETTY "org/eclipse/jetty/"
#define TOMCAT "org/apache/tomcat/util/"

constexpr std::string_view kServerHelper = JUC "FilibusterServer";

// The call of the receiver's own method `called` goes through the helper of the same name.
constexpr Edit serve_call(Method in, Method called) {
  return {in,     Edit::Kind::kCall,
          false,  0,
          called, {kServerHelper, called.name, "(Ljava/lang/Object;)V"}};
}
constexpr Edit given(std::string_view pool) {
  return {{pool, "execute", "(" RUNNABLE ")V"},
          Edit::Kind::kArgument,
          false,
          1,
          {},
          {kServerHelper, "given", "(" RUNNABLE ")" RUNNABLE}};
}

constexpr std::string_view kNetty = "io/grpc/netty/Utils";
constexpr std::string_view kShadedNetty = SHADED "io/grpc/netty/Utils";

// Read from grpc-java 1.41, Jetty 9.4 and Tomcat 9.0. What differs between versions is left open ('*').
constexpr Edit kLibraryEdits[] = {
    // Calls that are made: at once, or when their channel is ready.
    see_with_this({GRPC "ClientCallImpl", "start", "(Lio/grpc/ClientCall$Listener;" METADATA ")V"},
                  2, "start"),
    see({GRPC "DelayedClientCall", "start", "(Lio/grpc/ClientCall$Listener;" METADATA ")V"}, 2,
        "delayed"),
    see_two({kNetty, "convertClientHeaders", "(" METADATA "Lio/netty/util/AsciiString;*"},
            "leaving"),
    see_two({kShadedNetty, "convertClientHeaders",
             "(" METADATA "L" SHADED "io/netty/util/AsciiString;*"},
            "leaving"),
    {{"io/grpc/SynchronizationContext", "drain", "()V"},
     Edit::Kind::kCall,
     false,
     0,
     {"java/lang/Runnable", "run", "()V"},
     {kGrpcHelper, "internal", "(" RUNNABLE ")V"}},
    // Answers wait in a queue for the thread that made the call. It takes nobody else's work from there.
    call({"io/grpc/stub/ClientCalls$BlockingResponseStream", "waitForNext", "()Ljava/lang/Object;"},
         {JUC "BlockingQueue", "take", "()Ljava/lang/Object;"}, "take",
         "(L" JUC "BlockingQueue;)Ljava/lang/Object;"),

    // Calls that come in.
    see({GRPC "ServerImpl$ServerTransportListenerImpl", "streamCreated",
         "(L" GRPC "ServerStream;Ljava/lang/String;" METADATA ")V"},
        3, "received"),
    see({GRPC "ServerImpl$JumpToApplicationThreadServerStreamListener", "<init>",
         "(" EXECUTOR EXECUTOR "L" GRPC "ServerStream;Lio/grpc/Context$CancellableContext;*"},
        4, "serving"),
    {{GRPC "ContextRunnable", "run", "()V"},
     Edit::Kind::kCall,
     false,
     0,
     {GRPC "ContextRunnable", "runInContext", "()V"},
     {kGrpcHelper, "run", "(Ljava/lang/Object;)V"}},

    // Servers of servlets.
    serve_call({JETTY "io/AbstractConnection$ReadCallback", "succeeded", "()V"},
               {JETTY "io/AbstractConnection", "onFillable", "()V"}),
    serve_call({JETTY "server/HttpConnection", "run", "()V"},
               {JETTY "server/HttpConnection", "onFillable", "()V"}),
    given(JETTY "util/thread/QueuedThreadPool"),
    serve_call({TOMCAT "net/SocketProcessorBase", "run", "()V"},
               {TOMCAT "net/SocketProcessorBase", "doRun", "()V"}),
    given(TOMCAT "threads/ThreadPoolExecutor"),
};

}  // namespace

std::span<const Edit> edit_table() {
  return kEdits;
}

std::span<const Edit> tls_edits() {
  return kTlsEdits;
}

std::span<const Edit> draw_edits() {
  return kDrawEdits;
}

std::span<const Edit> library_edits() {
  return kLibraryEdits;
}

bool is_transport(const Method& method) {
  return method.type == kNetty || method.type == kShadedNetty;
}

std::span<const Edit> edits_of(std::span<const Edit> table, std::string_view type) {
  size_t first = 0;
  while (first < table.size() && table[first].in.type != type) ++first;
  size_t end = first;
  while (end < table.size() && table[end].in.type == type) ++end;
  return table.subspan(first, end - first);
}

}  // namespace filibuster::preload::jvm
