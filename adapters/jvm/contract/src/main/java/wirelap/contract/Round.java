package wirelap.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The whole work, once, in its pattern. Every fetch has its line, also where the client hangs in it. */
final class Round implements AutoCloseable {
    private final Subject subject;
    private final Job job;
    private final Clock clock;
    private final Consumer<String> lines;
    private final ExecutorService threads = Executors.newCachedThreadPool(Round::daemon);
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(Round::daemon);
    /** HTTP/1.1 has a connection a fetch: so many fetches, so many connections. */
    private final Semaphore connections;

    Round(Subject subject, Job job, Clock clock, Consumer<String> lines) {
        this.subject = subject;
        this.job = job;
        this.clock = clock;
        this.lines = lines;
        this.connections = new Semaphore(job.isMultiplexed() ? Integer.MAX_VALUE : job.connections(), true);
    }

    /** Comes back when every fetch has its line. */
    void run() {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        int place = 0;
        double base = 0;
        List<Fetch> fetches = job.fetches();
        if (job.isPage()) {
            begin(fetches.get(0), clock.millis()).join();
            base = clock.millis();
            fetches = fetches.subList(1, fetches.size());
        }
        for (Fetch fetch : fetches) {
            switch (job.pattern().kind()) {
                case SERIAL -> begin(fetch, clock.millis()).join();
                case PARALLEL -> all.add(begin(fetch, clock.millis()));
                case STAGGERED -> all.add(beginAt(fetch, base + place++ * job.pattern().everyMillis()));
            }
        }
        all.forEach(CompletableFuture::join);
    }

    /** In an open loop a fetch counts from the moment that it was meant for. */
    private CompletableFuture<Void> beginAt(Fetch fetch, double intended) {
        CompletableFuture<Void> end = new CompletableFuture<>();
        long wait = Math.max(0, (long) Math.ceil((intended - clock.millis()) * 1000));
        timer.schedule(
                () -> begin(fetch, intended).thenAccept(end::complete), wait, TimeUnit.MICROSECONDS);
        return end;
    }

    private CompletableFuture<Void> begin(Fetch fetch, double started) {
        Exchange exchange = new Exchange(fetch, clock, started);
        CompletableFuture<Void> end = new CompletableFuture<>();
        timer.schedule(
                () -> write(exchange, "no answer within " + job.timeoutMillis() + " ms", end),
                job.timeoutMillis(),
                TimeUnit.MILLISECONDS);
        threads.execute(() -> write(exchange, fetch(fetch, exchange), end));
        return end;
    }

    /** What went wrong; null where nothing did. */
    private String fetch(Fetch fetch, Exchange exchange) {
        try {
            connections.acquire();
            try {
                subject.fetch(fetch, exchange);
                return null;
            } finally {
                connections.release();
            }
        } catch (InterruptedException stopped) {
            return "interrupted";
        } catch (Exception | LinkageError wrong) {
            return describe(wrong);
        }
    }

    private void write(Exchange exchange, String error, CompletableFuture<Void> end) {
        String line = exchange.end(error);
        if (line != null) {
            lines.accept(line);
            end.complete(null);
        }
    }

    /** The error's first line, and what caused it where that says more. Some libraries put advice on the lines below. */
    static String describe(Throwable wrong) {
        StringBuilder words = new StringBuilder(wrong.toString().lines().findFirst().orElse(""));
        Throwable inner = wrong;
        while (inner.getCause() != null && inner.getCause() != inner) {
            inner = inner.getCause();
        }
        if (inner != wrong && inner.getMessage() != null && words.indexOf(inner.getMessage()) < 0) {
            words.append(" (").append(inner).append(')');
        }
        return words.toString();
    }

    @Override
    public void close() {
        timer.shutdownNow();
        threads.shutdownNow();
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "fetch");
        thread.setDaemon(true);
        return thread;
    }
}
