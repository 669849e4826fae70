package twitter4j;

/**
 * The HTTP client that Twitter4J 4.0.7 looks up by this name and takes where it is on the class path. It hands requests to
 * OkHttp, which speaks HTTP/2 with servers that do; where OkHttp is not there, or {@link Http2Support#SWITCH} turns it off,
 * the library's own client answers as if this class were not there.
 */
public class AlternativeHttpClientImpl extends HttpClientBase {
    private static final long serialVersionUID = 1;
    private static final Logger LOGGER = Logger.getLogger(AlternativeHttpClientImpl.class);

    /** Only one of the two is there. Both are made again after deserialization, for pools do not travel. */
    private transient volatile OkHttpExchanges exchanges;

    private transient volatile HttpClientImpl plain;

    /** A client with the library's settings. */
    public AlternativeHttpClientImpl(HttpClientConfiguration settings) {
        super(settings);
    }

    @Override
    HttpResponse handleRequest(HttpRequest request) throws TwitterException {
        OkHttpExchanges over = exchanges();
        return over == null ? plain.handleRequest(request) : over.handle(request);
    }

    /** What has been seen of connections and protocols; null while the library's own client does the work. */
    OkHttpExchanges exchanges() {
        if (exchanges == null && plain == null) {
            choose();
        }
        return exchanges;
    }

    private synchronized void choose() {
        if (exchanges != null || plain != null) {
            return;
        }
        if (!Http2Support.isSwitchedOn()) {
            LOGGER.debug("HTTP/2 is switched off by " + Http2Support.SWITCH);
            plain = new HttpClientImpl(CONF);
            return;
        }
        try {
            exchanges = new OkHttpExchanges(CONF, OkHttpPool.of(CONF));
        } catch (LinkageError missing) {
            LOGGER.warn("OkHttp is not on the class path, or not of version 5: HTTP/1.1 by the library's own client");
            plain = new HttpClientImpl(CONF);
        }
    }
}
