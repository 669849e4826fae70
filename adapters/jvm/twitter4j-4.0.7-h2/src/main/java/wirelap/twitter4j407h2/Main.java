package wirelap.twitter4j407h2;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import twitter4j.Http2Support;
import twitter4j.HttpResponse;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Program;
import wirelap.contract.Subject;
import wirelap.twitter4jcalls.Calls;

/** Twitter4J 4.0.7 with the module twitter4j-okhttp, which it finds by itself. */
public final class Main implements Subject {
    /** Has a new Twitter object for each call, as code that asks the factory each time. */
    private static final String FRESH = "--fresh";

    private final boolean isFresh;
    private Calls calls;

    private Main(boolean isFresh) {
        this.isFresh = isFresh;
    }

    public static void main(String[] arguments) {
        List<String> words = new ArrayList<>(List.of(arguments));
        boolean isFresh = words.remove(FRESH);
        Program.run(() -> new Main(isFresh), words.toArray(new String[0]));
    }

    @Override
    public Optional<String> refusal(Job job) {
        return Subject.unlessOneOf(job, "h2");
    }

    @Override
    public void open(Job job) throws Exception {
        calls = new Calls(job);
    }

    @Override
    public void fetch(Fetch fetch, Exchange exchange) throws Exception {
        if (isFresh) {
            calls.begin();
        }
        HttpResponse response = calls.get(fetch, exchange);
        if (response != null) {
            exchange.protocol(Http2Support.protocolOf(response));
        }
    }

    @Override
    public OptionalInt connections() {
        int opened = 0;
        for (int count : Http2Support.of(calls.settings()).connectionsByProtocol().values()) {
            opened += count;
        }
        return OptionalInt.of(opened);
    }
}
