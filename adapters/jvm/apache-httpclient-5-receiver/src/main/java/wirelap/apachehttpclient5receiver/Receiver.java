package wirelap.apachehttpclient5receiver;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import org.apache.hc.client5.http.async.methods.AbstractBinResponseConsumer;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.HttpResponse;
import org.apache.hc.core5.http.HttpVersion;
import wirelap.contract.Exchange;

/** Writes a body as its bytes come. */
public final class Receiver extends AbstractBinResponseConsumer<Void> implements AutoCloseable {
    /** As much as may wait here: nothing does. */
    private static final int CAPACITY = 64 * 1024;

    private final Exchange exchange;
    private final OutputStream file;
    private final WritableByteChannel channel;
    private long received;

    /** For the answer of {@code exchange}, whose file it opens. */
    public Receiver(Exchange exchange) throws IOException {
        this.exchange = exchange;
        this.file = exchange.target();
        this.channel = Channels.newChannel(file);
    }

    @Override
    protected void start(HttpResponse response, ContentType type) {
        exchange.answered(response.getCode());
        exchange.protocol(response.getVersion().greaterEquals(HttpVersion.HTTP_2_0) ? "h2" : "http/1.1");
    }

    @Override
    protected int capacityIncrement() {
        return CAPACITY;
    }

    @Override
    protected void data(ByteBuffer bytes, boolean isLast) throws IOException {
        while (bytes.hasRemaining()) {
            received += channel.write(bytes);
        }
    }

    @Override
    protected Void buildResult() {
        exchange.received(received);
        return null;
    }

    @Override
    public void releaseResources() {}

    @Override
    public void close() throws IOException {
        file.close();
    }
}
