package wirelap.dispatch010;

import com.ning.http.client.AsyncHttpClient;
import com.ning.http.client.AsyncHttpClientConfig;
import com.ning.http.client.Response;
import com.ning.http.client.extra.ResumableRandomAccessFileListener;
import com.ning.http.client.resumable.ResumableAsyncHandler;
import dispatch.Http$;
import java.io.RandomAccessFile;
import java.util.concurrent.TimeUnit;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/**
 * Dispatch 0.10.0: Ning's AsyncHttpClient with the settings that Dispatch gives it (its own channel factory, no time-out), and
 * files written as its `as.File` does, by the resumable handler.
 */
public final class Main implements Subject {
    private AsyncHttpClient client;
    private int timeoutMillis;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public void open(Job job) throws Exception {
        timeoutMillis = job.timeoutMillis();
        // As Http.configure does.
        AsyncHttpClientConfig.Builder builder = new AsyncHttpClientConfig.Builder(Http$.MODULE$.client().getConfig())
                .setMaximumConnectionsPerHost(job.connections())
                .setConnectionTimeoutInMs(timeoutMillis)
                .setAllowPoolingConnection(job.keepAlive())
                .setAllowSslConnectionPool(job.keepAlive());
        if (job.isSecure()) {
            builder.setSSLContext(Trust.of(job).context());
        }
        client = new AsyncHttpClient(builder.build());
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        AsyncHttpClient.BoundRequestBuilder get = client.prepareGet(fetch.url().toString());
        if (fetch.file() == null) {
            Response response = get.execute(new Dropping(exchange)).get(timeoutMillis, TimeUnit.MILLISECONDS);
            exchange.answered(response.getStatusCode());
            return;
        }
        try (RandomAccessFile file = new RandomAccessFile(fetch.file().toFile(), "rw")) {
            // What a file of that name held before is not what this fetch wrote.
            file.setLength(0);
            ResumableAsyncHandler<Response> handler = new Saving(exchange);
            handler.setResumableListener(new ResumableRandomAccessFileListener(file));
            get.execute(handler).get(timeoutMillis, TimeUnit.MILLISECONDS);
        }
        exchange.wroteFile();
    }

    @Override
    public void close() {
        client.closeAsynchronously();
    }
}
