// What the test's own certificates (tests/integration/certificates.py) are to the JDK's TLS.
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

final class Certificates {
  private static final char[] NO_PASSWORD = new char[0];

  private static Certificate certificate(Path file) throws Exception {
    return CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(Files.readAllBytes(file)));
  }

  private static KeyStore empty() throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  /** Trusts the authority that SSL_CERT_FILE names. */
  static SSLContext client() throws Exception {
    KeyStore trusted = empty();
    trusted.setCertificateEntry("authority", certificate(Path.of(System.getenv("SSL_CERT_FILE"))));
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  /** Serves with cert.pem and key.pem. */
  static SSLContext server(Path directory) throws Exception {
    String key = Files.readString(directory.resolve("key.pem")).replaceAll("-----[^-]*-----|\\s", "");
    PrivateKey secret = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(key)));
    KeyStore own = empty();
    own.setKeyEntry("own", secret, NO_PASSWORD, new Certificate[] {certificate(directory.resolve("cert.pem"))});
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, NO_PASSWORD);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), null, null);
    return context;
  }
}
