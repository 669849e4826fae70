package twitter4j;

import java.io.IOException;
import java.io.InputStream;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import okhttp3.Call;
import okhttp3.Request;
import okhttp3.Response;

/**
 * An answer that OkHttp brought. Beside the server's header fields it has those by which OkHttp up to version 2 told when it
 * sent and received, by which protocol, and where the answer came from.
 */
final class OkHttpResponse extends HttpResponse {
    static final String SENT = "OkHttp-Sent-Millis";
    static final String RECEIVED = "OkHttp-Received-Millis";
    static final String PROTOCOL = "OkHttp-Selected-Protocol";
    static final String SOURCE = "OkHttp-Response-Source";

    private volatile Call call;
    private final Response response;

    OkHttpResponse(HttpClientConfiguration settings, OkHttpPool pool, Request request) throws IOException {
        super(settings);
        response = pool.execute(request, begun -> call = begun);
        statusCode = response.code();
        try {
            is = body(request);
        } catch (IOException broken) {
            response.close();
            throw broken;
        }
    }

    /** The library asks for gzip itself, and OkHttp then leaves the bytes as they came. */
    private InputStream body(Request request) throws IOException {
        InputStream bytes = response.body().byteStream();
        boolean isCoded = "gzip".equalsIgnoreCase(response.header("Content-Encoding"));
        boolean hasBody = !request.method().equals("HEAD") && response.body().contentLength() != 0;
        return isCoded && hasBody ? new StreamingGZIPInputStream(bytes) : bytes;
    }

    String protocol() {
        return response.protocol().toString();
    }

    long sentAtMillis() {
        return response.sentRequestAtMillis();
    }

    long receivedAtMillis() {
        return response.receivedResponseAtMillis();
    }

    /** As OkHttp wrote it: "NETWORK 200", "CACHE 200", "CONDITIONAL_CACHE 304". */
    String source() {
        if (response.cacheResponse() == null) {
            return "NETWORK " + response.code();
        }
        Response asked = response.networkResponse();
        return asked == null ? "CACHE " + response.code() : "CONDITIONAL_CACHE " + asked.code();
    }

    /** What the server sent goes before what OkHttp tells. */
    @Override
    public String getResponseHeader(String name) {
        String sent = response.header(name);
        return sent == null ? told().get(name) : sent;
    }

    @Override
    public Map<String, List<String>> getResponseHeaderFields() {
        Map<String, List<String>> fields = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        for (Map.Entry<String, String> own : told().entrySet()) {
            fields.put(own.getKey(), Collections.singletonList(own.getValue()));
        }
        fields.putAll(response.headers().toMultimap());
        return fields;
    }

    private Map<String, String> told() {
        Map<String, String> told = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        told.put(SENT, Long.toString(sentAtMillis()));
        told.put(RECEIVED, Long.toString(receivedAtMillis()));
        told.put(PROTOCOL, protocol());
        told.put(SOURCE, source());
        return told;
    }

    /** After its end this changes nothing, and the connection is kept; before, it ends a stream that another thread reads. */
    @Override
    public void disconnect() {
        call.cancel();
        response.close();
    }
}
