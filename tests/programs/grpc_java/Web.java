import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;

/**
 * "@/KIND/ID@" is answered with itself, after calls of BACK with @/KIND/ID/0@, of itself with @/KIND/ID/self@ (whose own
 * call is @/KIND/ID/self/0@), of BACK with @/KIND/ID/1@. With BEAT in the environment a background caller calls BACK with
 * @/background/NUMBER@ every 5 ms.
 */
final class Web {
    private final Channel back, own;
    private final String pages;
    private final ExecutorService pool = Executors.newCachedThreadPool();
    private final LinkedBlockingQueue<Runnable> handed = new LinkedBlockingQueue<>();

    Web(Channel back, Channel own, String pages) {
        this.back = back;
        this.own = own;
        this.pages = pages;
        Thread worker = new Thread(() -> {
            while (true) {
                try {
                    handed.take().run();
                } catch (InterruptedException problem) {
                    return;
                }
            }
        });
        worker.setDaemon(true);
        worker.start();
    }

    /** One call: of BACK or of itself, with a message. */
    private static final class Step {
        final boolean self;
        final String message;

        Step(boolean self, String message) {
            this.self = self;
            this.message = message;
        }
    }

    private static List<Step> steps(String message) {
        String path = message.replace("@", "");
        Step first = new Step(false, "@" + path + "/0@");
        if (path.endsWith("/self")) return List.of(first);
        return List.of(first, new Step(true, "@" + path + "/self@"), new Step(false, "@" + path + "/1@"));
    }

    void answer(String message, StreamObserver<String> answer) {
        String kind = message.split("/")[1].replaceFirst("^(inline|front)_", "");
        switch (kind) {
            case "chained": // by the pool of the channel
                chain(message, steps(message).iterator(), CallOptions.DEFAULT, answer);
                break;
            case "direct": // by the channel's event loop
                chain(message, steps(message).iterator(), CallOptions.DEFAULT.withExecutor(Runnable::run), answer);
                break;
            case "stages":
                stages(message, answer);
                break;
            case "pool":
                pool.submit(() -> serve("blocking", message, answer));
                break;
            case "handed": // by means of the program's own: nothing tells whose work it is
                handed.add(() -> chain(message, steps(message).iterator(), CallOptions.DEFAULT, answer));
                break;
            case "forwarded": // as before; the field of the call that came in tells
                String field = Gateway.CAME_IN.get();
                handed.add(() -> forward(field, message, steps(message).iterator(), answer));
                break;
            default:
                serve(kind, message, answer);
        }
    }

    private void serve(String kind, String message, StreamObserver<String> answer) {
        try {
            for (Step step : steps(message)) {
                String given = call(kind, step);
                if (!given.equals(step.message)) throw new IllegalStateException(given);
            }
            answer.onNext(message);
            answer.onCompleted();
        } catch (Exception problem) {
            answer.onError(problem);
        }
    }

    private String call(String kind, Step step) throws Exception {
        Channel channel = step.self ? own : back;
        switch (kind) {
            case "future":
                return ClientCalls.futureUnaryCall(channel.newCall(Gateway.GET, CallOptions.DEFAULT), step.message).get(); // site future
            case "async": {
                Waiting waiting = new Waiting();
                ClientCalls.asyncUnaryCall(channel.newCall(Gateway.GET, CallOptions.DEFAULT), step.message, waiting); // site async
                return waiting.answer.get();
            }
            case "stream": {
                if (step.self) break;
                Iterator<String> answers = ClientCalls.blockingServerStreamingCall(channel, Gateway.LIST, CallOptions.DEFAULT, step.message); // site stream
                return answers.next();
            }
            case "iterator": {
                if (step.self) break;
                // The answers wait in a queue of the JDK.
                Iterator<String> answers = ClientCalls.blockingServerStreamingCall(channel.newCall(Gateway.LIST, CallOptions.DEFAULT), step.message); // site iterator
                return answers.next();
            }
            case "talk": {
                if (step.self) break;
                Waiting waiting = new Waiting();
                StreamObserver<String> said = ClientCalls.asyncBidiStreamingCall(channel.newCall(Gateway.TALK, CallOptions.DEFAULT), waiting); // site talk
                said.onNext(step.message);
                said.onCompleted();
                return waiting.answer.get();
            }
            case "http": {
                if (step.self) break;
                HttpURLConnection page = (HttpURLConnection) new URL("http://" + pages + step.message.replace("@", "")).openConnection();
                page.getInputStream().readAllBytes(); // site http
                return step.message;
            }
            default:
        }
        return ClientCalls.blockingUnaryCall(channel, Gateway.GET, CallOptions.DEFAULT, step.message); // site blocking
    }

    private static final class Waiting implements StreamObserver<String> {
        final CompletableFuture<String> answer = new CompletableFuture<>();

        public void onNext(String message) {
            answer.complete(message);
        }

        public void onError(Throwable problem) {
            answer.completeExceptionally(problem);
        }

        public void onCompleted() {}
    }

    /** Each call is made by the callback of the one before. */
    private void chain(String message, Iterator<Step> rest, CallOptions options, StreamObserver<String> answer) {
        chain(back, own, message, rest, options, answer);
    }

    private static void chain(Channel back, Channel own, String message, Iterator<Step> rest, CallOptions options,
                              StreamObserver<String> answer) {
        if (!rest.hasNext()) {
            answer.onNext(message);
            answer.onCompleted();
            return;
        }
        Step step = rest.next();
        ClientCalls.asyncUnaryCall((step.self ? own : back).newCall(Gateway.GET, options), step.message, // site chained
            new StreamObserver<String>() {
                public void onNext(String given) {}

                public void onError(Throwable problem) {
                    answer.onError(problem);
                }

                public void onCompleted() {
                    chain(back, own, message, rest, options, answer);
                }
            });
    }

    private void forward(String field, String message, Iterator<Step> rest, StreamObserver<String> answer) {
        Metadata fields = new Metadata();
        if (field != null) fields.put(Gateway.FIELD, field);
        ClientInterceptor forwarding = MetadataUtils.newAttachHeadersInterceptor(fields);
        chain(ClientInterceptors.intercept(back, forwarding), ClientInterceptors.intercept(own, forwarding), message, rest,
            CallOptions.DEFAULT, answer);
    }

    /** Each call is made by a stage of a future that the call before completes. */
    private void stages(String message, StreamObserver<String> answer) {
        Function<Step, CompletableFuture<String>> call = step -> {
            Waiting waiting = new Waiting();
            ClientCalls.asyncUnaryCall((step.self ? own : back).newCall(Gateway.GET, CallOptions.DEFAULT), step.message, waiting); // site stages
            return waiting.answer;
        };
        CompletableFuture<String> done = CompletableFuture.completedFuture("");
        for (Step step : steps(message)) done = done.thenCompose(given -> call.apply(step));
        done.whenComplete((given, problem) -> {
            if (problem != null) {
                answer.onError(problem);
                return;
            }
            answer.onNext(message);
            answer.onCompleted();
        });
    }

    /** Returns when the first call is done: a JVM may take its time for that. */
    void beat() throws InterruptedException {
        CountDownLatch called = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            for (int number = 0; true; ++number) {
                try {
                    ClientCalls.blockingUnaryCall(back, Gateway.GET, CallOptions.DEFAULT, "@/background/" + number + "@");
                } catch (StatusRuntimeException problem) {
                    // A fault, or nobody there.
                }
                called.countDown();
                try {
                    Thread.sleep(5);
                } catch (InterruptedException problem) {
                    return;
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
        called.await();
    }
}
