/** Greets the name that it is asked with. */
public final class World {
  public static void main(String[] arguments) throws Exception {
    Greeting.serve(
        Integer.parseInt(arguments[0]),
        (path, query) -> {
          String name = Greeting.argument(query, "name");
          return new Greeting.Answer(200, name == null ? "" : "hello " + name);
        });
  }
}
