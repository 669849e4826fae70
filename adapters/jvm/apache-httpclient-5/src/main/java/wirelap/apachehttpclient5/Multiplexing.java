package wirelap.apachehttpclient5;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.hc.client5.http.async.methods.SimpleRequestBuilder;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.config.TlsConfig;
import org.apache.hc.client5.http.impl.async.CloseableHttpAsyncClient;
import org.apache.hc.client5.http.impl.async.HttpAsyncClients;
import org.apache.hc.client5.http.impl.nio.PoolingAsyncClientConnectionManagerBuilder;
import org.apache.hc.client5.http.protocol.HttpClientContext;
import org.apache.hc.client5.http.ssl.DefaultClientTlsStrategy;
import org.apache.hc.core5.http.nio.support.BasicRequestProducer;
import org.apache.hc.core5.http2.HttpVersionPolicy;
import org.apache.hc.core5.util.Timeout;
import wirelap.apachehttpclient5receiver.Receiver;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Trust;

/** The asynchronous client, which negotiates HTTP/2 and puts many exchanges on one connection. */
final class Multiplexing implements Main.Client {
    private final CloseableHttpAsyncClient client;
    private final int timeoutMillis;

    Multiplexing(Job job, Trust trust) {
        timeoutMillis = job.timeoutMillis();
        Timeout patience = Timeout.ofMilliseconds(timeoutMillis);
        PoolingAsyncClientConnectionManagerBuilder manager = PoolingAsyncClientConnectionManagerBuilder.create()
                .setMaxConnPerRoute(job.connections())
                .setMaxConnTotal(job.connectionsInAll())
                .setMessageMultiplexing(true)
                .setDefaultConnectionConfig(ConnectionConfig.custom()
                        .setConnectTimeout(patience)
                        .setSocketTimeout(patience)
                        .build())
                .setDefaultTlsConfig(
                        TlsConfig.custom().setVersionPolicy(HttpVersionPolicy.NEGOTIATE).build());
        if (trust != null) {
            manager.setTlsStrategy(new DefaultClientTlsStrategy(trust.context()));
        }
        client = HttpAsyncClients.custom()
                .setConnectionManager(manager.build())
                .disableRedirectHandling()
                .build();
        client.start();
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpClientContext context = HttpClientContext.create();
        BasicRequestProducer request =
                new BasicRequestProducer(SimpleRequestBuilder.get(fetch.url()).build(), null);
        try (Receiver receiver = new Receiver(exchange)) {
            client.execute(request, receiver, null, context, null).get(timeoutMillis, TimeUnit.MILLISECONDS);
        }
        if (context.getSSLSession() != null) {
            exchange.tls(context.getSSLSession().getProtocol());
        }
    }

    @Override
    public void close() throws IOException {
        client.close();
    }
}
