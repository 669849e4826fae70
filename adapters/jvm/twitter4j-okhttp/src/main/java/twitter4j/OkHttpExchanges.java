package twitter4j;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Map;
import okhttp3.Request;

/** Requests of Twitter4J over OkHttp, with the library's own rules for retries and errors. */
final class OkHttpExchanges {
    private static final Logger LOGGER = Logger.getLogger(OkHttpExchanges.class);

    private final HttpClientConfiguration settings;
    private final OkHttpPool pool;

    OkHttpExchanges(HttpClientConfiguration settings, OkHttpPool pool) {
        this.settings = settings;
        this.pool = pool;
    }

    OkHttpPool pool() {
        return pool;
    }

    /** As the library's own client: server errors and failed connections are tried again, other errors thrown at once. */
    HttpResponse handle(HttpRequest asked) throws TwitterException {
        Request request = request(asked);
        for (int tries = 0; ; tries++) {
            boolean isLast = tries >= settings.getHttpRetryCount();
            try {
                OkHttpResponse response = new OkHttpResponse(settings, pool, request);
                int status = response.getStatusCode();
                if (isSuccess(status)) {
                    return response;
                }
                if (isLast || status < HttpResponseCode.INTERNAL_SERVER_ERROR) {
                    throw new TwitterException(response.asString(), response);
                }
                response.disconnect();
            } catch (IOException failed) {
                if (isLast) {
                    throw new TwitterException(failed.getMessage(), failed, -1);
                }
            }
            pause();
        }
    }

    private static boolean isSuccess(int status) {
        return status == HttpResponseCode.FOUND
                || (status >= HttpResponseCode.OK && status < HttpResponseCode.MULTIPLE_CHOICES);
    }

    private Request request(HttpRequest asked) throws TwitterException {
        Request.Builder request = new Request.Builder();
        try {
            request.url(asked.getURL()).method(asked.getMethod().name(), OkHttpBody.of(asked));
        } catch (IOException unreadable) {
            throw new TwitterException(unreadable.getMessage(), unreadable);
        } catch (IllegalArgumentException wrong) {
            throw new TwitterException(wrong.getMessage(), wrong);
        }
        if (!settings.isGZIPEnabled()) {
            // Else OkHttp asks for gzip by itself.
            request.header("Accept-Encoding", "identity");
        }
        if (asked.getRequestHeaders() != null) {
            for (Map.Entry<String, String> field : asked.getRequestHeaders().entrySet()) {
                request.header(field.getKey(), field.getValue());
            }
        }
        String authorization =
                asked.getAuthorization() == null ? null : asked.getAuthorization().getAuthorizationHeader(asked);
        if (authorization != null) {
            request.header("Authorization", authorization);
        }
        LOGGER.debug(asked.getMethod().name() + " ", asked.getURL());
        return request.build();
    }

    private void pause() throws TwitterException {
        try {
            Thread.sleep(settings.getHttpRetryIntervalSeconds() * 1000L);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            throw new TwitterException("interrupted before a retry", new InterruptedIOException());
        }
    }
}
