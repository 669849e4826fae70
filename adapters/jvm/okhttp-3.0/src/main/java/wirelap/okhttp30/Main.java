package wirelap.okhttp30;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLSocket;
import okhttp3.Connection;
import okhttp3.ConnectionPool;
import okhttp3.ConnectionSpec;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Numbers;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/**
 * OkHttp 3.0. Its ALPN is Jetty's of that time, which the module `alpn` stands in for. It reads the trust manager out of the
 * JDK's socket factory, so the JVM needs {@code --add-opens java.base/sun.security.ssl=ALL-UNNAMED}.
 */
public final class Main implements Subject {
    private final Numbers<Connection> numbers = new Numbers<>();
    private OkHttpClient client;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public Optional<String> refusal(Job job) {
        if (job.tls().equals("1.3")) {
            return Optional.of("it fails on the cipher suites of TLS 1.3, which it has no names for");
        }
        return Subject.unlessOneOf(job, "http/1.1", "h2");
    }

    @Override
    public void open(Job job) throws Exception {
        OkHttpClient.Builder builder = new OkHttpClient.Builder()
                .protocols(job.isMultiplexed() ? List.of(Protocol.HTTP_2, Protocol.HTTP_1_1) : List.of(Protocol.HTTP_1_1))
                .followRedirects(false)
                .connectTimeout(job.timeoutMillis(), TimeUnit.MILLISECONDS)
                .readTimeout(job.timeoutMillis(), TimeUnit.MILLISECONDS)
                .connectionPool(new ConnectionPool(job.idleConnections(), 5, TimeUnit.MINUTES))
                .addNetworkInterceptor(this::onConnection);
        if (job.isSecure()) {
            builder.connectionSpecs(List.of(ConnectionSpec.MODERN_TLS))
                    .sslSocketFactory(Trust.of(job).context().getSocketFactory());
        }
        client = builder.build();
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        Request request = new Request.Builder().url(fetch.url().toURL()).tag(exchange).build();
        Response response = client.newCall(request).execute();
        exchange.answered(response.code());
        exchange.receive(response.body().byteStream());
    }

    /** A network interceptor stands between the connection and the request. It sees those that were used, not all that were opened. */
    private Response onConnection(Interceptor.Chain chain) throws IOException {
        Exchange exchange = (Exchange) chain.request().tag();
        Connection connection = chain.connection();
        exchange.connection(numbers.of(connection));
        exchange.protocol(connection.protocol().toString());
        if (connection.socket() instanceof SSLSocket socket) {
            exchange.tls(socket.getSession().getProtocol());
        }
        return chain.proceed(chain.request());
    }
}
