package wirelap.contract;

import com.grack.nanojson.JsonStringWriter;
import com.grack.nanojson.JsonWriter;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Supplier;

/** A subject's `main`: the job on standard input, the lines on standard output, everything else on standard error. */
public final class Program {
    /** System property: the process is being recorded. */
    private static final String PROFILED = "wirelap.profile";

    private static final int DONE = 0;
    private static final int BROKE = 1;
    private static final int UNSUPPORTED = 127;

    private final Supplier<? extends Subject> maker;
    private final PrintStream lines;

    private Program(Supplier<? extends Subject> maker, PrintStream lines) {
        this.maker = maker;
        this.lines = lines;
    }

    /** Does the job with subjects from {@code maker}, and ends the process, whatever threads a library has left. */
    public static void run(Supplier<? extends Subject> maker, String[] arguments) {
        PrintStream lines = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        // A library that prints must not be taken for the contract.
        System.setOut(System.err);
        int exit;
        try {
            exit = new Program(maker, lines).run(arguments);
        } catch (Exception | LinkageError broke) {
            System.err.println(Round.describe(broke));
            exit = BROKE;
        }
        lines.flush();
        if (Boolean.getBoolean(PROFILED)) {
            // A recording is written by a shutdown hook.
            System.exit(exit);
        }
        Runtime.getRuntime().halt(exit);
    }

    private int run(String[] arguments) throws Exception {
        if (arguments.length == 1 && arguments[0].equals("--version")) {
            Subject subject = maker.get();
            lines.println(name(subject) + " " + subject.version() + " on " + runtime());
            return DONE;
        }
        Job job = Job.read(System.in);
        Optional<String> refusal = maker.get().refusal(job);
        if (refusal.isPresent()) {
            write(JsonWriter.string().object().value("event", "unsupported").value("reason", refusal.get()));
            return UNSUPPORTED;
        }
        if (job.isSecure()) {
            // Before JSSE is first used: it reads this once. No library here asks for more than its default.
            System.setProperty("jdk.tls.client.protocols", "TLSv" + job.tls());
        }
        Clock begun = new Clock();
        int opened = 0;
        for (int round = 0; round < job.warmup(); round++) {
            opened += warm(job);
        }
        measure(job, opened, job.warmup() > 0 ? OptionalDouble.of(begun.millis()) : OptionalDouble.empty());
        return DONE;
    }

    /** How many connections it says that it opened. */
    private int warm(Job job) throws Exception {
        try (Subject subject = maker.get()) {
            subject.open(job);
            try (Round round = new Round(subject, job, new Clock(), line -> {})) {
                round.run();
            }
            return subject.connections().orElse(0);
        }
    }

    private void measure(Job job, int openedBefore, OptionalDouble warmupMillis) throws Exception {
        try (Subject subject = maker.get()) {
            Clock building = new Clock();
            subject.open(job);
            double clientMillis = building.millis();
            Heap heap = new Heap();
            Clock clock = ready(subject, clientMillis, warmupMillis);
            try (Round round = new Round(subject, job, clock, this::print)) {
                round.run();
            }
            JsonStringWriter done = JsonWriter.string().object().value("event", "done");
            subject.connections().ifPresent(count -> done.value("connections", openedBefore + count));
            write(done.value("gc_count", heap.collections())
                    .value("gc_ms", (double) heap.collectionMillis())
                    .value("heap_peak_bytes", heap.peakBytes()));
        }
    }

    private Clock ready(Subject subject, double clientMillis, OptionalDouble warmupMillis) {
        JsonStringWriter line = JsonWriter.string()
                .object()
                .value("event", "ready")
                .value("name", name(subject))
                .value("version", subject.version())
                .value("runtime", runtime())
                .value("key_log", false)
                .value("client_ms", clientMillis);
        warmupMillis.ifPresent(millis -> line.value("warmup_ms", millis));
        // Before the line goes out: whoever reads it reads a clock too, and loading this one's class takes its time.
        Clock clock = new Clock();
        write(line);
        return clock;
    }

    private static String name(Subject subject) {
        return subject.getClass().getPackage().getImplementationTitle();
    }

    private static String runtime() {
        return System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version");
    }

    private void write(JsonStringWriter line) {
        print(line.end().done());
    }

    private synchronized void print(String line) {
        lines.println(line);
        lines.flush();
    }
}
