package wirelap.jetty12server;

import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Fields;

/** The messages as requests: {@code GET /double?number=7} and {@code POST /echo}. */
final class Requests extends Handler.Abstract {
    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        String called = request.getMethod() + " " + Request.getPathInContext(request);
        switch (called) {
            case "GET /double" -> {
                Fields fields = Request.extractQueryParameters(request);
                String doubled = String.valueOf(2 * Long.parseLong(fields.getValue("number")));
                answer(response, doubled.getBytes(StandardCharsets.UTF_8), callback);
            }
            case "POST /echo" -> {
                var body = Content.Source.asByteBuffer(request);
                byte[] bytes = new byte[body.remaining()];
                body.get(bytes);
                answer(response, bytes, callback);
            }
            default -> Response.writeError(request, response, callback, 404);
        }
        return true;
    }

    private static void answer(Response response, byte[] body, Callback callback) {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/plain");
        response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.length);
        response.write(true, java.nio.ByteBuffer.wrap(body), callback);
    }
}
