package wirelap.contract;

/** A job that this version of the contract cannot be made of. */
final class BadJob extends Exception {
    private static final long serialVersionUID = 1;

    BadJob(String wrong) {
        super(wrong);
    }
}
