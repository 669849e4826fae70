package twitter4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A class path that has this module's jar and lacks OkHttp's. */
class WithoutOkHttpTest {
    @Test
    void theLibraryAnswersByItsOwnClient() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            byte[] body = "{}".getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        String classPath = String.join(
                File.pathSeparator, place(Http2Support.class), place(WithoutOkHttpTest.class), place(Twitter.class));
        String url = "http://localhost:" + server.getAddress().getPort() + "/";
        Process child = new ProcessBuilder(java(), "-cp", classPath, Child.class.getName(), url)
                .redirectErrorStream(true)
                .start();
        String said = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        server.stop(0);
        assertEquals(true, child.waitFor(1, TimeUnit.MINUTES), said);
        assertEquals(0, child.exitValue(), said);
        assertEquals("twitter4j.AlternativeHttpClientImpl 200 active=false", said.lines().reduce((a, b) -> b).get(), said);
    }

    /** What runs there. */
    static final class Child {
        public static void main(String[] arguments) throws TwitterException {
            HttpClient client = HttpClientFactory.getInstance();
            int status = client.get(arguments[0]).getStatusCode();
            boolean isActive = Http2Support.of(new TwitterFactory().getInstance()).isActive();
            System.out.println(client.getClass().getName() + " " + status + " active=" + isActive);
        }
    }

    private static String java() {
        return Path.of(System.getProperty("java.home"), "bin", "java").toString();
    }

    private static String place(Class<?> of) throws Exception {
        return Path.of(of.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    }
}
