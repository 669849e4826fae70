package wirelap.okhttp2;

import com.squareup.okhttp.Connection;
import com.squareup.okhttp.ConnectionPool;
import com.squareup.okhttp.ConnectionSpec;
import com.squareup.okhttp.Interceptor;
import com.squareup.okhttp.OkHttpClient;
import com.squareup.okhttp.Protocol;
import com.squareup.okhttp.Request;
import com.squareup.okhttp.Response;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLSocket;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Numbers;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/** OkHttp 2. Its ALPN is Jetty's of that time, which the module `alpn` stands in for; without it, it falls back in silence. */
public final class Main implements Subject {
    private final OkHttpClient client = new OkHttpClient();
    private boolean closes;
    private final Numbers<Connection> numbers = new Numbers<>();

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public Optional<String> refusal(Job job) {
        return Subject.unlessOneOf(job, "http/1.1", "h2", "spdy/3.1");
    }

    @Override
    public void open(Job job) throws Exception {
        Protocol wanted = Protocol.get(job.transport());
        closes = job.closes();
        client.setProtocols(wanted == Protocol.HTTP_1_1 ? List.of(wanted) : List.of(wanted, Protocol.HTTP_1_1));
        client.setFollowRedirects(false);
        client.setConnectTimeout(job.timeoutMillis(), TimeUnit.MILLISECONDS);
        client.setReadTimeout(job.timeoutMillis(), TimeUnit.MILLISECONDS);
        client.setConnectionPool(new ConnectionPool(job.idleConnections(), TimeUnit.MINUTES.toMillis(5)));
        client.networkInterceptors().add(this::onConnection);
        if (job.isSecure()) {
            // OkHttp 2 has no name for TLS 1.3: what JSSE enables is taken as it is.
            ConnectionSpec spec = new ConnectionSpec.Builder(ConnectionSpec.MODERN_TLS)
                    .allEnabledTlsVersions()
                    .allEnabledCipherSuites()
                    .build();
            client.setConnectionSpecs(List.of(spec));
            client.setSslSocketFactory(Trust.of(job).context().getSocketFactory());
        }
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        Request.Builder request = new Request.Builder().url(fetch.url().toURL()).tag(exchange);
        if (closes) {
            request.header("Connection", "close");
        }
        Response response = client.newCall(request.build()).execute();
        exchange.answered(response.code());
        exchange.protocol(response.protocol().toString());
        exchange.receive(response.body().byteStream());
    }

    /** A network interceptor stands between the connection and the request. It sees those that were used, not all that were opened. */
    private Response onConnection(Interceptor.Chain chain) throws IOException {
        Exchange exchange = (Exchange) chain.request().tag();
        exchange.connection(numbers.of(chain.connection()));
        if (chain.connection().getSocket() instanceof SSLSocket socket) {
            exchange.tls(socket.getSession().getProtocol());
        }
        return chain.proceed(chain.request());
    }
}
