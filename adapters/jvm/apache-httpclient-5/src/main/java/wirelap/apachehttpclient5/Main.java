package wirelap.apachehttpclient5;

import java.util.Optional;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.contract.Trust;

/** Apache HttpClient 5: its classic client for HTTP/1.1, its asynchronous one for HTTP/2, which the classic one does not speak. */
public final class Main implements Subject {
    private Client client;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    /** One of the library's two clients, made ready. */
    interface Client extends AutoCloseable {
        void fetch(Fetch fetch, Exchange exchange) throws Exception;
    }

    @Override
    public Optional<String> refusal(Job job) {
        return Subject.unlessOneOf(job, "http/1.1", "h2");
    }

    @Override
    public void open(Job job) throws Exception {
        Trust trust = job.isSecure() ? Trust.of(job) : null;
        client = job.isMultiplexed() ? new Multiplexing(job, trust) : new Classic(job, trust);
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        client.fetch(fetch, exchange);
    }

    @Override
    public void close() throws Exception {
        client.close();
    }
}
