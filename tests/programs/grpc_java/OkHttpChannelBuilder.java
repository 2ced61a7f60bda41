package io.grpc.okhttp;

/** Its name is all that matters: Debian has no grpc-okhttp. */
final class OkHttpChannelBuilder {
    private OkHttpChannelBuilder() {}
}
