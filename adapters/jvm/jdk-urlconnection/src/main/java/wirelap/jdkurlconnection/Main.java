package wirelap.jdkurlconnection;

import java.net.HttpURLConnection;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLSession;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/** HttpURLConnection as the JDK has it. Bee wraps it: it stands in for Bee, which is not to be had any more. */
public final class Main implements Subject {
    private Job job;
    private Trust trust;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public void open(Job job) throws Exception {
        this.job = job;
        // Its pool has properties of the process, and no settings.
        System.setProperty("http.keepAlive", Boolean.toString(job.keepAlive()));
        System.setProperty("http.maxConnections", Integer.toString(job.connections()));
        if (job.isSecure()) {
            trust = Trust.of(job);
        }
    }

    @Override
    public String version() {
        return Runtime.version().toString();
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) fetch.url().toURL().openConnection();
        connection.setInstanceFollowRedirects(false);
        connection.setConnectTimeout(job.timeoutMillis());
        connection.setReadTimeout(job.timeoutMillis());
        if (connection instanceof HttpsURLConnection secured) {
            secured.setSSLSocketFactory(trust.context().getSocketFactory());
        }
        exchange.answered(connection.getResponseCode());
        // The status line counts as field 0.
        exchange.statusLine(connection.getHeaderField(0));
        if (connection instanceof HttpsURLConnection secured) {
            secured.getSSLSession().map(SSLSession::getProtocol).ifPresent(exchange::tls);
        }
        exchange.receive(connection);
    }
}
