package wirelap.contract;

import java.net.URI;
import java.nio.file.Path;

/**
 * One thing to fetch.
 *
 * @param id its number in the job
 * @param url what to fetch
 * @param file where its body goes; null: it is read and dropped
 */
public record Fetch(int id, URI url, Path file) {
    /** The port that is connected to, which the URL need not name. */
    public int port() {
        if (url.getPort() >= 0) {
            return url.getPort();
        }
        return url.getScheme().equals("https") ? 443 : 80;
    }
}
