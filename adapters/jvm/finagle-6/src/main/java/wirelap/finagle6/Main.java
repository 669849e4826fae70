package wirelap.finagle6;

import com.twitter.finagle.Service;
import com.twitter.finagle.builder.ClientBuilder;
import com.twitter.finagle.http.Http;
import com.twitter.util.Await;
import com.twitter.util.Duration;
import com.twitter.util.StorageUnit;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jboss.netty.buffer.ChannelBuffer;
import org.jboss.netty.handler.codec.http.DefaultHttpRequest;
import org.jboss.netty.handler.codec.http.HttpHeaders;
import org.jboss.netty.handler.codec.http.HttpMethod;
import org.jboss.netty.handler.codec.http.HttpRequest;
import org.jboss.netty.handler.codec.http.HttpResponse;
import org.jboss.netty.handler.codec.http.HttpVersion;
import scala.Some;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/**
 * Finagle 6.5.0. soke-http wraps it: it stands in for soke-http, which is not to be had any more. It hands over a body when all
 * of it is in memory, and takes 5 MB at most unless told otherwise.
 */
public final class Main implements Subject {
    private static final StorageUnit LARGEST_BODY = new StorageUnit(Integer.MAX_VALUE);

    private final Map<String, Service<HttpRequest, HttpResponse>> services = new ConcurrentHashMap<>();
    private Job job;
    private Trust trust;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public void open(Job job) throws Exception {
        this.job = job;
        trust = job.isSecure() ? Trust.of(job) : null;
        // A service belongs to a host; building it connects nothing.
        job.fetches().forEach(fetch -> services.computeIfAbsent(fetch.url().getAuthority(), host -> service(fetch)));
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        String query = fetch.url().getRawQuery();
        String target = fetch.url().getRawPath() + (query == null ? "" : "?" + query);
        HttpRequest request = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, target);
        request.setHeader(HttpHeaders.Names.HOST, fetch.url().getAuthority());
        if (job.closes()) {
            request.setHeader(HttpHeaders.Names.CONNECTION, HttpHeaders.Values.CLOSE);
        }
        Duration patience = Duration.fromTimeUnit(job.timeoutMillis(), TimeUnit.MILLISECONDS);
        HttpResponse response = Await.result(services.get(fetch.url().getAuthority()).apply(request), patience);
        exchange.answered(response.getStatus().getCode());
        exchange.protocol(response.getProtocolVersion().toString());
        ChannelBuffer body = response.getContent();
        exchange.received(body.readableBytes());
        try (OutputStream file = exchange.target()) {
            body.readBytes(file, body.readableBytes());
        }
    }

    @Override
    public void close() {
        services.values().forEach(Service::close);
    }

    private Service<HttpRequest, HttpResponse> service(Fetch fetch) {
        Duration patience = Duration.fromTimeUnit(job.timeoutMillis(), TimeUnit.MILLISECONDS);
        var builder = ClientBuilder.get()
                .codec(Http.get().maxResponseSize(LARGEST_BODY))
                .hosts(new InetSocketAddress(fetch.url().getHost(), fetch.port()))
                .hostConnectionLimit(job.connections())
                .tcpConnectTimeout(patience);
        return ClientBuilder.safeBuild(
                trust == null ? builder : builder.tls(trust.context(), new Some<>(fetch.url().getHost())));
    }
}
