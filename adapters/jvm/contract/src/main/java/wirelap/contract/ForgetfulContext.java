package wirelap.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyManagementException;
import java.security.SecureRandom;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/**
 * A TLS context that resumes nothing: every connection comes from a context of its own. JSSE has a switch for tickets of
 * TLS 1.2 and none for TLS 1.3, and takes a cache of no sessions for one without bound.
 */
final class ForgetfulContext extends SSLContext {
    ForgetfulContext(Trust trust) throws GeneralSecurityException {
        this(trust, trust.fresh());
    }

    private ForgetfulContext(Trust trust, SSLContext first) {
        super(new Spi(trust, first), first.getProvider(), first.getProtocol());
    }

    private static final class Spi extends SSLContextSpi {
        private final Trust trust;
        private final SSLContext first;

        Spi(Trust trust, SSLContext first) {
            this.trust = trust;
            this.first = first;
        }

        private SSLContext fresh() {
            try {
                return trust.fresh();
            } catch (GeneralSecurityException impossible) {
                throw new IllegalStateException(impossible);
            }
        }

        @Override
        protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random)
                throws KeyManagementException {
            throw new KeyManagementException("this context is made ready");
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
            return fresh().createSSLEngine();
        }

        @Override
        protected SSLEngine engineCreateSSLEngine(String host, int port) {
            return fresh().createSSLEngine(host, port);
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

        private SSLSocketFactory fresh() {
            return spi.fresh().getSocketFactory();
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
            return fresh().createSocket();
        }

        @Override
        public Socket createSocket(Socket below, String host, int port, boolean autoClose) throws IOException {
            return fresh().createSocket(below, host, port, autoClose);
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return fresh().createSocket(host, port);
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
            return fresh().createSocket(host, port, local, localPort);
        }

        @Override
        public Socket createSocket(InetAddress address, int port) throws IOException {
            return fresh().createSocket(address, port);
        }

        @Override
        public Socket createSocket(InetAddress address, int port, InetAddress local, int localPort) throws IOException {
            return fresh().createSocket(address, port, local, localPort);
        }
    }
}
