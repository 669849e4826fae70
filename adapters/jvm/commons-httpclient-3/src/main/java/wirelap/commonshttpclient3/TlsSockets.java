package wirelap.commonshttpclient3;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.apache.commons.httpclient.params.HttpConnectionParams;
import org.apache.commons.httpclient.protocol.ProtocolSocketFactory;

/** TLS as the job trusts it. commons-httpclient compares no host names itself; JSSE does it here. */
record TlsSockets(SSLSocketFactory factory) implements ProtocolSocketFactory {
    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return above(new Socket(host, port), host, port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
        return above(new Socket(host, port, local, localPort), host, port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort, HttpConnectionParams settings)
            throws IOException {
        Socket below = new Socket();
        if (local != null) {
            below.bind(new InetSocketAddress(local, localPort));
        }
        below.connect(new InetSocketAddress(host, port), settings.getConnectionTimeout());
        return above(below, host, port);
    }

    private Socket above(Socket below, String host, int port) throws IOException {
        SSLSocket socket = (SSLSocket) factory.createSocket(below, host, port, true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        return socket;
    }
}
