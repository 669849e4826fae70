package wirelap.contract;

import com.grack.nanojson.JsonStringWriter;
import com.grack.nanojson.JsonWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.nio.file.Files;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a client tells of one fetch as it goes. Nothing is filled in that the library did not say; a moment told twice counts
 * as told first, but for connections, where the last one carried the fetch.
 */
public final class Exchange {
    private final Fetch fetch;
    private final Clock clock;
    private final double started;
    private final Map<String, Object> told = new TreeMap<>();
    private boolean isEnded;

    Exchange(Fetch fetch, Clock clock, double started) {
        this.fetch = fetch;
        this.clock = clock;
        this.started = started;
    }

    /** The TCP connection for this fetch stands now. */
    public void connected() {
        moment("connected_ms");
    }

    /** Its TLS handshake is over now. */
    public void secured() {
        moment("secured_ms");
    }

    /**
     * The request has been handed to the connection now. A library that says so on another thread may be overtaken by the
     * answer; then it is not told.
     */
    public synchronized void sent() {
        if (!told.containsKey("first_byte_ms")) {
            moment("sent_ms");
        }
    }

    /** The head of the answer is here now. */
    public void answered(int status) {
        moment("first_byte_ms");
        tell("status", status);
    }

    /** The protocol that the library says it spoke, by its ALPN name; HTTP's own "HTTP/1.1" is as good. */
    public void protocol(String name) {
        tell("protocol", name.toLowerCase(Locale.ROOT));
    }

    /** The protocol in the status line of an answer: "HTTP/1.1 200 OK". */
    public void statusLine(String line) {
        protocol(line.split(" ")[0]);
    }

    /** The subject's own number, from 0, for the connection. */
    public void connection(int number) {
        tell("connection", number);
    }

    /** The TLS version, as JSSE names it. */
    public void tls(String version) {
        tell("tls", version);
    }

    /** Bytes of the body, for clients that write their files themselves. */
    public void received(long bytes) {
        tell("bytes", bytes);
    }

    /** Reads the body to its end, into the fetch's file where it has one. */
    public void receive(InputStream body) throws IOException {
        try (body; OutputStream file = target()) {
            received(body.transferTo(file));
        }
    }

    /** Reads the answer's body, of whatever status: the JDK has errors in a stream of their own. */
    public void receive(HttpURLConnection answer) throws IOException {
        receive(answer.getResponseCode() < 400 ? answer.getInputStream() : answer.getErrorStream());
    }

    /** Where a client that pushes bytes puts them: the fetch's file, else nowhere. */
    public OutputStream target() throws IOException {
        return fetch.file() == null ? OutputStream.nullOutputStream() : Files.newOutputStream(fetch.file());
    }

    /** Counts the bytes of the file that the client wrote itself. */
    public void wroteFile() throws IOException {
        received(Files.size(fetch.file()));
    }

    /** Its line, at its end; null where it was written before. */
    synchronized String end(String error) {
        if (isEnded) {
            return null;
        }
        isEnded = true;
        JsonStringWriter line = JsonWriter.string().object().value("event", "fetch").value("id", fetch.id());
        if (error == null && told.containsKey("status")) {
            told.forEach(line::value);
        } else {
            line.value("error", error == null ? "it came to its end without an answer" : error);
        }
        return line.value("started_ms", started).value("ended_ms", clock.millis()).end().done();
    }

    private synchronized void moment(String name) {
        if (name.equals("first_byte_ms") || name.equals("sent_ms")) {
            told.putIfAbsent(name, clock.millis());
        } else {
            told.put(name, clock.millis());
        }
    }

    private synchronized void tell(String key, Object value) {
        told.put(key, value);
    }
}
