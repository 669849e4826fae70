package wirelap.jetty12server;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** The certificate that a trial hands in as PEM files, and the TLS that is made with it. */
final class Certificate {
    private Certificate() {}

    static SslContextFactory.Server context(String version, String chain, String key) throws Exception {
        SslContextFactory.Server context = new SslContextFactory.Server();
        context.setKeyStore(store(Path.of(chain), Path.of(key)));
        context.setKeyStorePassword(PASSWORD);
        context.setIncludeProtocols("TLSv" + version);
        return context;
    }

    private static KeyStore store(Path chain, Path key) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (InputStream pem = Files.newInputStream(chain)) {
            var certificates = CertificateFactory.getInstance("X.509").generateCertificates(pem);
            store.setKeyEntry(
                    "server",
                    privateKey(key),
                    PASSWORD.toCharArray(),
                    certificates.toArray(new java.security.cert.Certificate[0]));
        }
        return store;
    }

    /** Of an elliptic curve, as PKCS #8. */
    private static PrivateKey privateKey(Path key) throws Exception {
        String pem = Files.readString(key).replaceAll("-----[^-]*-----", "").replaceAll("\\s", "");
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
    }

    /** The store is in memory alone. */
    private static final String PASSWORD = "in memory";
}
