import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.Semaphore;

/** A pool of connections to Redis, each of which one request uses at a time. */
final class Cache {
  private final String host;
  private final int port;
  private final Semaphore left;
  private final LinkedBlockingDeque<Connection> idle = new LinkedBlockingDeque<>();

  Cache(String host, int port, int size) {
    this.host = host;
    this.port = port;
    left = new Semaphore(size);
  }

  /** What Redis answers to a command: a text, a number as its digits, or null. */
  String ask(String... words) throws IOException {
    left.acquireUninterruptibly();
    try {
      Connection connection = idle.pollFirst();
      if (connection == null) connection = new Connection(new Socket(host, port));
      String reply = connection.ask(words);
      idle.addFirst(connection);
      return reply;
    } finally {
      left.release();
    }
  }

  private static final class Connection {
    private final Socket socket;
    private final InputStream input;

    Connection(Socket socket) throws IOException {
      this.socket = socket;
      socket.setTcpNoDelay(true);
      input = new BufferedInputStream(socket.getInputStream());
    }

    String ask(String... words) throws IOException {
      StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
      for (String word : words) {
        text.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
      }
      socket.getOutputStream().write(text.toString().getBytes(StandardCharsets.ISO_8859_1));
      String line = line();
      switch (line.charAt(0)) {
        case '+':
        case ':':
          return line.substring(1);
        case '$':
          return bulk(Integer.parseInt(line.substring(1)));
        default:
          socket.close();
          throw new IOException(line);
      }
    }

    private String bulk(int size) throws IOException {
      if (size < 0) return null;
      byte[] bytes = input.readNBytes(size + 2);
      if (bytes.length < size + 2) throw new EOFException();
      return new String(bytes, 0, size, StandardCharsets.ISO_8859_1);
    }

    private String line() throws IOException {
      StringBuilder out = new StringBuilder();
      for (int next = input.read(); next != '\r'; next = input.read()) {
        if (next < 0) throw new EOFException();
        out.append((char) next);
      }
      input.read();
      return out.toString();
    }
  }
}
