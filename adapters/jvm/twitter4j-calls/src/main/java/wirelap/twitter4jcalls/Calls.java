package wirelap.twitter4jcalls;

import java.util.concurrent.atomic.AtomicInteger;
import twitter4j.HttpClient;
import twitter4j.HttpClientFactory;
import twitter4j.HttpResponse;
import twitter4j.TwitterException;
import twitter4j.TwitterFactory;
import twitter4j.auth.Authorization;
import twitter4j.auth.AuthorizationFactory;
import twitter4j.conf.Configuration;
import twitter4j.conf.ConfigurationBuilder;
import wirelap.contract.Exchange;
import wirelap.contract.Fetch;
import wirelap.contract.Job;
import wirelap.contract.Trust;

/**
 * Calls as Twitter4J makes them: through the HTTP client that its factory finds on the class path, each signed by OAuth with
 * keys that open nothing. The address is the job's, which need not be one of the API's, and the answer need not be JSON.
 */
public final class Calls {
    /** The library keeps a client for ever by its settings: a round of its own needs settings of its own. */
    private static final AtomicInteger ROUNDS = new AtomicInteger();

    private final Configuration settings;
    private final Authorization authorization;
    private volatile HttpClient client;

    /** With the job's time-outs. Twitter4J has no setting for trust: the job's becomes the process's. */
    public Calls(Job job) throws Exception {
        if (job.isSecure()) {
            Trust.of(job).takeOver();
        }
        settings = new ConfigurationBuilder()
                .setHttpConnectionTimeout(job.timeoutMillis())
                .setHttpReadTimeout(job.timeoutMillis() + ROUNDS.getAndIncrement())
                .setOAuthConsumerKey("key")
                .setOAuthConsumerSecret("secret")
                .setOAuthAccessToken("1-token")
                .setOAuthAccessTokenSecret("secret")
                .build();
        authorization = AuthorizationFactory.getInstance(settings);
        client = HttpClientFactory.getInstance(settings.getHttpClientConfiguration());
        if (job.closes()) {
            client.addDefaultRequestHeader("Connection", "close");
        }
    }

    /** Asks the library anew, for a Twitter of these settings and for its client. */
    public void begin() {
        Configuration asked = new TwitterFactory(settings).getInstance().getConfiguration();
        client = HttpClientFactory.getInstance(asked.getHttpClientConfiguration());
    }

    /** The settings that the client serves. */
    public Configuration settings() {
        return settings;
    }

    /** One call; null where the API said that it went wrong, which the exchange has then been told. */
    public HttpResponse get(Fetch fetch, Exchange exchange) throws Exception {
        HttpResponse response;
        try {
            response = client.get(fetch.url().toString(), null, authorization, null);
        } catch (TwitterException refused) {
            if (refused.getStatusCode() < 0) {
                throw refused;
            }
            // The library has read the body by then.
            exchange.answered(refused.getStatusCode());
            return null;
        }
        exchange.answered(response.getStatusCode());
        exchange.receive(response.asStream());
        return response;
    }
}
