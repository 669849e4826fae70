package twitter4j;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import okhttp3.Call;
import okhttp3.Request;
import okhttp3.Response;

/** An answer that OkHttp brought. */
final class OkHttpResponse extends HttpResponse {
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

    @Override
    public String getResponseHeader(String name) {
        return response.header(name);
    }

    @Override
    public Map<String, List<String>> getResponseHeaderFields() {
        return response.headers().toMultimap();
    }

    /** After its end this changes nothing, and the connection is kept; before, it ends a stream that another thread reads. */
    @Override
    public void disconnect() {
        call.cancel();
        response.close();
    }
}
