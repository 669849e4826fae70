package wirelap.dispatch010;

import com.ning.http.client.AsyncCompletionHandlerBase;
import com.ning.http.client.HttpResponseBodyPart;
import com.ning.http.client.HttpResponseStatus;
import com.ning.http.client.Response;
import wirelap.contract.Exchange;

/** Counts the body and keeps none of it. */
final class Dropping extends AsyncCompletionHandlerBase {
    private final Exchange exchange;
    private long received;

    Dropping(Exchange exchange) {
        this.exchange = exchange;
    }

    @Override
    public STATE onStatusReceived(HttpResponseStatus status) throws Exception {
        exchange.answered(status.getStatusCode());
        return super.onStatusReceived(status);
    }

    @Override
    public STATE onBodyPartReceived(HttpResponseBodyPart part) {
        received += part.getBodyByteBuffer().remaining();
        return STATE.CONTINUE;
    }

    @Override
    public Response onCompleted(Response response) throws Exception {
        exchange.received(received);
        return super.onCompleted(response);
    }
}
