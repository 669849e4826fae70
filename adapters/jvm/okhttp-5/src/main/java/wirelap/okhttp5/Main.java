package wirelap.okhttp5;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.ConnectionPool;
import okhttp3.ConnectionSpec;
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

/** OkHttp 5. Its event listener tells every phase and the connection. */
public final class Main implements Subject {
    private final Numbers<Connection> numbers = new Numbers<>();
    /** Calls that race for the first connection of HTTP/2 open one each, and share one of them. */
    private final AtomicInteger opened = new AtomicInteger();

    private OkHttpClient client;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    /** HTTP/2 in the clear is known beforehand, never negotiated. */
    @Override
    public Optional<String> refusal(Job job) {
        boolean isClear = job.transport().equals("h2") && !job.isSecure();
        return isClear ? Optional.empty() : Subject.unlessOneOf(job, "http/1.1", "h2");
    }

    @Override
    public void open(Job job) throws Exception {
        OkHttpClient.Builder builder = new OkHttpClient.Builder()
                .protocols(protocols(job))
                .followRedirects(false)
                .connectTimeout(job.timeoutMillis(), TimeUnit.MILLISECONDS)
                .readTimeout(job.timeoutMillis(), TimeUnit.MILLISECONDS)
                .connectionPool(new ConnectionPool(job.idleConnections(), 5, TimeUnit.MINUTES))
                .eventListenerFactory(call ->
                        new Phases(call.request().tag(Exchange.class), numbers::of, opened::incrementAndGet));
        if (job.isSecure()) {
            Trust trust = Trust.of(job);
            builder.sslSocketFactory(trust.context().getSocketFactory(), trust.manager())
                    .connectionSpecs(List.of(ConnectionSpec.MODERN_TLS));
        }
        client = builder.build();
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        Request request = new Request.Builder().url(fetch.url().toURL()).tag(Exchange.class, exchange).build();
        try (Response response = client.newCall(request).execute()) {
            exchange.answered(response.code());
            exchange.protocol(name(response.protocol()));
            if (response.handshake() != null) {
                exchange.tls(response.handshake().tlsVersion().javaName());
            }
            exchange.receive(response.body().byteStream());
        }
    }

    @Override
    public OptionalInt connections() {
        return OptionalInt.of(opened.get());
    }

    private static List<Protocol> protocols(Job job) {
        if (!job.isMultiplexed()) {
            return List.of(Protocol.HTTP_1_1);
        }
        return job.isSecure() ? List.of(Protocol.HTTP_2, Protocol.HTTP_1_1) : List.of(Protocol.H2_PRIOR_KNOWLEDGE);
    }

    private static String name(Protocol protocol) {
        return protocol == Protocol.H2_PRIOR_KNOWLEDGE ? "h2" : protocol.toString();
    }
}
