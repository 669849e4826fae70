package org.eclipse.jetty.alpn;

import java.util.List;
import javax.net.ssl.SSLSocket;
import wirelap.alpn.Negotiations;

/**
 * The face of Jetty's ALPN for Java 7 and 8, which libraries of that time look up by this name, on top of the ALPN that the
 * JDK has had since. Clients alone.
 */
public final class ALPN {
    private static final Negotiations<Provider> NEGOTIATIONS = new Negotiations<>();

    private ALPN() {}

    /** Either side of a negotiation. */
    public interface Provider {}

    /** A client, which offers. */
    public interface ClientProvider extends Provider {
        /** What it offers, best first. */
        List<String> protocols();

        /** The server knows nothing of ALPN, or took nothing. */
        void unsupported();

        /** The server took this. */
        void selected(String protocol);
    }

    /** A server, which takes. */
    public interface ServerProvider extends Provider {
        /** The client knows nothing of ALPN. */
        void unsupported();

        /** Which of the client's it takes. */
        String select(List<String> protocols);
    }

    /** Before the handshake: offers what the client behind {@code provider} speaks. */
    public static void put(SSLSocket socket, Provider provider) {
        NEGOTIATIONS.put(socket, provider);
        if (provider instanceof ClientProvider client) {
            Negotiations.offer(socket, client.protocols());
        }
    }

    /** After the handshake: tells the provider what became of it. Jetty told it during the handshake; nobody looks before. */
    public static Provider get(SSLSocket socket) {
        Provider provider = NEGOTIATIONS.get(socket);
        if (provider instanceof ClientProvider client) {
            Negotiations.taken(socket).ifPresentOrElse(client::selected, client::unsupported);
        }
        return provider;
    }

    /** Forgets the socket. */
    public static Provider remove(SSLSocket socket) {
        return NEGOTIATIONS.remove(socket);
    }
}
