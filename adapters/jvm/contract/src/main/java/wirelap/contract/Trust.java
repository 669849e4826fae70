package wirelap.contract;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** Whom a job's client trusts, and the TLS context that does so. */
public final class Trust {
    private final TrustManager[] managers;
    private final SSLContext context;

    private Trust(TrustManager[] managers, boolean resumption) throws GeneralSecurityException {
        this.managers = managers;
        this.context = resumption ? fresh() : new ForgetfulContext(this);
    }

    /** The root certificates of the job, or the system's own where it names none. */
    public static Trust of(Job job) throws GeneralSecurityException, IOException {
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(job.trust() == null ? null : roots(job.trust()));
        return new Trust(factory.getTrustManagers(), job.resumption());
    }

    /** The context. Its sessions are resumed where the job says so. */
    public SSLContext context() {
        return context;
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

    /** A context that has never met anybody. */
    SSLContext fresh() throws GeneralSecurityException {
        SSLContext made = SSLContext.getInstance("TLS");
        made.init(null, managers, null);
        return made;
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
}
