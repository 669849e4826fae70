package wirelap.jetty12server;

import java.util.List;
import java.util.function.UnaryOperator;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;
import org.eclipse.jetty.websocket.server.WebSocketUpgradeHandler;

/**
 * Messages and their echoes on Jetty 12, as a server subject: WebSockets at /ws/double and /ws/echo, and the same as requests. Its
 * arguments are address, port, TLS version ({@code none}, {@code 1.2} or {@code 1.3}), and for TLS the chain and the key in PEM.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        if (args.length == 1 && args[0].equals("--version")) {
            System.out.println("jetty " + Server.getVersion() + " on Java " + Runtime.version().feature());
            return;
        }
        Server server = new Server(new QueuedThreadPool());
        ServerConnector connector = new ServerConnector(server, factories(args));
        connector.setHost(args[0]);
        connector.setPort(Integer.parseInt(args[1]));
        server.addConnector(connector);
        WebSocketUpgradeHandler sockets = WebSocketUpgradeHandler.from(server, Main::mapped);
        sockets.setHandler(new Requests());
        server.setHandler(sockets);
        server.start();
        server.join();
    }

    /** What a connection speaks: HTTP/1.1, over TLS where a version is named. */
    private static ConnectionFactory[] factories(String[] args) throws Exception {
        HttpConnectionFactory http = new HttpConnectionFactory();
        if (args[2].equals("none")) {
            return new ConnectionFactory[] {http};
        }
        ALPNServerConnectionFactory alpn = new ALPNServerConnectionFactory();
        alpn.setDefaultProtocol(http.getProtocol());
        SslConnectionFactory tls =
                new SslConnectionFactory(Certificate.context(args[2], args[3], args[4]), alpn.getProtocol());
        return new ConnectionFactory[] {tls, alpn, http};
    }

    private static void mapped(ServerWebSocketContainer container) {
        echo(container, "/ws/double", text -> String.valueOf(2 * Long.parseLong(text)));
        echo(container, "/ws/echo", text -> text);
    }

    private static void echo(ServerWebSocketContainer container, String path, UnaryOperator<String> service) {
        container.addMapping(path, (request, response, callback) -> {
            // No permessage-deflate, as with the other servers.
            response.setExtensions(List.of());
            return new Echo(service);
        });
    }

    /** Sends each message back until the client closes. */
    public static final class Echo extends Session.Listener.AbstractAutoDemanding {
        private final UnaryOperator<String> service;

        Echo(UnaryOperator<String> service) {
            this.service = service;
        }

        @Override
        public void onWebSocketText(String text) {
            getSession().sendText(service.apply(text), Callback.NOOP);
        }
    }
}
