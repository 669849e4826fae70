package wirelap.alpn;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * What the faces of ALPN and NPN share: who negotiates on which socket, above the JDK's own ALPN.
 *
 * @param <P> who negotiates
 */
public final class Negotiations<P> {
    private final Map<SSLSocket, P> providers = Collections.synchronizedMap(new WeakHashMap<>());

    /** Before the handshake: the socket is {@code provider}'s. */
    public void put(SSLSocket socket, P provider) {
        providers.put(socket, provider);
    }

    /** Whose the socket is; null: nobody's. */
    public P get(SSLSocket socket) {
        return providers.get(socket);
    }

    /** Forgets the socket, and says whose it was. */
    public P remove(SSLSocket socket) {
        return providers.remove(socket);
    }

    /** Before the handshake: offers {@code protocols}, best first. */
    public static void offer(SSLSocket socket, List<String> protocols) {
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setApplicationProtocols(protocols.toArray(new String[0]));
        socket.setSSLParameters(parameters);
    }

    /** After the handshake: what the server took; empty where it knows nothing of ALPN, or took nothing. */
    public static Optional<String> taken(SSLSocket socket) {
        return Optional.ofNullable(socket.getApplicationProtocol()).filter(taken -> !taken.isEmpty());
    }
}
