package wirelap.jetty12;

import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.client.HttpClientTransport;
import org.eclipse.jetty.client.InputStreamResponseListener;
import org.eclipse.jetty.client.PathResponseListener;
import org.eclipse.jetty.client.Request;
import org.eclipse.jetty.client.Response;
import org.eclipse.jetty.client.transport.HttpClientConnectionFactory;
import org.eclipse.jetty.client.transport.HttpClientTransportDynamic;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpHeaderValue;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http2.client.HTTP2Client;
import org.eclipse.jetty.http2.client.transport.ClientConnectionFactoryOverHTTP2;
import org.eclipse.jetty.http2.client.transport.HttpClientTransportOverHTTP2;
import org.eclipse.jetty.io.ClientConnector;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/** Jetty 12's client. */
public final class Main implements Subject {
    private HttpClient client;
    private boolean closes;
    private int timeoutMillis;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    /** It can be told that a server speaks HTTP/2, with and without TLS. */
    @Override
    public Optional<String> refusal(Job job) {
        return job.transport().equals("h2") ? Optional.empty() : Subject.unlessOneOf(job, "http/1.1");
    }

    @Override
    public void open(Job job) throws Exception {
        closes = job.closes();
        timeoutMillis = job.timeoutMillis();
        ClientConnector connector = new ClientConnector();
        if (job.isSecure()) {
            SslContextFactory.Client tls = new SslContextFactory.Client();
            tls.setSslContext(Trust.of(job).context());
            connector.setSslContextFactory(tls);
        }
        client = new HttpClient(transport(job, connector));
        client.setMaxConnectionsPerDestination(job.connections());
        client.setConnectTimeout(timeoutMillis);
        client.setFollowRedirects(false);
        client.start();
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        Request request = client.newRequest(fetch.url())
                .timeout(timeoutMillis, TimeUnit.MILLISECONDS)
                .onRequestCommit(sent -> exchange.sent())
                .onResponseHeaders(head -> answered(head, exchange));
        if (closes) {
            request.headers(headers -> headers.put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE));
        }
        if (fetch.file() == null) {
            InputStreamResponseListener listener = new InputStreamResponseListener();
            request.send(listener);
            listener.get(timeoutMillis, TimeUnit.MILLISECONDS);
            exchange.receive(listener.getInputStream());
        } else {
            PathResponseListener.write(request, fetch.file(), true).get();
            exchange.wroteFile();
        }
    }

    @Override
    public void close() throws Exception {
        client.stop();
    }

    private static HttpClientTransport transport(Job job, ClientConnector connector) {
        if (!job.isMultiplexed()) {
            return new HttpClientTransportDynamic(connector, HttpClientConnectionFactory.HTTP11);
        }
        HTTP2Client http2 = new HTTP2Client(connector);
        if (job.isKnown() || !job.isSecure()) {
            return new HttpClientTransportOverHTTP2(http2);
        }
        return new HttpClientTransportDynamic(
                connector, new ClientConnectionFactoryOverHTTP2.HTTP2(http2), HttpClientConnectionFactory.HTTP11);
    }

    private static void answered(Response head, Exchange exchange) {
        exchange.answered(head.getStatus());
        exchange.protocol(
                head.getVersion() == HttpVersion.HTTP_2 ? "h2" : head.getVersion().asString());
    }
}
