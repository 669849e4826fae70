package twitter4j;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import okhttp3.Headers;
import okhttp3.MediaType;
import okhttp3.MultipartBody;
import okhttp3.RequestBody;

/** The body of a request of Twitter4J. It can be sent again: streams are read once, when it is made. */
final class OkHttpBody {
    private static final Charset UTF_8 = Charset.forName("UTF-8");
    private static final MediaType TEXT = MediaType.get("text/plain; charset=UTF-8");
    private static final MediaType FORM = MediaType.get("application/x-www-form-urlencoded");
    private static final MediaType JSON = MediaType.get("application/json");

    private OkHttpBody() {}

    /** Null where the method has none. The library puts parameters of other methods than POST into the URL. */
    static RequestBody of(HttpRequest asked) throws IOException {
        HttpParameter[] parameters = asked.getParameters();
        if (asked.getMethod() == RequestMethod.PUT) {
            return RequestBody.create(new byte[0], null);
        }
        if (asked.getMethod() != RequestMethod.POST) {
            return null;
        }
        if (parameters == null) {
            return RequestBody.create(new byte[0], FORM);
        }
        if (HttpParameter.containsFile(parameters)) {
            return multipart(parameters);
        }
        if (HttpParameter.containsJson(parameters)) {
            return RequestBody.create(parameters[0].getJsonObject().toString().getBytes(UTF_8), JSON);
        }
        return RequestBody.create(HttpParameter.encodeParameters(parameters).getBytes(UTF_8), FORM);
    }

    private static RequestBody multipart(HttpParameter[] parameters) throws IOException {
        MultipartBody.Builder parts = new MultipartBody.Builder().setType(MultipartBody.FORM);
        for (HttpParameter parameter : parameters) {
            String disposition = "form-data; name=" + quoted(parameter.getName());
            if (parameter.isFile()) {
                disposition += "; filename=" + quoted(parameter.getFile().getName());
                parts.addPart(Headers.of("Content-Disposition", disposition), file(parameter));
            } else {
                RequestBody text = RequestBody.create(parameter.getValue().getBytes(UTF_8), TEXT);
                parts.addPart(Headers.of("Content-Disposition", disposition), text);
            }
        }
        return parts.build();
    }

    private static RequestBody file(HttpParameter parameter) throws IOException {
        MediaType type = MediaType.get(parameter.getContentType());
        if (!parameter.hasFileBody()) {
            return RequestBody.create(parameter.getFile(), type);
        }
        try (InputStream stream = parameter.getFileBody()) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] buffer = new byte[8192];
            for (int read = stream.read(buffer); read >= 0; read = stream.read(buffer)) {
                bytes.write(buffer, 0, read);
            }
            return RequestBody.create(bytes.toByteArray(), type);
        }
    }

    /** As HTML has it for form data: what would end the string, or the line, is percent-coded. */
    private static String quoted(String name) {
        return '"' + name.replace("\"", "%22").replace("\r", "%0D").replace("\n", "%0A") + '"';
    }
}
