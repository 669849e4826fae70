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

    private final OkHttpPool pool;

    private Http2Support(OkHttpPool pool) {
        this.pool = pool;
    }

    /** Of the client that serves this Twitter, and every other of the same factory. */
    public static Http2Support of(Twitter twitter) {
        return of(twitter.getConfiguration());
    }

    /** Of the client that serves factories with these settings. */
    public static Http2Support of(Configuration settings) {
        HttpClient client = HttpClientFactory.getInstance(settings.getHttpClientConfiguration());
        if (!(client instanceof AlternativeHttpClientImpl)) {
            return new Http2Support(null);
        }
        OkHttpExchanges exchanges = ((AlternativeHttpClientImpl) client).exchanges();
        return new Http2Support(exchanges == null ? null : exchanges.pool());
    }

    /** Whether OkHttp carries the requests; else the library's own client does, over HTTP/1.1. */
    public boolean isActive() {
        return pool != null;
    }

    /** The protocol of the last answer, by its ALPN name: "h2" or "http/1.1". Null before the first one, and where not active. */
    public String lastProtocol() {
        return pool == null ? null : pool.lastProtocol();
    }

    /** The protocol of this very answer, by its ALPN name; null where the library's own client brought it. */
    public static String protocolOf(HttpResponse answer) {
        return answer instanceof OkHttpResponse ? ((OkHttpResponse) answer).protocol() : null;
    }

    /** How many connections have been opened so far, by the ALPN name of their protocol. Empty where not active. */
    public Map<String, Integer> connectionsByProtocol() {
        return pool == null ? Collections.<String, Integer>emptyMap() : pool.connectionsByProtocol();
    }

    /** How many connections stand open now, busy or not. */
    public int openConnections() {
        return pool == null ? 0 : pool.openConnections();
    }

    /** Closes connections that nobody uses now. The next request opens one again. */
    public void closeIdleConnections() {
        if (pool != null) {
            pool.closeIdleConnections();
        }
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
