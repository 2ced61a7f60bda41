import calls.CallsGrpc;
import calls.CallsOuterClass.Number;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;

/** calls.Calls, as calls_server.cc has it. */
final class CallsService extends CallsGrpc.CallsImplBase {
    static Number number(long value) {
        return Number.newBuilder().setValue(value).build();
    }

    @Override
    public void double_(Number request, StreamObserver<Number> answer) {
        if (request.getValue() < 0) {
            answer.onError(Status.INVALID_ARGUMENT.withDescription("below zero: 50 % off\u00e4").asRuntimeException());
            return;
        }
        answer.onNext(request.toBuilder().setValue(2 * request.getValue()).build());
        answer.onCompleted();
    }

    /** What comes in, one by one. */
    private abstract static class Reader implements StreamObserver<Number> {
        public void onError(Throwable problem) {}
    }

    @Override
    public StreamObserver<Number> sum(StreamObserver<Number> answer) {
        return new Reader() {
            private long sum;

            public void onNext(Number number) {
                sum += number.getValue();
            }

            public void onCompleted() {
                answer.onNext(number(sum));
                answer.onCompleted();
            }
        };
    }

    @Override
    public void count(Number request, StreamObserver<Number> answer) {
        for (long value = 1; value <= request.getValue(); ++value) answer.onNext(number(value));
        answer.onCompleted();
    }

    @Override
    public StreamObserver<Number> negate(StreamObserver<Number> answer) {
        return new Reader() {
            public void onNext(Number number) {
                answer.onNext(number(-number.getValue()));
            }

            public void onCompleted() {
                answer.onCompleted();
            }
        };
    }
}
