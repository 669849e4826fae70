package wirelap.apacheasyncclient4;

import java.io.File;
import java.io.FileNotFoundException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.apache.http.HttpResponse;
import org.apache.http.client.params.HttpClientParams;
import org.apache.http.entity.ContentType;
import org.apache.http.impl.NoConnectionReuseStrategy;
import org.apache.http.impl.nio.client.DefaultHttpAsyncClient;
import org.apache.http.impl.nio.conn.PoolingClientAsyncConnectionManager;
import org.apache.http.impl.nio.reactor.DefaultConnectingIOReactor;
import org.apache.http.nio.IOControl;
import org.apache.http.nio.client.methods.AsyncByteConsumer;
import org.apache.http.nio.client.methods.HttpAsyncMethods;
import org.apache.http.nio.client.methods.ZeroCopyConsumer;
import org.apache.http.nio.conn.scheme.AsyncScheme;
import org.apache.http.nio.conn.ssl.SSLLayeringStrategy;
import org.apache.http.nio.protocol.HttpAsyncResponseConsumer;
import org.apache.http.params.HttpConnectionParams;
import org.apache.http.protocol.HttpContext;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/** Apache HttpAsyncClient 4.0-beta3. A file is written by its zero-copy consumer: FileChannel.transferFrom the socket. */
public final class Main implements Subject {
    private PoolingClientAsyncConnectionManager manager;
    private DefaultHttpAsyncClient client;
    private int timeoutMillis;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public void open(Job job) throws Exception {
        timeoutMillis = job.timeoutMillis();
        manager = new PoolingClientAsyncConnectionManager(new DefaultConnectingIOReactor());
        manager.setDefaultMaxPerRoute(job.connections());
        manager.setMaxTotal(job.connectionsInAll());
        client = new DefaultHttpAsyncClient(manager);
        if (!job.keepAlive()) {
            client.setReuseStrategy(new NoConnectionReuseStrategy());
        }
        if (job.isSecure()) {
            SSLLayeringStrategy layer = new SSLLayeringStrategy(Trust.of(job).context());
            manager.getSchemeRegistry().register(new AsyncScheme("https", 443, layer));
        }
        HttpClientParams.setRedirecting(client.getParams(), false);
        HttpConnectionParams.setConnectionTimeout(client.getParams(), timeoutMillis);
        HttpConnectionParams.setSoTimeout(client.getParams(), timeoutMillis);
        client.start();
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpAsyncResponseConsumer<HttpResponse> consumer =
                fetch.file() == null ? new Dropping(exchange) : new Saving(fetch.file().toFile(), exchange);
        HttpResponse response = client.execute(HttpAsyncMethods.createGet(fetch.url()), consumer, null)
                .get(timeoutMillis, TimeUnit.MILLISECONDS);
        exchange.protocol(response.getProtocolVersion().toString());
        if (fetch.file() != null) {
            exchange.wroteFile();
        }
    }

    @Override
    public void close() throws Exception {
        client.shutdown();
    }

    private static final class Saving extends ZeroCopyConsumer<HttpResponse> {
        private final Exchange exchange;

        Saving(File file, Exchange exchange) throws FileNotFoundException {
            super(file);
            this.exchange = exchange;
        }

        @Override
        protected void onResponseReceived(HttpResponse response) {
            exchange.answered(response.getStatusLine().getStatusCode());
            super.onResponseReceived(response);
        }

        @Override
        protected HttpResponse process(HttpResponse response, File file, ContentType type) {
            return response;
        }
    }

    private static final class Dropping extends AsyncByteConsumer<HttpResponse> {
        private final Exchange exchange;
        private HttpResponse response;
        private long received;

        Dropping(Exchange exchange) {
            this.exchange = exchange;
        }

        @Override
        protected void onResponseReceived(HttpResponse response) {
            exchange.answered(response.getStatusLine().getStatusCode());
            this.response = response;
        }

        @Override
        protected void onByteReceived(ByteBuffer bytes, IOControl control) {
            received += bytes.remaining();
            bytes.position(bytes.limit());
        }

        @Override
        protected HttpResponse buildResult(HttpContext context) {
            exchange.received(received);
            return response;
        }
    }
}
