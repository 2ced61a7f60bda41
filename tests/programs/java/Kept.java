// apps/forked.py as a service of Java: one process with several threads, which GETs three items of another service for each
// request with HttpURLConnection. That one keeps its connections, and makes a request again by itself when one of them failed.
//
//   java Kept PORT ITEMS-URL THREADS
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

public class Kept {
  static String seen(String url) {
    try {
      HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
      connection.setReadTimeout(500);
      int status = connection.getResponseCode();
      InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream();
      if (body != null) {
        body.readAllBytes();  // else the connection is not kept
        body.close();
      }
      return Integer.toString(status);
    } catch (ConnectException error) {
      return "refused";
    } catch (SocketTimeoutException error) {
      return "timeout";
    } catch (SocketException error) {
      return "reset";
    } catch (IOException error) {
      return error.toString();
    }
  }

  static byte[] items(String items) {
    StringBuilder body = new StringBuilder("{");
    for (int item = 1; item <= 3; ++item) {
      body.append(item > 1 ? ", " : "").append('"').append(item).append("\": \"").append(seen(items + "/" + item)).append('"');
    }
    return body.append("}").toString().getBytes(StandardCharsets.UTF_8);
  }

  static void answer(HttpExchange exchange, byte[] bytes) throws IOException {
    exchange.sendResponseHeaders(200, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  public static void main(String[] arguments) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 16);
    server.createContext("/", exchange -> answer(exchange, items(arguments[1])));
    server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(arguments[2])));
    server.start();
  }
}
