package wirelap.twitter4j402spdy;

import java.io.IOException;
import java.util.Optional;
import twitter4j.AlternativeHttpClientImpl;
import twitter4j.HttpResponse;
import twitter4j.TwitterException;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.twitter4jcalls.Calls;

/**
 * Twitter4J 4.0.2 with its SPDY module, which it finds by itself. The module's OkHttp 1.5.1 speaks SPDY/3.1; its NPN is Jetty's
 * of that time, which the module `alpn` stands in for.
 *
 * Its pool closes connections that carry nothing as soon as there are more than five, and a new one carries nothing until its
 * caller comes to send: where six handshakes end at once, one of them is closed before its request, and that call is lost.
 */
public final class Main implements Subject {
    private static final String SELECTED = "OkHttp-Selected-Protocol";

    private Calls calls;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public Optional<String> refusal(Job job) {
        return Subject.unlessOneOf(job, "spdy/3.1");
    }

    @Override
    public void open(Job job) throws Exception {
        // Its HTTP/2 is a draft's, which nobody speaks any more.
        AlternativeHttpClientImpl.sPreferHttp2 = false;
        calls = new Calls(job);
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpResponse response = get(fetch, exchange);
        String selected = response == null ? null : response.getResponseHeader(SELECTED);
        if (selected != null) {
            exchange.protocol(selected);
        }
    }

    /** OkHttp has one word for a connection that takes no more requests, whoever closed it. */
    private HttpResponse get(Fetch fetch, Exchange exchange) throws Exception {
        try {
            return calls.get(fetch, exchange);
        } catch (TwitterException lost) {
            if (lost.getCause() instanceof IOException cause && "shutdown".equals(cause.getMessage())) {
                throw new IOException(
                        "its connection was closed before the request was sent, as OkHttp 1.5.1 does with all but five"
                                + " that carry nothing yet",
                        cause);
            }
            throw lost;
        }
    }
}
