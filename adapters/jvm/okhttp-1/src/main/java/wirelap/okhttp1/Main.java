package wirelap.okhttp1;

import com.squareup.okhttp.ConnectionPool;
import com.squareup.okhttp.OkHttpClient;
import java.net.HttpURLConnection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/**
 * OkHttp 1.2.1, which is asked as an HttpURLConnection. It speaks SPDY/3 and knows nothing of the session's window of 3.1. Its
 * NPN is Jetty's of that time, which the module `alpn` stands in for.
 */
public final class Main implements Subject {
    private static final String SELECTED = "OkHttp-Selected-Transport";

    private final OkHttpClient client = new OkHttpClient();
    private int timeoutMillis;
    private boolean closes;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public Optional<String> refusal(Job job) {
        return Subject.unlessOneOf(job, "http/1.1", "spdy/3");
    }

    @Override
    public void open(Job job) throws Exception {
        timeoutMillis = job.timeoutMillis();
        closes = job.closes();
        client.setTransports(job.isMultiplexed() ? List.of(job.transport(), "http/1.1") : List.of("http/1.1"));
        client.setConnectionPool(new ConnectionPool(job.idleConnections(), TimeUnit.MINUTES.toMillis(5)));
        if (job.isSecure()) {
            client.setSslSocketFactory(Trust.of(job).context().getSocketFactory());
        }
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpURLConnection connection = client.open(fetch.url().toURL());
        connection.setInstanceFollowRedirects(false);
        connection.setConnectTimeout(timeoutMillis);
        connection.setReadTimeout(timeoutMillis);
        if (closes) {
            connection.setRequestProperty("Connection", "close");
        }
        exchange.answered(connection.getResponseCode());
        String transport = connection.getHeaderField(SELECTED);
        if (transport != null) {
            exchange.protocol(transport);
        }
        exchange.receive(connection);
    }
}
