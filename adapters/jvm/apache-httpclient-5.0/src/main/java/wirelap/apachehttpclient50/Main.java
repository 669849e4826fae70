package wirelap.apachehttpclient50;

import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.hc.client5.http.async.methods.SimpleHttpRequests;
import org.apache.hc.client5.http.async.methods.SimpleRequestProducer;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.async.CloseableHttpAsyncClient;
import org.apache.hc.client5.http.impl.async.HttpAsyncClients;
import org.apache.hc.client5.http.impl.nio.PoolingAsyncClientConnectionManagerBuilder;
import org.apache.hc.client5.http.protocol.HttpClientContext;
import org.apache.hc.client5.http.ssl.ClientTlsStrategyBuilder;
import org.apache.hc.core5.http2.HttpVersionPolicy;
import org.apache.hc.core5.reactor.ssl.TlsDetails;
import org.apache.hc.core5.util.Timeout;
import wirelap.apachehttpclient5receiver.Receiver;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/** The asynchronous client of Apache HttpClient 5.0, over HTTP/2. It opens a connection for each fetch under way. */
public final class Main implements Subject {
    private CloseableHttpAsyncClient client;
    private int timeoutMillis;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public Optional<String> refusal(Job job) {
        return Subject.unlessOneOf(job, "h2");
    }

    @Override
    public void open(Job job) throws Exception {
        timeoutMillis = job.timeoutMillis();
        Timeout patience = Timeout.ofMilliseconds(timeoutMillis);
        PoolingAsyncClientConnectionManagerBuilder manager = PoolingAsyncClientConnectionManagerBuilder.create()
                .setMaxConnPerRoute(job.connections())
                .setMaxConnTotal(job.connectionsInAll());
        if (job.isSecure()) {
            // By itself it does not ask an SSLEngine of Java 9 or later what was negotiated, and speaks HTTP/1.1.
            manager.setTlsStrategy(ClientTlsStrategyBuilder.create()
                    .setSslContext(Trust.of(job).context())
                    .setTlsDetailsFactory(
                            engine -> new TlsDetails(engine.getSession(), engine.getApplicationProtocol()))
                    .build());
        }
        client = HttpAsyncClients.custom()
                .setVersionPolicy(HttpVersionPolicy.NEGOTIATE)
                .setConnectionManager(manager.build())
                .disableRedirectHandling()
                .setDefaultRequestConfig(RequestConfig.custom()
                        .setConnectTimeout(patience)
                        .setResponseTimeout(patience)
                        .build())
                .build();
        client.start();
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpClientContext context = HttpClientContext.create();
        SimpleRequestProducer request = SimpleRequestProducer.create(SimpleHttpRequests.get(fetch.url()));
        try (Receiver receiver = new Receiver(exchange)) {
            client.execute(request, receiver, null, context, null).get(timeoutMillis, TimeUnit.MILLISECONDS);
        }
        if (context.getSSLSession() != null) {
            exchange.tls(context.getSSLSession().getProtocol());
        }
    }

    @Override
    public void close() throws Exception {
        client.close();
    }
}
