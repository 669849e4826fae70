package wirelap.contract;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonParser;
import com.grack.nanojson.JsonParserException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What a subject is asked to do: version 1 of the contract, read from one JSON object.
 *
 * @param isPage whether the first fetch is a document, without which the others are not known
 * @param transport "http/1.1", "h2", "spdy/3.1" or "spdy/3"
 * @param tls "none", "1.2" or "1.3"
 * @param isKnown whether the transport is spoken by prior knowledge instead of being negotiated
 * @param pattern when each fetch begins
 * @param connections at most, to one origin
 * @param keepAlive whether connections are used again
 * @param resumption whether TLS sessions are resumed
 * @param fetches what to fetch, in order
 * @param trust PEM file of the root to trust; null where nothing is encrypted
 * @param warmup how many times the whole work is done before it is measured
 * @param timeoutMillis how long one fetch may take
 */
public record Job(
        boolean isPage,
        String transport,
        String tls,
        boolean isKnown,
        Pattern pattern,
        int connections,
        boolean keepAlive,
        boolean resumption,
        List<Fetch> fetches,
        Path trust,
        int warmup,
        int timeoutMillis) {

    /** The version of the contract that is spoken here. */
    static final int CONTRACT = 1;

    /** Reads a job to the end of {@code input}. */
    static Job read(InputStream input) throws BadJob {
        JsonObject job;
        try {
            job = JsonParser.object().from(input);
        } catch (JsonParserException wrong) {
            throw new BadJob("the job is not a JSON object: " + wrong.getMessage());
        }
        if (job.getInt("contract") != CONTRACT) {
            throw new BadJob("contract " + job.get("contract") + " is not spoken here; version " + CONTRACT + " is");
        }
        String output = job.getString("output");
        return new Job(
                text(job, "workload").equals("page"),
                text(job, "transport"),
                text(job, "tls"),
                "known".equals(job.getString("negotiation")),
                pattern(job.getObject("pattern")),
                Math.max(1, job.getInt("connections", 6)),
                job.getBoolean("keep_alive", Boolean.TRUE),
                job.getBoolean("resumption", Boolean.TRUE),
                fetches(job.getArray("fetches"), output == null ? null : Path.of(output)),
                job.getString("trust") == null ? null : Path.of(job.getString("trust")),
                job.getInt("warmup", 0),
                job.getInt("timeout_ms", 30_000));
    }

    /** Whether the work is encrypted. */
    public boolean isSecure() {
        return !tls.equals("none");
    }

    /** Whether one connection carries many fetches at once. */
    public boolean isMultiplexed() {
        return !transport.equals("http/1.1");
    }

    /**
     * Whether every request is to close its connection; one that carries many fetches at once stays. To be said in the request
     * also where the pool keeps nothing: some are emptied by a thread of their own, and a quick next request would find the
     * connection still there.
     */
    public boolean closes() {
        return !keepAlive && !isMultiplexed();
    }

    /** How many idle connections a pool may keep. */
    public int idleConnections() {
        return keepAlive ? connections : 0;
    }

    /** At most, to all origins together: for pools that have a bound on the sum, which must not be the one that holds. */
    public int connectionsInAll() {
        return connections * fetches.size();
    }

    private static String text(JsonObject job, String key) throws BadJob {
        String value = job.getString(key);
        if (value == null) {
            throw new BadJob("the job does not say \"" + key + "\"");
        }
        return value;
    }

    private static Pattern pattern(JsonObject pattern) throws BadJob {
        String kind = pattern == null ? "serial" : text(pattern, "kind");
        return switch (kind) {
            case "serial" -> new Pattern(Pattern.Kind.SERIAL, 0);
            case "parallel" -> new Pattern(Pattern.Kind.PARALLEL, 0);
            case "staggered" -> new Pattern(Pattern.Kind.STAGGERED, pattern.getDouble("every_ms"));
            default -> throw new BadJob("there is no pattern \"" + kind + "\"");
        };
    }

    private static List<Fetch> fetches(JsonArray array, Path output) throws BadJob {
        if (array == null || array.isEmpty()) {
            throw new BadJob("the job holds no fetches");
        }
        List<Fetch> fetches = new ArrayList<>();
        for (int at = 0; at < array.size(); at++) {
            JsonObject fetch = array.getObject(at);
            if (fetch == null) {
                throw new BadJob("fetches[" + at + "] is not an object");
            }
            String file = fetch.getString("file");
            if (file != null && output == null) {
                throw new BadJob("fetches[" + at + "] names a file, and the job no output folder");
            }
            try {
                URI url = URI.create(text(fetch, "url"));
                fetches.add(new Fetch(fetch.getInt("id", at), url, file == null ? null : output.resolve(file)));
            } catch (IllegalArgumentException wrong) {
                throw new BadJob("fetches[" + at + "]: " + wrong.getMessage());
            }
        }
        return List.copyOf(fetches);
    }
}
