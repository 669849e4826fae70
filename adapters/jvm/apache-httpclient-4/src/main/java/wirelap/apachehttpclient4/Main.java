package wirelap.apachehttpclient4;

import org.apache.http.HttpResponse;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.client.params.HttpClientParams;
import org.apache.http.conn.scheme.Scheme;
import org.apache.http.conn.ssl.SSLSocketFactory;
import org.apache.http.impl.NoConnectionReuseStrategy;
import org.apache.http.impl.client.DefaultHttpClient;
import org.apache.http.impl.conn.PoolingClientConnectionManager;
import org.apache.http.params.HttpConnectionParams;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/** Apache HttpClient 4.2.5, which blocks. */
public final class Main implements Subject {
    private final PoolingClientConnectionManager manager = new PoolingClientConnectionManager();
    private final DefaultHttpClient client = new DefaultHttpClient(manager);

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public void open(Job job) throws Exception {
        manager.setDefaultMaxPerRoute(job.connections());
        manager.setMaxTotal(job.connectionsInAll());
        if (!job.keepAlive()) {
            client.setReuseStrategy(new NoConnectionReuseStrategy());
        }
        if (job.isSecure()) {
            SSLSocketFactory sockets = new SSLSocketFactory(Trust.of(job).context());
            manager.getSchemeRegistry().register(new Scheme("https", 443, sockets));
        }
        HttpClientParams.setRedirecting(client.getParams(), false);
        HttpConnectionParams.setConnectionTimeout(client.getParams(), job.timeoutMillis());
        HttpConnectionParams.setSoTimeout(client.getParams(), job.timeoutMillis());
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpResponse response = client.execute(new HttpGet(fetch.url()));
        exchange.answered(response.getStatusLine().getStatusCode());
        exchange.protocol(response.getProtocolVersion().toString());
        exchange.receive(response.getEntity().getContent());
    }

    @Override
    public void close() {
        manager.shutdown();
    }
}
