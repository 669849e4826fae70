package org.eclipse.jetty.npn;

import java.util.List;
import javax.net.ssl.SSLSocket;
import wirelap.alpn.Negotiations;

/**
 * The face of Jetty's NPN for Java 7, on top of the JDK's ALPN. In NPN the server offers and the client chooses; here the
 * client's own list is offered, which OkHttp tells since its provider plays both sides, and what the server took is put to it
 * as the server's only offer.
 */
public final class NextProtoNego {
    private static final Negotiations<Provider> NEGOTIATIONS = new Negotiations<>();

    private NextProtoNego() {}

    /** Either side of a negotiation. */
    public interface Provider {}

    /** A client, which chooses. */
    public interface ClientProvider extends Provider {
        /** Whether it negotiates at all. */
        boolean supports();

        /** The server knows nothing of it. */
        void unsupported();

        /** Which of the server's it chooses. */
        String selectProtocol(List<String> protocols);
    }

    /** A server, which offers. */
    public interface ServerProvider extends Provider {
        /** The client knows nothing of it. */
        void unsupported();

        /** What it offers. */
        List<String> protocols();

        /** The client chose this. */
        void protocolSelected(String protocol);
    }

    /** Before the handshake. */
    public static void put(SSLSocket socket, Provider provider) {
        NEGOTIATIONS.put(socket, provider);
        if (provider instanceof ServerProvider both) {
            Negotiations.offer(socket, both.protocols());
        }
    }

    /** After the handshake. */
    public static Provider get(SSLSocket socket) {
        Provider provider = NEGOTIATIONS.get(socket);
        if (provider instanceof ClientProvider client) {
            Negotiations.taken(socket)
                    .ifPresentOrElse(taken -> client.selectProtocol(List.of(taken)), client::unsupported);
        }
        return provider;
    }
}
