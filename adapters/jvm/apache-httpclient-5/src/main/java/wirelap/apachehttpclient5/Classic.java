package wirelap.apachehttpclient5;

import java.io.IOException;
import javax.net.ssl.SSLSession;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClientBuilder;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.client5.http.protocol.HttpClientContext;
import org.apache.hc.client5.http.ssl.DefaultClientTlsStrategy;
import org.apache.hc.core5.util.Timeout;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Trust;

/** The classic client, which blocks and speaks HTTP/1.1. */
final class Classic implements Main.Client {
    private final CloseableHttpClient client;

    Classic(Job job, Trust trust) {
        Timeout patience = Timeout.ofMilliseconds(job.timeoutMillis());
        PoolingHttpClientConnectionManagerBuilder manager = PoolingHttpClientConnectionManagerBuilder.create()
                .setMaxConnPerRoute(job.connections())
                .setMaxConnTotal(job.connectionsInAll())
                .setDefaultConnectionConfig(ConnectionConfig.custom()
                        .setConnectTimeout(patience)
                        .setSocketTimeout(patience)
                        .build());
        if (trust != null) {
            manager.setTlsSocketStrategy(new DefaultClientTlsStrategy(trust.context()));
        }
        HttpClientBuilder builder = HttpClients.custom()
                .setConnectionManager(manager.build())
                .disableRedirectHandling()
                .setDefaultRequestConfig(RequestConfig.custom().setResponseTimeout(patience).build());
        if (!job.keepAlive()) {
            builder.setConnectionReuseStrategy((request, response, context) -> false);
        }
        client = builder.build();
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpClientContext context = HttpClientContext.create();
        client.execute(new HttpGet(fetch.url()), context, response -> {
            exchange.answered(response.getCode());
            exchange.protocol(response.getVersion().format());
            SSLSession session = context.getSSLSession();
            if (session != null) {
                exchange.tls(session.getProtocol());
            }
            exchange.receive(response.getEntity().getContent());
            return null;
        });
    }

    @Override
    public void close() throws IOException {
        client.close();
    }
}
