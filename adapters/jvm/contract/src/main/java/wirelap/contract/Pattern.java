package wirelap.contract;

/**
 * When each fetch begins.
 *
 * @param kind one after another, all at once, or one every so often whatever has come back
 * @param everyMillis between the beginnings of staggered ones
 */
public record Pattern(Kind kind, double everyMillis) {
    /** The shape of a pattern. */
    public enum Kind {
        /** One after another. */
        SERIAL,
        /** All at once. */
        PARALLEL,
        /** One every so often, whatever has come back. */
        STAGGERED
    }
}
