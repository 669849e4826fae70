package twitter4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import mockwebserver3.MockResponse;
import mockwebserver3.RecordedRequest;
import mockwebserver3.SocketEffect;
import okhttp3.Protocol;
import okio.Buffer;
import okio.GzipSink;
import okio.Okio;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The module under Twitter4J's own interface, against a local server. */
class Http2SupportTest {
    private final LocalApi api = new LocalApi();

    @AfterEach
    void stop() {
        System.clearProperty(Http2Support.SWITCH);
        Http2Support.useConfigured();
        api.close();
    }

    @Test
    void theLibraryFindsItByItselfAndEveryTwitterOfAFactorySharesOneConnection() throws Exception {
        api.answerStatuses(4);
        TwitterFactory factory = new TwitterFactory(api.settings().build());
        Twitter first = factory.getInstance();
        Twitter second = factory.getInstance();
        assertNotSame(first, second);
        for (Twitter twitter : List.of(first, second, first, second)) {
            assertEquals("it works", twitter.showStatus(20).getText());
        }
        Http2Support told = Http2Support.of(first);
        assertTrue(told.isActive());
        assertEquals("h2", told.lastProtocol());
        assertEquals(Map.of("h2", 1), told.connectionsByProtocol());
        assertEquals(1, told.openConnections());
        for (int exchange = 0; exchange < 4; exchange++) {
            RecordedRequest request = api.server.takeRequest();
            assertEquals(0, request.getConnectionIndex());
            assertTrue(request.getHeaders().get("Authorization").startsWith("OAuth "), "signed");
        }
    }

    @Test
    void factoriesOfOtherSettingsHavePoolsOfTheirOwn() throws Exception {
        api.answerStatuses(2);
        Twitter one = new TwitterFactory(api.settings().build()).getInstance();
        Twitter other = new TwitterFactory(api.settings().build()).getInstance();
        one.showStatus(20);
        other.showStatus(20);
        assertEquals(Map.of("h2", 1), Http2Support.of(one).connectionsByProtocol());
        assertEquals(Map.of("h2", 1), Http2Support.of(other).connectionsByProtocol());
        assertEquals(0, api.server.takeRequest().getConnectionIndex());
        assertEquals(1, api.server.takeRequest().getConnectionIndex());
    }

    @Test
    void aServerWithoutHttp2IsAskedOverHttp11() throws Exception {
        api.server.setProtocols(List.of(Protocol.HTTP_1_1));
        api.answerStatuses(2);
        Twitter twitter = api.twitter();
        twitter.showStatus(20);
        twitter.showStatus(20);
        assertEquals("http/1.1", Http2Support.of(twitter).lastProtocol());
        assertEquals(Map.of("http/1.1", 1), Http2Support.of(twitter).connectionsByProtocol());
    }

    @Test
    void anAnswerThatAsksForHttp11IsRepeatedOverItAndRemembered() throws Exception {
        // RFC 9113 §7: HTTP_1_1_REQUIRED.
        api.server.enqueue(new MockResponse.Builder().onRequestStart(new SocketEffect.CloseStream(0xd)).build());
        api.answerStatuses(2);
        Twitter twitter = api.twitter();
        assertEquals("it works", twitter.showStatus(20).getText());
        assertEquals("http/1.1", Http2Support.of(twitter).lastProtocol());
        twitter.showStatus(20);
        assertEquals(Map.of("h2", 1, "http/1.1", 1), Http2Support.of(twitter).connectionsByProtocol());
    }

    @Test
    void theSwitchLeavesEverythingToTheLibrary() throws Exception {
        System.setProperty(Http2Support.SWITCH, "false");
        api.answerStatuses(1);
        Twitter twitter = api.twitter();
        assertEquals("it works", twitter.showStatus(20).getText());
        Http2Support told = Http2Support.of(twitter);
        assertFalse(told.isActive());
        assertNull(told.lastProtocol());
        assertEquals(Map.of(), told.connectionsByProtocol());
        assertTrue(api.server.takeRequest().getRequestLine().endsWith("HTTP/1.1"));
    }

    @Test
    void codeSwitchesAtAnyTimeAndGoesBeforeTheConfiguration() throws Exception {
        System.setProperty(Http2Support.SWITCH, "false");
        api.answerStatuses(4);
        Twitter twitter = api.twitter();
        Http2Support told = Http2Support.of(twitter);
        for (String step : List.of("as configured", "on", "off", "on")) {
            if (!step.equals("as configured")) {
                Http2Support.setEnabled(step.equals("on"));
            }
            assertEquals("it works", twitter.showStatus(20).getText());
            assertEquals(step.equals("on"), told.isActive(), step);
            String line = api.server.takeRequest().getRequestLine();
            assertEquals(step.equals("on") ? "HTTP/2" : "HTTP/1.1", line.substring(line.lastIndexOf(' ') + 1), step);
        }
        // The connection outlived the time without it.
        assertEquals(Map.of("h2", 1), told.connectionsByProtocol());
        Http2Support.useConfigured();
        assertFalse(told.isActive());
        assertEquals(1, told.openConnections());
    }

    @Test
    void openConnectionsAreToldByProtocolUntilTheyClose() throws Exception {
        LocalApi clear = new LocalApi(Protocol.HTTP_1_1);
        try (clear) {
            api.answerStatuses(2);
            clear.answerStatuses(1);
            Twitter twitter = api.twitter();
            Http2Support told = Http2Support.of(twitter);
            assertEquals(Map.of(), told.openConnectionsByProtocol());
            twitter.showStatus(20);
            HttpClientFactory.getInstance(twitter.getConfiguration().getHttpClientConfiguration())
                    .get(clear.url("/it"))
                    .asString();
            twitter.showStatus(20);
            assertEquals(Map.of("h2", 1, "http/1.1", 1), told.openConnectionsByProtocol());
            assertEquals(2, told.openConnections());
            told.closeIdleConnections();
            assertEquals(Map.of(), told.openConnectionsByProtocol());
            assertEquals(Map.of("h2", 1, "http/1.1", 1), told.connectionsByProtocol());
        }
    }

    @Test
    void anAnswerTellsWhenItWasAskedForAndReceivedAndWhereItCameFrom() throws Exception {
        api.server.enqueue(new MockResponse.Builder().addHeader("OkHttp-Response-Source", "the server").body("{}").build());
        api.server.enqueue(new MockResponse.Builder().headersDelay(30, TimeUnit.MILLISECONDS).body("{}").build());
        HttpClient client = api.client(api.settings());
        assertEquals("the server", client.get(api.url("/first")).getResponseHeader("okhttp-response-source"));
        long before = System.currentTimeMillis();
        HttpResponse answer = client.get(api.url("/second"));
        long after = System.currentTimeMillis();
        long sent = Http2Support.sentAtMillis(answer);
        long received = Http2Support.receivedAtMillis(answer);
        assertTrue(before <= sent && sent < received && received <= after, before + " " + sent + " " + received);
        assertEquals("NETWORK 200", Http2Support.sourceOf(answer));
        assertEquals(Long.toString(sent), answer.getResponseHeader("okhttp-sent-millis"));
        assertEquals(List.of(Long.toString(received)), answer.getResponseHeaderFields().get("OkHttp-Received-Millis"));
        assertEquals(List.of("h2"), answer.getResponseHeaderFields().get("OkHttp-Selected-Protocol"));
        Http2Support.setEnabled(false);
        api.server.enqueue(new MockResponse.Builder().body("{}").build());
        HttpResponse own = client.get(api.url("/third"));
        assertEquals(-1, Http2Support.sentAtMillis(own));
        assertEquals(-1, Http2Support.receivedAtMillis(own));
        assertNull(Http2Support.sourceOf(own));
    }

    @Test
    void theSwitchIsReadFromTheLibrarysOwnFileWithAndWithoutItsPrefix() throws Exception {
        for (String line : List.of("twitter4j.http.http2=false", "http.http2 = false")) {
            assertEquals("false", Http2Support.read(new ByteArrayInputStream(line.getBytes(StandardCharsets.UTF_8))));
        }
        assertNull(Http2Support.read(new ByteArrayInputStream(new byte[0])));
    }

    @Test
    void aFormIsPostedAsTheLibraryPostsIt() throws Exception {
        api.answerStatuses(1);
        assertEquals("it works", api.twitter().updateStatus("a b & c").getText());
        RecordedRequest request = api.server.takeRequest();
        assertEquals("POST", request.getMethod());
        assertEquals("application/x-www-form-urlencoded", request.getHeaders().get("Content-Type"));
        assertTrue(request.getBody().utf8().contains("status=a%20b%20%26%20c"), request.getBody().utf8());
    }

    @Test
    void anUploadFromAStreamIsWholeAlsoWhenItIsTriedAgain() throws Exception {
        api.server.enqueue(new MockResponse.Builder().code(503).build());
        api.server.enqueue(new MockResponse.Builder().body("{}").build());
        HttpClient client = api.client(api.settings().setHttpRetryCount(1).setHttpRetryIntervalSeconds(0));
        ByteArrayInputStream picture = new ByteArrayInputStream("picture".getBytes(StandardCharsets.UTF_8));
        HttpParameter[] parts = {
            new HttpParameter("media", "a\"b.png", picture), new HttpParameter("name", "kleine Brücke"),
        };
        assertEquals(200, client.post(api.url("/upload"), parts, null, null).getStatusCode());
        api.server.takeRequest();
        RecordedRequest again = api.server.takeRequest();
        String body = again.getBody().utf8();
        assertTrue(again.getHeaders().get("Content-Type").startsWith("multipart/form-data; boundary="));
        assertTrue(body.contains("name=\"media\"; filename=\"a%22b.png\"\r\nContent-Type: image/png\r\n"), body);
        assertTrue(body.contains("\r\n\r\npicture\r\n"), body);
        assertTrue(body.contains("kleine Brücke"), body);
    }

    @Test
    void everyMethodGoesOutAsItself() throws Exception {
        HttpClient client = api.client(api.settings());
        HttpParameter[] parameters = {new HttpParameter("a", 1)};
        for (int answer = 0; answer < 4; answer++) {
            api.server.enqueue(new MockResponse.Builder().build());
        }
        client.put(api.url("/it"), parameters, null, null).asString();
        client.delete(api.url("/it"), parameters, null, null).asString();
        client.head(api.url("/it"));
        client.post(api.url("/it")).asString();
        assertEquals("PUT /it?a=1", line(api.server.takeRequest()));
        assertEquals("DELETE /it?a=1", line(api.server.takeRequest()));
        assertEquals("HEAD /it", line(api.server.takeRequest()));
        assertEquals("POST /it", line(api.server.takeRequest()));
    }

    @Test
    void gzipIsUndoneAndNotAskedForWhereItIsTurnedOff() throws Exception {
        Buffer coded = new Buffer();
        try (var sink = Okio.buffer(new GzipSink(coded))) {
            sink.writeUtf8("{\"coded\":true}");
        }
        api.server.enqueue(new MockResponse.Builder().addHeader("Content-Encoding", "gzip").body(coded).build());
        api.server.enqueue(new MockResponse.Builder().body("{}").build());
        HttpResponse response = api.client(api.settings()).get(api.url("/gzip"));
        assertEquals("h2", Http2Support.protocolOf(response));
        assertTrue(response.asJSONObject().getBoolean("coded"));
        api.client(api.settings().setGZIPEnabled(false)).get(api.url("/plain")).asString();
        assertEquals("gzip", api.server.takeRequest().getHeaders().get("Accept-Encoding"));
        assertEquals("identity", api.server.takeRequest().getHeaders().get("Accept-Encoding"));
    }

    @Test
    void anErrorOfTheApiIsThrownAtOnceWithItsWords() {
        String words = "{\"errors\":[{\"message\":\"No status found with that ID.\",\"code\":144}]}";
        api.server.enqueue(new MockResponse.Builder().code(404).body(words).build());
        Twitter twitter = new TwitterFactory(api.settings().setHttpRetryCount(3).build()).getInstance();
        TwitterException thrown = assertThrows(TwitterException.class, () -> twitter.showStatus(1));
        assertEquals(404, thrown.getStatusCode());
        assertEquals(144, thrown.getErrorCode());
        assertEquals(1, api.server.getRequestCount());
    }

    @Test
    void aReadTimeOutOfTheSettingsHolds() {
        // Nothing is enqueued: the server never answers.
        Twitter twitter = new TwitterFactory(api.settings().setHttpReadTimeout(300).build()).getInstance();
        TwitterException thrown = assertThrows(TwitterException.class, () -> twitter.showStatus(1));
        assertTrue(thrown.isCausedByNetworkIssue(), thrown.toString());
    }

    @Test
    void aProxyIsAskedWithItsCredentialsAndRefusalIsNotRepeated() throws Exception {
        LocalApi proxy = new LocalApi(Protocol.HTTP_1_1);
        try (proxy) {
            proxy.server.enqueue(new MockResponse.Builder().code(407).addHeader("Proxy-Authenticate", "Basic realm=x").build());
            proxy.server.enqueue(new MockResponse.Builder().body("{}").build());
            HttpClient client = api.client(api.settings()
                    .setHttpProxyHost("localhost")
                    .setHttpProxyPort(proxy.server.getPort())
                    .setHttpProxyUser("me")
                    .setHttpProxyPassword("secret"));
            assertEquals(200, client.get("http://api.invalid/it").getStatusCode());
            assertNull(proxy.server.takeRequest().getHeaders().get("Proxy-Authorization"));
            assertEquals("Basic bWU6c2VjcmV0", proxy.server.takeRequest().getHeaders().get("Proxy-Authorization"));
        }
    }

    @Test
    void aSerializedTwitterFindsItsPoolAgain() throws Exception {
        api.answerStatuses(2);
        Twitter twitter = api.twitter();
        twitter.showStatus(20);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(twitter);
        }
        Twitter again;
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            again = (Twitter) in.readObject();
        }
        again.showStatus(20);
        assertEquals(Map.of("h2", 1), Http2Support.of(again).connectionsByProtocol());
    }

    @Test
    void clientsThatAreMadeAtTheSameTimeShareThePool() {
        HttpClientConfiguration settings = api.settings().build().getHttpClientConfiguration();
        // The library's own cache may make two in a race.
        OkHttpExchanges one = new AlternativeHttpClientImpl(settings).exchanges();
        OkHttpExchanges other = new AlternativeHttpClientImpl(settings).exchanges();
        assertSame(one.pool(), other.pool());
    }

    private static String line(RecordedRequest request) {
        return request.getMethod() + " " + request.getTarget();
    }
}
