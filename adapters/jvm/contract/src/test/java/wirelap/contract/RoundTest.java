package wirelap.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonParser;
import com.grack.nanojson.JsonParserException;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RoundTest {
    private final List<String> lines = new CopyOnWriteArrayList<>();

    @Test
    void everyFetchHasOneLineAlsoThatWhichFailsAndThatWhichHangs() throws JsonParserException {
        CountDownLatch never = new CountDownLatch(1);
        run(job(Pattern.Kind.SERIAL, 3, "h2", 200), (fetch, exchange) -> {
            if (fetch.id() == 1) {
                throw new IllegalStateException("broken\nsee the manual", new RuntimeException("by this"));
            }
            if (fetch.id() == 2) {
                never.await();
            }
            exchange.answered(204);
        });
        assertEquals(3, lines.size());
        assertEquals(204, line(0).getInt("status"));
        assertEquals(
                "java.lang.IllegalStateException: broken (java.lang.RuntimeException: by this)",
                line(1).getString("error"));
        assertTrue(line(2).getString("error").contains("200 ms"), lines.get(2));
    }

    @Test
    void anAnswerThatNeverCameIsAnError() throws JsonParserException {
        run(job(Pattern.Kind.SERIAL, 1, "h2", 10_000), (fetch, exchange) -> {});
        assertTrue(line(0).has("error") && !line(0).has("status"), lines.get(0));
    }

    @Test
    void http11HasAsManyFetchesAtOnceAsTheJobHasConnections() {
        AtomicInteger now = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        run(job(Pattern.Kind.PARALLEL, 12, "http/1.1", 10_000), (fetch, exchange) -> {
            most.accumulateAndGet(now.incrementAndGet(), Math::max);
            Thread.sleep(5);
            now.decrementAndGet();
            exchange.answered(200);
        });
        assertEquals(12, lines.size());
        assertTrue(most.get() <= 2, most + " at once");
    }

    @Test
    void parallelFetchesOfAMultiplexedTransportAllRunAtOnce() {
        CountDownLatch all = new CountDownLatch(12);
        run(job(Pattern.Kind.PARALLEL, 12, "h2", 30_000), (fetch, exchange) -> {
            all.countDown();
            all.await();
            exchange.answered(200);
        });
        assertTrue(lines.stream().allMatch(line -> line.contains("\"status\":200")), lines.toString());
    }

    @Test
    void aPageBeginsWithItsDocument() {
        Job job = job(Pattern.Kind.PARALLEL, 3, "h2", 10_000);
        Job page = new Job(
                true, "h2", "none", false, job.pattern(), 2, true, true, job.fetches(), null, 0, job.timeoutMillis());
        AtomicInteger begun = new AtomicInteger();
        run(page, (fetch, exchange) -> {
            int before = begun.getAndIncrement();
            Thread.sleep(20);
            exchange.answered(fetch.id() == 0 && (before != 0 || begun.get() != 1) ? 500 : 200);
        });
        assertTrue(lines.stream().allMatch(line -> line.contains("\"status\":200")), lines.toString());
    }

    @Test
    void aProtocolIsToldByItsAlpnNameHoweverTheLibraryWritesIt() throws JsonParserException {
        run(job(Pattern.Kind.SERIAL, 2, "http/1.1", 10_000), (fetch, exchange) -> {
            exchange.answered(200);
            if (fetch.id() == 0) {
                exchange.statusLine("HTTP/1.1 200 OK");
            } else {
                exchange.protocol("HTTP/1.1");
            }
        });
        assertEquals("http/1.1", line(0).getString("protocol"));
        assertEquals("http/1.1", line(1).getString("protocol"));
    }

    @Test
    void connectionsAreNumberedAsTheyAreFirstSeen() {
        Numbers<String> numbers = new Numbers<>();
        assertEquals(List.of(0, 1, 0), List.of(numbers.of("a"), numbers.of("b"), numbers.of("a")));
    }

    private interface Work {
        void fetch(Fetch fetch, Exchange exchange) throws Exception;
    }

    private void run(Job job, Work work) {
        Subject subject = new Subject() {
            @Override
            public void open(Job unused) {}

            @Override
            public void fetch(Fetch fetch, Exchange exchange) throws Exception {
                work.fetch(fetch, exchange);
            }
        };
        try (Round round = new Round(subject, job, new Clock(), lines::add)) {
            round.run();
        }
    }

    private static Job job(Pattern.Kind kind, int fetches, String transport, int timeoutMillis) {
        URI url = URI.create("http://origin.test/");
        List<Fetch> all = IntStream.range(0, fetches).mapToObj(id -> new Fetch(id, url, null)).toList();
        return new Job(false, transport, "none", false, new Pattern(kind, 0), 2, true, true, all, null, 0, timeoutMillis);
    }

    private JsonObject line(int at) throws JsonParserException {
        return JsonParser.object().from(lines.get(at));
    }
}
