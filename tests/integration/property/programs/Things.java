// A model and a client with each mistake that people make: java Things model, or java Things client.
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

class Things extends FilibusterProperty.Model<Map<String, Object>> {
  @Override public List<String> reads() {
    return List.of("look");
  }

  @Override public Map<String, Object> init() throws Exception {
    System.out.println("a model prints");
    new ProcessBuilder("echo", "so does its child").inheritIO().start().waitFor();
    return Map.of("things", List.of());
  }

  @Override public List<Command> commands(Map<String, Object> state) {
    if (state.isEmpty()) return null;
    return List.of(command("add", text(3), 2), command("look", resultOf("add")), command("pair", array(integer(0, 9), oneOf("a", null))),
        command("put", record(Map.of("key", text(8), "value", constant(Map.of("int", "eger"))))), command("clear"));
  }

  @Override public boolean pre(Map<String, Object> state, String f, Object value) {
    return !f.equals("look") || isSymbol(value);
  }

  @Override public Step step(Map<String, Object> state, String f, Object value, Object answer) {
    @SuppressWarnings("unchecked") List<Object> things = (List<Object>) state.get("things");
    switch (f) {
      case "add":
        things.add(value);
        return new Step(state, things.size() - 1);
      case "look":
        if ("nothing".equals(answer)) throw new Impossible("there are things");
        return new Step(state, ANY);
      case "echo": return new Step(state, answer);
      case "null": return new Step(state, null);
      case "alone": return null;
      case "number": return new Step(Map.of(7, "seven"), ANY);
      case "bytes": return new Step(state, "bytes".getBytes());
      case "nan": return new Step(state, List.of(Double.NaN));
      case "raise": return new Step(state, things.get(7));
      default: throw new IllegalArgumentException(f);
    }
  }

  @Override public List<String> classify(Map<String, Object> state, String f, Object value, Object answer) {
    return f.equals("one") ? List.of("label") : f.equals("two") ? List.of("a", "2") : null;
  }

  static class Thing extends FilibusterProperty.Client {
    private int resets = 0;

    public List<Object> add(String value) throws IOException {
      System.out.println("adds " + value);
      return Arrays.asList(value, new String(System.in.readAllBytes()));
    }

    public String who(Object value, String process) {
      return process;
    }

    public void refuse(Object value) {
      throw new Fail("503");
    }

    public void lose(Object value) {
      throw new Info(500);
    }

    public Object crash(List<Object> value) {
      return value.get(7);
    }

    public Object insist(Object value) {
      throw new AssertionError("no");
    }

    public byte[] ask(Object value) {
      return "bytes".getBytes();
    }

    public void forget(Object value) {}

    public void nothing() {}

    String secret(Object value) {
      return "secret";
    }

    @Override public void reset() {
      ++resets;
      if (resets == 2) throw new Fail("cannot");
    }
  }

  public static void main(String[] arguments) {
    if (arguments[0].equals("model")) FilibusterProperty.run(new Things());
    else FilibusterProperty.run(new Thing());
  }
}
