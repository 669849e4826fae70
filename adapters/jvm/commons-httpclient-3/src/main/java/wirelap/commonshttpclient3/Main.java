package wirelap.commonshttpclient3;

import org.apache.commons.httpclient.HttpClient;
import org.apache.commons.httpclient.MultiThreadedHttpConnectionManager;
import org.apache.commons.httpclient.methods.GetMethod;
import org.apache.commons.httpclient.params.HttpConnectionManagerParams;
import org.apache.commons.httpclient.protocol.Protocol;
import org.apache.commons.httpclient.protocol.ProtocolSocketFactory;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/** commons-httpclient 3.1, the last of its name. */
public final class Main implements Subject {
    private final MultiThreadedHttpConnectionManager manager = new MultiThreadedHttpConnectionManager();
    private final HttpClient client = new HttpClient(manager);
    private boolean closes;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public void open(Job job) throws Exception {
        closes = job.closes();
        if (job.isSecure()) {
            ProtocolSocketFactory sockets = new TlsSockets(Trust.of(job).context().getSocketFactory());
            Protocol.registerProtocol("https", new Protocol("https", sockets, 443));
        }
        HttpConnectionManagerParams settings = manager.getParams();
        settings.setDefaultMaxConnectionsPerHost(job.connections());
        settings.setMaxTotalConnections(job.connectionsInAll());
        settings.setConnectionTimeout(job.timeoutMillis());
        settings.setSoTimeout(job.timeoutMillis());
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        GetMethod get = new GetMethod(fetch.url().toString());
        get.setFollowRedirects(false);
        if (closes) {
            get.setRequestHeader("Connection", "close");
        }
        try {
            client.executeMethod(get);
            exchange.answered(get.getStatusCode());
            exchange.protocol(get.getEffectiveVersion().toString());
            exchange.receive(get.getResponseBodyAsStream());
        } finally {
            get.releaseConnection();
        }
    }

    @Override
    public void close() {
        manager.shutdown();
    }
}
