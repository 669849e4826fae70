package wirelap.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.SecureRandom;
import java.util.function.Supplier;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/** A TLS context that takes whatever it makes from the contexts that a job's trust hands out. */
final class TrustingContext extends SSLContext {
    TrustingContext(Supplier<SSLContext> contexts) {
        this(contexts, contexts.get());
    }

    private TrustingContext(Supplier<SSLContext> contexts, SSLContext first) {
        super(new Spi(contexts), first.getProvider(), first.getProtocol());
    }

    static final class Spi extends SSLContextSpi {
        private final Supplier<SSLContext> contexts;
        /** For questions that do not touch a connection. */
        private final SSLContext first;

        Spi(Supplier<SSLContext> contexts) {
            this.contexts = contexts;
            this.first = contexts.get();
        }

        private SSLContext next() {
            return contexts.get();
        }

        @Override
        protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random) {
            // It is made ready: a library that means "as the process does" says so with null or with JSSE's own managers.
        }

        @Override
        protected SSLSocketFactory engineGetSocketFactory() {
            return new Sockets(this);
        }

        @Override
        protected SSLServerSocketFactory engineGetServerSocketFactory() {
            return first.getServerSocketFactory();
        }

        @Override
        protected SSLEngine engineCreateSSLEngine() {
            return next().createSSLEngine();
        }

        @Override
        protected SSLEngine engineCreateSSLEngine(String host, int port) {
            return next().createSSLEngine(host, port);
        }

        @Override
        protected SSLSessionContext engineGetServerSessionContext() {
            return first.getServerSessionContext();
        }

        @Override
        protected SSLSessionContext engineGetClientSessionContext() {
            return first.getClientSessionContext();
        }

        @Override
        protected SSLParameters engineGetDefaultSSLParameters() {
            return first.getDefaultSSLParameters();
        }

        @Override
        protected SSLParameters engineGetSupportedSSLParameters() {
            return first.getSupportedSSLParameters();
        }
    }

    private static final class Sockets extends SSLSocketFactory {
        private final Spi spi;

        Sockets(Spi spi) {
            this.spi = spi;
        }

        private SSLSocketFactory next() {
            return spi.next().getSocketFactory();
        }

        @Override
        public String[] getDefaultCipherSuites() {
            return spi.first.getSocketFactory().getDefaultCipherSuites();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return spi.first.getSocketFactory().getSupportedCipherSuites();
        }

        @Override
        public Socket createSocket() throws IOException {
            return next().createSocket();
        }

        @Override
        public Socket createSocket(Socket below, String host, int port, boolean autoClose) throws IOException {
            return next().createSocket(below, host, port, autoClose);
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return next().createSocket(host, port);
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
            return next().createSocket(host, port, local, localPort);
        }

        @Override
        public Socket createSocket(InetAddress address, int port) throws IOException {
            return next().createSocket(address, port);
        }

        @Override
        public Socket createSocket(InetAddress address, int port, InetAddress local, int localPort) throws IOException {
            return next().createSocket(address, port, local, localPort);
        }
    }
}
