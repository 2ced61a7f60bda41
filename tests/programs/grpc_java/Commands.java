import calls.CallsGrpc;
import calls.CallsOuterClass.Number;
import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Commands that a channel of its own carries out. STUB: blocking, future, async.
 *
 *   kinds STUB        one call of each kind, and one that the server refuses
 *   threads STUB T N  T threads with N calls each; what did not succeed
 *   silent STUB       a call with a deadline of two seconds between two of another method: what the first call of all takes,
 *                     which loads classes and connects, is not measured
 *   late STUB         a call whose message is given only when another one has been answered
 *   retries STUB N    N calls, each tried four times where it is UNAVAILABLE
 */
final class Commands {
    private static final long SECONDS = 20; // a call that takes longer hangs

    private final CallsGrpc.CallsBlockingStub blocking;
    private final CallsGrpc.CallsFutureStub future;
    private final CallsGrpc.CallsStub async;
    private final String stub;
    private final StringBuilder told = new StringBuilder();

    private Commands(ManagedChannel channel, String stub) {
        blocking = CallsGrpc.newBlockingStub(channel);
        future = CallsGrpc.newFutureStub(channel);
        async = CallsGrpc.newStub(channel);
        this.stub = stub;
    }

    static String run(String[] words, String port) {
        ManagedChannelBuilder<?> builder = Encrypted.channel(port);
        if (words[0].equals("retries")) {
            builder.enableRetry().defaultServiceConfig(Map.of("methodConfig", List.of(Map.of(
                "name", List.of(Map.of("service", "calls.Calls")),
                "retryPolicy", Map.of("maxAttempts", 4.0, "initialBackoff", "0.01s", "maxBackoff", "0.02s",
                    "backoffMultiplier", 1.0, "retryableStatusCodes", List.of("UNAVAILABLE"))))));
        } else {
            builder.disableRetry();
        }
        ManagedChannel channel = builder.build();
        try {
            Commands commands = new Commands(channel, words[1]);
            switch (words[0]) {
                case "kinds": commands.kinds(); break;
                case "threads": commands.threads(Long.parseLong(words[2]), Long.parseLong(words[3])); break;
                case "silent": commands.silent(); break;
                case "late": commands.late(channel); break;
                case "retries": commands.threads(1, Long.parseLong(words[2])); break;
                default: throw new IllegalArgumentException(words[0]);
            }
            return commands.told.toString();
        } catch (Exception problem) {
            return problem + "\n";
        } finally {
            channel.shutdownNow();
        }
    }

    /** What came of one call with a stream of answers, in order. (Not in one of the JDK's queues: who takes from those may
     * be anybody's worker.) */
    private static final class Answers implements StreamObserver<Number> {
        private final Deque<Object> events = new ArrayDeque<>();

        private synchronized void add(Object event) {
            events.add(event);
            notifyAll();
        }

        public void onNext(Number number) {
            add(number);
        }

        public void onError(Throwable problem) {
            add(problem);
        }

        public void onCompleted() {
            add("completed");
        }

        /** The next answer; null: there are no more. */
        synchronized Number next() throws InterruptedException {
            while (events.isEmpty()) wait(2000 * SECONDS);
            Object event = events.remove();
            if (event instanceof Number) return (Number) event;
            if (event instanceof StatusRuntimeException) throw (StatusRuntimeException) event;
            if ("completed".equals(event)) return null;
            throw new IllegalStateException("neither an answer nor an end: " + event);
        }

        Number only() throws InterruptedException {
            Number answer = next();
            if (answer == null || next() != null) throw Status.INTERNAL.asRuntimeException();
            return answer;
        }
    }

    private Number twice(Number number, long milliseconds) throws Exception {
        switch (stub) {
            case "blocking":
                return blocking.withDeadlineAfter(milliseconds, TimeUnit.MILLISECONDS).double_(number); // site blocking
            case "future":
                try {
                    return future.withDeadlineAfter(milliseconds, TimeUnit.MILLISECONDS).double_(number).get(); // site future
                } catch (ExecutionException problem) {
                    throw (StatusRuntimeException) problem.getCause();
                }
            default:
                Answers answers = new Answers();
                async.withDeadlineAfter(milliseconds, TimeUnit.MILLISECONDS).double_(number, answers); // site async
                return answers.only();
        }
    }

    private void tell(String what, Callable<String> call) throws Exception {
        String answer = "0";
        Status status = Status.OK;
        try {
            answer = call.call();
        } catch (StatusRuntimeException problem) {
            status = problem.getStatus();
        }
        String message = status.getDescription() == null ? "" : status.getDescription();
        told.append(what).append(' ').append(status.getCode().value()).append(" [").append(message).append("] ")
            .append(answer).append('\n');
    }

    private void kinds() throws Exception {
        for (long value : new long[] {21, -1}) {
            tell("double", () -> String.valueOf(twice(CallsService.number(value), 1000 * SECONDS).getValue()));
        }
        tell("sum", () -> {
            Answers answers = new Answers();
            StreamObserver<Number> numbers = async.withDeadlineAfter(SECONDS, TimeUnit.SECONDS).sum(answers); // site sum
            for (long value = 1; value <= 5; ++value) numbers.onNext(CallsService.number(value));
            numbers.onCompleted();
            return String.valueOf(answers.only().getValue());
        });
        tell("count", this::count);
        tell("negate", () -> {
            StringBuilder all = new StringBuilder();
            Answers answers = new Answers();
            StreamObserver<Number> numbers = async.withDeadlineAfter(SECONDS, TimeUnit.SECONDS).negate(answers); // site negate
            for (long value = 1; value <= 3; ++value) {
                numbers.onNext(CallsService.number(value));
                Number number = answers.next();
                if (number == null) throw Status.INTERNAL.asRuntimeException();
                all.append(number.getValue()).append(',');
            }
            numbers.onCompleted();
            if (answers.next() != null) throw Status.INTERNAL.asRuntimeException();
            return all.toString();
        });
    }

    private String count() throws Exception {
        StringBuilder all = new StringBuilder();
        if (stub.equals("blocking")) {
            Iterator<Number> numbers = blocking.withDeadlineAfter(SECONDS, TimeUnit.SECONDS).count(CallsService.number(4)); // site iterator
            while (numbers.hasNext()) all.append(numbers.next().getValue()).append(',');
            return all.toString();
        }
        Answers answers = new Answers();
        async.withDeadlineAfter(SECONDS, TimeUnit.SECONDS).count(CallsService.number(4), answers); // site count
        for (Number number; (number = answers.next()) != null; ) all.append(number.getValue()).append(',');
        return all.toString();
    }

    private void threads(long count, long each) throws InterruptedException {
        SortedMap<Long, Object> failed = new TreeMap<>();
        List<Thread> running = new ArrayList<>();
        for (long t = 0; t < count; ++t) {
            final long first = t * each;
            Thread thread = new Thread(() -> {
                for (long value = first + 1; value <= first + each; ++value) {
                    Object problem = called(value);
                    if (problem == null) continue;
                    synchronized (failed) {
                        failed.put(value, problem);
                    }
                }
            });
            thread.start();
            running.add(thread);
        }
        for (Thread thread : running) thread.join();
        long wrong = failed.values().stream().filter("wrong"::equals).count();
        told.append("good ").append(count * each - failed.size()).append(" wrong ").append(wrong).append(" failed ")
            .append(failed.size() - wrong).append('\n');
        failed.forEach((value, problem) -> told.append(value).append(": ").append(problem).append('\n'));
    }

    /** Null: it succeeded. */
    private Object called(long value) {
        Number question = Number.newBuilder().setValue(value).setBallast(ByteString.copyFromUtf8(value + "|")).build();
        try {
            Number answer = twice(question, 1000 * SECONDS);
            return answer.equals(question.toBuilder().setValue(2 * value).build()) ? null : "wrong";
        } catch (StatusRuntimeException problem) {
            return problem.getStatus().getCode().value();
        } catch (Exception problem) {
            return problem;
        }
    }

    private void late(ManagedChannel channel) throws Exception {
        LinkedBlockingQueue<Object> answers = new LinkedBlockingQueue<>();
        ClientCall<Number, Number> call = channel.newCall(CallsGrpc.getDoubleMethod(),
            CallOptions.DEFAULT.withDeadlineAfter(SECONDS, TimeUnit.SECONDS));
        call.start(new ClientCall.Listener<Number>() { // site late
            public void onMessage(Number number) {
                answers.add(number.getValue());
            }

            public void onClose(Status status, Metadata trailers) {
                answers.add(status.getCode());
            }
        }, new Metadata());
        call.request(2);
        tell("double", () -> String.valueOf(twice(CallsService.number(1), 1000 * SECONDS).getValue()));
        call.sendMessage(CallsService.number(2));
        call.halfClose();
        told.append("late ").append(answers.take()).append(' ').append(answers.take()).append('\n');
    }

    private void silent() throws Exception {
        tell("count", this::count);
        tell("double", () -> String.valueOf(twice(CallsService.number(1), 2000).getValue()));
        tell("count", this::count);
    }
}
