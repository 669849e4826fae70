package wirelap.contract;

/** Milliseconds since `ready` was written, on a clock that never goes back. */
final class Clock {
    private final long zero = System.nanoTime();

    double millis() {
        // Whole microseconds: what lies below is the clock's own noise.
        return Math.round((System.nanoTime() - zero) / 1e3) / 1e3;
    }
}
