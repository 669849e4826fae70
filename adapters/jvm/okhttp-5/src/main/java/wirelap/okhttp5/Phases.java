package wirelap.okhttp5;

import java.net.InetSocketAddress;
import java.net.Proxy;
import java.util.function.ToIntFunction;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.EventListener;
import okhttp3.Handshake;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import wirelap.contract.Exchange;

/** One call's phases, as OkHttp tells them. */
final class Phases extends EventListener {
    private final Exchange exchange;
    private final ToIntFunction<Connection> number;
    private final Runnable opened;
    private boolean isSecure;

    Phases(Exchange exchange, ToIntFunction<Connection> number, Runnable opened) {
        this.exchange = exchange;
        this.number = number;
        this.opened = opened;
    }

    @Override
    public void secureConnectStart(Call call) {
        isSecure = true;
        exchange.connected();
    }

    @Override
    public void secureConnectEnd(Call call, Handshake handshake) {
        exchange.secured();
    }

    @Override
    public void connectEnd(Call call, InetSocketAddress address, Proxy proxy, Protocol protocol) {
        opened.run();
        if (!isSecure) {
            exchange.connected();
        }
    }

    @Override
    public void connectionAcquired(Call call, Connection connection) {
        exchange.connection(number.applyAsInt(connection));
    }

    @Override
    public void requestHeadersEnd(Call call, Request request) {
        exchange.sent();
    }

    @Override
    public void responseHeadersEnd(Call call, Response response) {
        exchange.answered(response.code());
    }
}
