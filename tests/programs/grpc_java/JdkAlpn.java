package io.netty.handler.ssl;

import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

/**
 * HTTP/2 by the JDK's ALPN. Netty has a class for it (JdkAlpnApplicationProtocolNegotiator) that Debian's package leaves out, with
 * the engine (Java9SslEngine) still there. Without it, SslContextBuilder says "JDK provider does not support ALPN protocol".
 */
public final class JdkAlpn extends JdkBaseApplicationProtocolNegotiator {
    private static final SslEngineWrapperFactory WRAPPER = new AllocatorAwareSslEngineWrapperFactory() {
        @Override
        SSLEngine wrapSslEngine(SSLEngine engine, ByteBufAllocator allocator, JdkApplicationProtocolNegotiator negotiator, boolean isServer) {
            return new Java9SslEngine(engine, negotiator, isServer);
        }
    };

    private JdkAlpn() {
        super(WRAPPER, NO_FAIL_SELECTOR_FACTORY, NO_FAIL_SELECTION_LISTENER_FACTORY, List.of(ApplicationProtocolNames.HTTP_2));
    }

    public static SslContext of(SSLContext context, boolean isClient) {
        return new JdkSslContext(context, isClient, null, IdentityCipherSuiteFilter.INSTANCE, new JdkAlpn(), ClientAuth.NONE, null, false);
    }
}
