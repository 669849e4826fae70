package wirelap.dispatch010;

import com.ning.http.client.HttpResponseStatus;
import com.ning.http.client.Response;
import com.ning.http.client.resumable.ResumableAsyncHandler;
import wirelap.contract.Exchange;

/** Ning's resumable handler, which hands the body to a file, and tells when the head came. */
final class Saving extends ResumableAsyncHandler<Response> {
    private final Exchange exchange;

    Saving(Exchange exchange) {
        this.exchange = exchange;
    }

    @Override
    public STATE onStatusReceived(HttpResponseStatus status) throws Exception {
        exchange.answered(status.getStatusCode());
        return super.onStatusReceived(status);
    }
}
