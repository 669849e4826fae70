package wirelap.contract;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * A client under measurement. One object does the work once: a warm-up round has its own, so that the measured round finds
 * warm code and cold connections.
 */
public interface Subject extends AutoCloseable {
    /**
     * Why this job is not for this client; empty where it is. Nothing has been started by then. Unless a client says otherwise
     * it speaks HTTP/1.1 alone.
     */
    default Optional<String> refusal(Job job) {
        return unlessOneOf(job, "http/1.1");
    }

    /** Builds the client. Not measured; no connection is opened here. */
    void open(Job job) throws Exception;

    /**
     * Fetches one thing and comes back when its body has been received. Called on many threads at once where the pattern
     * asks for it.
     */
    void fetch(Fetch fetch, Exchange exchange) throws Exception;

    /** The library's version: what its module was built with, unless it comes with the JVM. */
    default String version() {
        return getClass().getPackage().getImplementationVersion();
    }

    /** How many connections the client says it opened; empty where it does not say. */
    default OptionalInt connections() {
        return OptionalInt.empty();
    }

    @Override
    default void close() throws Exception {}

    /**
     * The refusal of a client that speaks {@code transports}, but for HTTP/1.1 over TLS alone. What is known beforehand it
     * negotiates nevertheless: these libraries offer HTTP/1.1 beside it whatever they are told, at no cost in round trips.
     */
    static Optional<String> unlessOneOf(Job job, String... transports) {
        for (String transport : transports) {
            if (transport.equals(job.transport())) {
                return job.isMultiplexed() && !job.isSecure()
                        ? Optional.of(transport + " is spoken over TLS alone")
                        : Optional.empty();
            }
        }
        return Optional.of("it does not speak " + job.transport());
    }
}
