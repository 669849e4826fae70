package wirelap.twitter4j407;

import twitter4j.HttpResponse;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.twitter4jcalls.Calls;

/** Twitter4J 4.0.7 as it comes: over HttpURLConnection. */
public final class Main implements Subject {
    private Calls calls;

    public static void main(String[] arguments) {
        Program.run(Main::new, arguments);
    }

    @Override
    public void open(Job job) throws Exception {
        // The pool of HttpURLConnection has properties of the process, and no settings.
        System.setProperty("http.maxConnections", Integer.toString(job.connections()));
        calls = new Calls(job);
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        HttpResponse response = calls.get(fetch, exchange);
        if (response != null) {
            // The status line counts as the field without a name.
            exchange.statusLine(response.getResponseHeader(null));
        }
    }
}
