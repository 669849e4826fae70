package twitter4j;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Collections;
import java.util.Map;
import java.util.Properties;
import twitter4j.conf.Configuration;

/** What a user can ask of HTTP/2 under Twitter4J: whether it is on, what the last answer came over, and the connections. */
public final class Http2Support {
    /** System property, and key in twitter4j.properties: {@code false} leaves everything to the library's own client. */
    public static final String SWITCH = "twitter4j.http.http2";

    private static final String FILE = "twitter4j.properties";

    /** What code has chosen; null: what the configuration says. */
    private static volatile Boolean chosen;

    private final AlternativeHttpClientImpl client;

    private Http2Support(AlternativeHttpClientImpl client) {
        this.client = client;
    }

    /**
     * Switches HTTP/2 on or off for every Twitter of this process, from its next request on, whatever the configuration says.
     * Requests under way end as they began. Connections that stand open stay so: {@link #closeIdleConnections} closes them.
     */
    public static void setEnabled(boolean enabled) {
        chosen = enabled;
    }

    /** Takes back what {@link #setEnabled} chose: each client does again what its configuration said when it was first used. */
    public static void useConfigured() {
        chosen = null;
    }

    static Boolean chosen() {
        return chosen;
    }

    /** Of the client that serves this Twitter, and every other of the same factory. */
    public static Http2Support of(Twitter twitter) {
        return of(twitter.getConfiguration());
    }

    /** Of the client that serves factories with these settings. */
    public static Http2Support of(Configuration settings) {
        HttpClient client = HttpClientFactory.getInstance(settings.getHttpClientConfiguration());
        boolean isOurs = client instanceof AlternativeHttpClientImpl;
        return new Http2Support(isOurs ? (AlternativeHttpClientImpl) client : null);
    }

    /** Whether OkHttp carries the next request; else the library's own client does, over HTTP/1.1. */
    public boolean isActive() {
        return client != null && client.exchanges() != null;
    }

    /** The protocol of the last answer, by its ALPN name: "h2" or "http/1.1". Null before the first one, and where never active. */
    public String lastProtocol() {
        OkHttpPool pool = pool();
        return pool == null ? null : pool.lastProtocol();
    }

    /** The protocol of this very answer, by its ALPN name; null where the library's own client brought it. */
    public static String protocolOf(HttpResponse answer) {
        return answer instanceof OkHttpResponse ? ((OkHttpResponse) answer).protocol() : null;
    }

    /**
     * When this answer's request was sent, in milliseconds since the epoch (also its header field {@code OkHttp-Sent-Millis}); -1
     * where the library's own client brought it.
     */
    public static long sentAtMillis(HttpResponse answer) {
        return answer instanceof OkHttpResponse ? ((OkHttpResponse) answer).sentAtMillis() : -1;
    }

    /** When its head was received, likewise ({@code OkHttp-Received-Millis}). */
    public static long receivedAtMillis(HttpResponse answer) {
        return answer instanceof OkHttpResponse ? ((OkHttpResponse) answer).receivedAtMillis() : -1;
    }

    /**
     * Where this answer came from, with the status that it came with: "NETWORK 200" ({@code OkHttp-Response-Source}); null where
     * the library's own client brought it.
     */
    public static String sourceOf(HttpResponse answer) {
        return answer instanceof OkHttpResponse ? ((OkHttpResponse) answer).source() : null;
    }

    /** How many connections have been opened so far, by the ALPN name of their protocol. Empty where never active. */
    public Map<String, Integer> connectionsByProtocol() {
        OkHttpPool pool = pool();
        return pool == null ? Collections.<String, Integer>emptyMap() : pool.connectionsByProtocol();
    }

    /** How many connections stand open now, busy or not. */
    public int openConnections() {
        OkHttpPool pool = pool();
        return pool == null ? 0 : pool.openConnections();
    }

    /** The same by the ALPN name of their protocol. */
    public Map<String, Integer> openConnectionsByProtocol() {
        OkHttpPool pool = pool();
        return pool == null ? Collections.<String, Integer>emptyMap() : pool.openConnectionsByProtocol();
    }

    /** Closes connections that nobody uses now. The next request opens one again. */
    public void closeIdleConnections() {
        OkHttpPool pool = pool();
        if (pool != null) {
            pool.closeIdleConnections();
        }
    }

    /** What OkHttp has carried stays to be told when it is switched off. */
    private OkHttpPool pool() {
        OkHttpExchanges exchanges = client == null ? null : client.exchangesSoFar();
        return exchanges == null ? null : exchanges.pool();
    }

    /** A system property goes before the file in the working folder, and that before the one on the class path. */
    static boolean isSwitchedOn() {
        String value = System.getProperty(SWITCH);
        if (value == null) {
            value = inWorkingFolder();
        }
        if (value == null) {
            value = onClassPath();
        }
        return value == null || Boolean.parseBoolean(value.trim());
    }

    private static String inWorkingFolder() {
        try (InputStream file = new FileInputStream(FILE)) {
            return read(file);
        } catch (IOException | SecurityException notThere) {
            return null;
        }
    }

    private static String onClassPath() {
        try (InputStream resource = Configuration.class.getResourceAsStream("/" + FILE)) {
            return resource == null ? null : read(resource);
        } catch (IOException unreadable) {
            return null;
        }
    }

    /** The library takes its keys with and without the leading "twitter4j." there. */
    static String read(InputStream input) throws IOException {
        Properties properties = new Properties();
        properties.load(input);
        return properties.getProperty(SWITCH, properties.getProperty(SWITCH.substring("twitter4j.".length())));
    }
}
