package twitter4j;

/**
 * The HTTP client that Twitter4J 4.0.7 looks up by this name and takes where it is on the class path. It hands requests to
 * OkHttp, which speaks HTTP/2 with servers that do; where OkHttp is not there, or {@link Http2Support#SWITCH} turns it off,
 * the library's own client answers as if this class were not there.
 */
public class AlternativeHttpClientImpl extends HttpClientBase {
    private static final long serialVersionUID = 1;
    private static final Logger LOGGER = Logger.getLogger(AlternativeHttpClientImpl.class);

    /** Each is made when it is first needed, and again after deserialization, for pools do not travel. */
    private transient volatile OkHttpExchanges exchanges;

    private transient volatile HttpClientImpl plain;

    /** Whether the configuration allows HTTP/2: read when the client is first used. */
    private transient volatile Boolean configured;

    private transient volatile boolean lacksOkHttp;

    /** A client with the library's settings. */
    public AlternativeHttpClientImpl(HttpClientConfiguration settings) {
        super(settings);
    }

    @Override
    HttpResponse handleRequest(HttpRequest request) throws TwitterException {
        OkHttpExchanges over = exchanges();
        return over == null ? plain().handleRequest(request) : over.handle(request);
    }

    /** What carries the next request; null where the library's own client does. */
    OkHttpExchanges exchanges() {
        if (lacksOkHttp || !isSwitchedOn()) {
            return null;
        }
        OkHttpExchanges there = exchanges;
        return there == null ? overOkHttp() : there;
    }

    /** What OkHttp has carried so far, whether or not it is switched on now; null where it never did. */
    OkHttpExchanges exchangesSoFar() {
        OkHttpExchanges now = exchanges();
        return now == null ? exchanges : now;
    }

    private boolean isSwitchedOn() {
        Boolean chosen = Http2Support.chosen();
        if (chosen != null) {
            return chosen;
        }
        if (configured == null) {
            configured = Http2Support.isSwitchedOn();
            if (!configured) {
                LOGGER.debug("HTTP/2 is switched off by " + Http2Support.SWITCH);
            }
        }
        return configured;
    }

    private synchronized OkHttpExchanges overOkHttp() {
        if (exchanges == null && !lacksOkHttp) {
            try {
                exchanges = new OkHttpExchanges(CONF, OkHttpPool.of(CONF));
            } catch (LinkageError missing) {
                LOGGER.warn("OkHttp is not on the class path, or not of version 5: HTTP/1.1 by the library's own client");
                lacksOkHttp = true;
            }
        }
        return exchanges;
    }

    private synchronized HttpClientImpl plain() {
        if (plain == null) {
            plain = new HttpClientImpl(CONF);
        }
        return plain;
    }
}
