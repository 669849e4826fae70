package wirelap.contract;

import java.util.ArrayList;
import java.util.List;

/**
 * A subject's own numbers of its connections, from 0, in the order in which they were first seen.
 *
 * @param <T> the library's name for a connection
 */
public final class Numbers<T> {
    private final List<T> seen = new ArrayList<>();

    /** The number of {@code connection}. */
    public synchronized int of(T connection) {
        int known = seen.indexOf(connection);
        if (known >= 0) {
            return known;
        }
        seen.add(connection);
        return seen.size() - 1;
    }
}
