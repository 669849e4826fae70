package wirelap.contract;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.Provider;
import java.security.Security;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.List;
import java.util.function.Supplier;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** Whom a job's client trusts, and the TLS context that does so. */
public final class Trust {
    private static final String JSSE = "SunJSSE";

    private final TrustManager[] managers;
    private final Supplier<SSLContext> contexts;

    private Trust(TrustManager[] managers, boolean resumption) throws GeneralSecurityException {
        this.managers = managers;
        SSLContext only = fresh();
        // Sessions are resumed within a context. JSSE has a switch for tickets of TLS 1.2 and none for those of TLS 1.3, and
        // takes a cache of no sessions for one without bound: without resumption, every connection has its own context.
        this.contexts = resumption ? () -> only : this::freshAlways;
    }

    /** The root certificates of the job, or the system's own where it names none. */
    public static Trust of(Job job) throws GeneralSecurityException, IOException {
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(job.trust() == null ? null : roots(job.trust()));
        return new Trust(factory.getTrustManagers(), job.resumption());
    }

    /** The context. Its sessions are resumed where the job says so. */
    public SSLContext context() {
        return new TrustingContext(contexts);
    }

    /** The judge of the server's certificate. */
    public X509TrustManager manager() {
        for (TrustManager manager : managers) {
            if (manager instanceof X509TrustManager judge) {
                return judge;
            }
        }
        throw new IllegalStateException("JSSE has no judge of X.509 certificates");
    }

    /** Makes it the process's own, for libraries that have no setting for trust: every context made from now on is this one. */
    public void takeOver() {
        Security.removeProvider(ProcessProvider.NAME);
        Security.insertProviderAt(new ProcessProvider(contexts), 1);
        SSLContext.setDefault(context());
        HttpsURLConnection.setDefaultSSLSocketFactory(context().getSocketFactory());
    }

    private SSLContext fresh() throws GeneralSecurityException {
        SSLContext made = SSLContext.getInstance("TLS", JSSE);
        made.init(null, managers, null);
        return made;
    }

    private SSLContext freshAlways() {
        try {
            return fresh();
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static KeyStore roots(Path pem) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (InputStream input = Files.newInputStream(pem)) {
            int count = 0;
            for (Certificate root : CertificateFactory.getInstance("X.509").generateCertificates(input)) {
                store.setCertificateEntry("root-" + count++, root);
            }
        }
        return store;
    }

    /** Goes before JSSE when somebody asks for a context. */
    private static final class ProcessProvider extends Provider {
        static final String NAME = "wirelap";
        private static final long serialVersionUID = 1;

        ProcessProvider(Supplier<SSLContext> contexts) {
            super(NAME, "1", "TLS contexts that trust as the job says");
            for (String algorithm : List.of("TLS", "TLSv1.2", "TLSv1.3", "SSL")) {
                putService(new Service(this, "SSLContext", algorithm, TrustingContext.Spi.class.getName(), null, null) {
                    @Override
                    public Object newInstance(Object parameter) {
                        return new TrustingContext.Spi(contexts);
                    }
                });
            }
        }
    }
}
