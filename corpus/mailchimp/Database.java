/**
 * One replica of the database (MySQL in the real application): GET /read, POST /write/urls/URL.
 * Keeps nothing, so that every test finds the same. DB_READ_ONLY=1: refuses to write, as a replica
 * does that lost its primary.
 */
public final class Database {
  private static final boolean READ_ONLY = "1".equals(System.getenv("DB_READ_ONLY"));

  static Service.Answer answer(String method, String path) {
    if (path.equals("/read")) return new Service.Answer(200, "visits=41");
    return answerWrite(READ_ONLY);
  }

  static Service.Answer answerWrite(boolean readOnly) {
    return readOnly
        ? new Service.Answer(403, "ERROR 1290: running with the --read-only option")
        : new Service.Answer(200, "");
  }

  public static void main(String[] arguments) throws Exception {
    Service.serve(Integer.parseInt(arguments[0]), Database::answer);
  }
}
