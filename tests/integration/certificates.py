"""A certificate authority of the test's own, and a certificate of it for this machine; what each client library reads
to trust it."""
import subprocess

HOSTS = "DNS:localhost,IP:127.0.0.1,IP:::1"


def openssl(directory, *words):
    subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)


def make(directory, days=30):
    """Makes ca.pem, cert.pem, key.pem. Made once for all tests of a build."""
    directory.mkdir(parents=True, exist_ok=True)
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(directory, "req", "-x509", *new_key, "-keyout", "ca-key.pem", "-out", "ca.pem", "-days", str(days), "-subj", "/CN=test authority")
    openssl(directory, "req", *new_key, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=localhost")
    (directory / "extensions").write_text(f"subjectAltName={HOSTS}\n")
    openssl(directory, "x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-out", "cert.pem",
            "-days", str(days), "-extfile", "extensions")
    return directory


def trusted(directory):
    """The environment in which clients trust the authority."""
    authority = str(directory / "ca.pem")
    return {"SSL_CERT_FILE": authority, "REQUESTS_CA_BUNDLE": authority, "CURL_CA_BUNDLE": authority, "NODE_EXTRA_CA_CERTS": authority}
