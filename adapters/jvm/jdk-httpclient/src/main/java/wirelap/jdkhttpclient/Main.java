package wirelap.jdkhttpclient;

import java.io.InputStream;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscribers;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.SSLSession;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/** The HttpClient that the JDK has had since Java 11. */
public final class Main implements Subject {
    private HttpClient client;
    private boolean closes;
    private Duration timeout;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public Optional<String> refusal(Job job) {
        return Subject.unlessOneOf(job, "http/1.1", "h2");
    }

    @Override
    public void open(Job job) throws Exception {
        // Its pool has properties of the process, and no settings.
        System.setProperty("jdk.httpclient.connectionPoolSize", Integer.toString(job.connections()));
        System.setProperty("jdk.httpclient.allowRestrictedHeaders", "connection");
        closes = job.closes();
        timeout = Duration.ofMillis(job.timeoutMillis());
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(job.transport().equals("h2") ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1)
                .connectTimeout(timeout);
        if (job.isSecure()) {
            builder.sslContext(Trust.of(job).context());
        }
        client = builder.build();
    }

    @Override
    public String version() {
        return Runtime.version().toString();
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(fetch.url()).timeout(timeout);
        if (closes) {
            request.header("Connection", "close");
        }
        if (fetch.file() == null) {
            HttpResponse<InputStream> response =
                    client.send(request.build(), answered(exchange, info -> BodySubscribers.ofInputStream()));
            exchange.receive(response.body());
            tell(response, exchange);
        } else {
            tell(client.send(request.build(), answered(exchange, info -> BodySubscribers.ofFile(fetch.file()))), exchange);
            exchange.wroteFile();
        }
    }

    private static <T> BodyHandler<T> answered(Exchange exchange, BodyHandler<T> handler) {
        return info -> {
            exchange.answered(info.statusCode());
            return handler.apply(info);
        };
    }

    private static void tell(HttpResponse<?> response, Exchange exchange) {
        exchange.protocol(response.version() == HttpClient.Version.HTTP_2 ? "h2" : "http/1.1");
        response.sslSession().map(SSLSession::getProtocol).ifPresent(exchange::tls);
    }
}
