package twitter4j;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.ConnectionPool;
import okhttp3.Credentials;
import okhttp3.EventListener;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;

/**
 * The connections of one set of HTTP settings: every Twitter of a factory shares them, and so do factories of equal settings,
 * to which the library hands the same client. Nothing here needs {@code java.util.function}, which Android has from level 24
 * on only.
 */
final class OkHttpPool {
    private static final ConcurrentMap<HttpClientConfiguration, OkHttpPool> POOLS = new ConcurrentHashMap<>();

    private final ConnectionPool connections = new ConnectionPool();
    private final ConcurrentMap<String, AtomicInteger> opened = new ConcurrentHashMap<>();
    /** Hosts that answered HTTP_1_1_REQUIRED. */
    private final Set<String> onlyHttp11 = Collections.newSetFromMap(new ConcurrentHashMap<String, Boolean>());
    /** Connections that carried a call, as long as somebody holds them: the pool does so while they stand. */
    private final Set<Connection> seen =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<Connection, Boolean>()));

    private final OkHttpClient client;
    private final OkHttpClient http11;
    private volatile String lastProtocol;

    private OkHttpPool(HttpClientConfiguration settings) {
        OkHttpClient.Builder builder = new OkHttpClient.Builder()
                .connectionPool(connections)
                // The library follows no redirects: it hands them to its user.
                .followRedirects(false)
                .followSslRedirects(false)
                .connectTimeout(millis(settings.getHttpConnectionTimeout()), TimeUnit.MILLISECONDS)
                .readTimeout(millis(settings.getHttpReadTimeout()), TimeUnit.MILLISECONDS)
                .writeTimeout(millis(settings.getHttpReadTimeout()), TimeUnit.MILLISECONDS)
                .eventListener(new Opened());
        proxy(builder, settings);
        client = builder.build();
        http11 = client.newBuilder().protocols(Collections.singletonList(Protocol.HTTP_1_1)).build();
    }

    /** The one of these settings, however many clients the library makes of them at the same time. */
    static OkHttpPool of(HttpClientConfiguration settings) {
        OkHttpPool pool = POOLS.get(settings);
        if (pool == null) {
            OkHttpPool made = new OkHttpPool(settings);
            OkHttpPool before = POOLS.putIfAbsent(settings, made);
            pool = before == null ? made : before;
        }
        return pool;
    }

    /** Asks over HTTP/2 where the server negotiates it, else over HTTP/1.1. */
    Response execute(Request request, CallHolder holder) throws IOException {
        String host = request.url().host() + ":" + request.url().port();
        if (onlyHttp11.contains(host)) {
            return execute(http11, request, holder);
        }
        try {
            return execute(client, request, holder);
        } catch (IOException failed) {
            // RFC 9113 §7: the request was not processed, and is to be repeated over HTTP/1.1.
            if (!Http11Required.is(failed)) {
                throw failed;
            }
            onlyHttp11.add(host);
            return execute(http11, request, holder);
        }
    }

    String lastProtocol() {
        return lastProtocol;
    }

    Map<String, Integer> connectionsByProtocol() {
        Map<String, Integer> counts = new TreeMap<>();
        for (Map.Entry<String, AtomicInteger> entry : opened.entrySet()) {
            counts.put(entry.getKey(), entry.getValue().get());
        }
        return counts;
    }

    int openConnections() {
        return connections.connectionCount();
    }

    Map<String, Integer> openConnectionsByProtocol() {
        Map<String, Integer> counts = new TreeMap<>();
        synchronized (seen) {
            for (Connection connection : seen) {
                if (!connection.socket().isClosed()) {
                    String name = connection.protocol().toString();
                    Integer before = counts.get(name);
                    counts.put(name, before == null ? 1 : before + 1);
                }
            }
        }
        return counts;
    }

    void closeIdleConnections() {
        connections.evictAll();
    }

    private Response execute(OkHttpClient over, Request request, CallHolder holder) throws IOException {
        Call call = over.newCall(request);
        holder.hold(call);
        Response response = call.execute();
        lastProtocol = response.protocol().toString();
        return response;
    }

    /** Zero and less mean "for ever" to HttpURLConnection; to OkHttp zero does. */
    private static long millis(int setting) {
        return Math.max(0, setting);
    }

    private static void proxy(OkHttpClient.Builder builder, final HttpClientConfiguration settings) {
        String host = settings.getHttpProxyHost();
        if (host == null || host.isEmpty()) {
            return;
        }
        Proxy.Type type = settings.isHttpProxySocks() ? Proxy.Type.SOCKS : Proxy.Type.HTTP;
        builder.proxy(new Proxy(type, InetSocketAddress.createUnresolved(host, settings.getHttpProxyPort())));
        final String user = settings.getHttpProxyUser();
        if (user == null || user.isEmpty()) {
            return;
        }
        builder.proxyAuthenticator((route, response) -> {
            if (response.request().header("Proxy-Authorization") != null) {
                // It has been refused once; asking again would go on for ever.
                return null;
            }
            String credentials = Credentials.basic(user, settings.getHttpProxyPassword());
            return response.request().newBuilder().header("Proxy-Authorization", credentials).build();
        });
    }

    /** Where a call is put before it begins, so that another thread can cancel it. */
    interface CallHolder {
        void hold(Call call);
    }

    private final class Opened extends EventListener {
        @Override
        public void connectEnd(Call call, InetSocketAddress address, Proxy proxy, Protocol protocol) {
            String name = protocol == null ? Protocol.HTTP_1_1.toString() : protocol.toString();
            opened.putIfAbsent(name, new AtomicInteger());
            opened.get(name).incrementAndGet();
        }

        @Override
        public void connectionAcquired(Call call, Connection connection) {
            seen.add(connection);
        }
    }
}
