package twitter4j;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import mockwebserver3.MockResponse;
import mockwebserver3.MockWebServer;
import okhttp3.Protocol;
import okhttp3.tls.HandshakeCertificates;
import okhttp3.tls.HeldCertificate;
import twitter4j.conf.ConfigurationBuilder;

/** A server of the API's on loopback, whose certificate this process trusts. */
final class LocalApi implements AutoCloseable {
    private static final AtomicInteger SERIAL = new AtomicInteger();
    private static final HeldCertificate CERTIFICATE = trusted();

    final MockWebServer server = new MockWebServer();

    LocalApi() {
        this(null);
    }

    /** In the clear and of this protocol alone; null: over TLS, HTTP/2 and HTTP/1.1. */
    LocalApi(Protocol clear) {
        if (clear == null) {
            server.useHttps(new HandshakeCertificates.Builder()
                    .heldCertificate(CERTIFICATE)
                    .build()
                    .sslSocketFactory());
        } else {
            server.setProtocols(List.of(clear));
        }
        try {
            server.start();
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    String url(String path) {
        return server.url(path).toString();
    }

    /** Settings that no other test has, so that its pool is its own. */
    ConfigurationBuilder settings() {
        return new ConfigurationBuilder()
                .setRestBaseURL(url("/1.1/"))
                .setHttpReadTimeout(20_000 + SERIAL.getAndIncrement())
                .setOAuthConsumerKey("key")
                .setOAuthConsumerSecret("secret")
                .setOAuthAccessToken("1-token")
                .setOAuthAccessTokenSecret("token secret");
    }

    Twitter twitter() {
        return new TwitterFactory(settings().build()).getInstance();
    }

    HttpClient client(ConfigurationBuilder settings) {
        return HttpClientFactory.getInstance(settings.build().getHttpClientConfiguration());
    }

    void answerStatuses(int count) {
        String status = "{\"id\":20,\"created_at\":\"Tue Mar 21 20:50:14 +0000 2006\",\"text\":\"it works\"}";
        for (int answer = 0; answer < count; answer++) {
            server.enqueue(new MockResponse.Builder().body(status).build());
        }
    }

    @Override
    public void close() {
        server.close();
    }

    /** The library has no setting for trust: it takes the process's own. */
    private static HeldCertificate trusted() {
        HeldCertificate certificate =
                new HeldCertificate.Builder().addSubjectAlternativeName("localhost").build();
        try {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setCertificateEntry("root", certificate.certificate());
            File file = File.createTempFile("trust", ".p12");
            file.deleteOnExit();
            try (OutputStream out = new FileOutputStream(file)) {
                store.store(out, "changeit".toCharArray());
            }
            System.setProperty("javax.net.ssl.trustStore", file.getPath());
            System.setProperty("javax.net.ssl.trustStorePassword", "changeit");
            return certificate;
        } catch (GeneralSecurityException | IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
