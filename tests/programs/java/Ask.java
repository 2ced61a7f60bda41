// Asks the server URL, which has a certificate of the authority SSL_CERT_FILE, with both of the JDK's clients, and prints what it answers.
// The file `large` is sent, too.
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;

public class Ask {
  public static void main(String[] arguments) throws Exception {
    String url = System.getenv("URL");
    SSLContext context = Certificates.client();
    HttpsURLConnection.setDefaultSSLSocketFactory(context.getSocketFactory());
    for (String path : new String[] {"/get", "/form", "/absent"}) {
      HttpURLConnection call = (HttpURLConnection) new URL(url + path).openConnection();
      if (path.equals("/form")) {
        call.setDoOutput(true);
        call.getOutputStream().write("a=b".getBytes());
      }
      int status = call.getResponseCode();
      System.out.println(status + " " + new String((status < 400 ? call.getInputStream() : call.getErrorStream()).readAllBytes()));
    }
    HttpClient client = HttpClient.newBuilder().sslContext(context).version(HttpClient.Version.HTTP_1_1).build();
    HttpRequest[] requests = {
      HttpRequest.newBuilder(URI.create(url + "/get")).build(),
      HttpRequest.newBuilder(URI.create(url + "/absent")).build(),
      HttpRequest.newBuilder(URI.create(url + "/file")).POST(HttpRequest.BodyPublishers.ofFile(Path.of("large"))).build(),
    };
    for (HttpRequest request : requests) {
      HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
      System.out.println(answer.statusCode() + " " + answer.body());
    }
  }
}
