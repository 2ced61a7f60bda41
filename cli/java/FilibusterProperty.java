// Models and clients for `filibuster property`, in Java 17 and later. One file, no other libraries: copy it (into a package, if yours are
// in one).
//
// A model says what the application does, in the simplest way. This one is of a list, to which `append` answers the index:
//
//   class ListModel extends FilibusterProperty.Model<List<Object>> {
//     @Override public List<String> reads() { return List.of("get"); }
//
//     @Override public List<Object> init() { return List.of(); }
//
//     @Override public List<Command> commands(List<Object> state) {
//       return List.of(command("append", text(8)), command("get", integer(0, state.size()), 2));
//     }
//
//     @Override public Step step(List<Object> state, String f, Object value, Object answer) {
//       if (f.equals("append")) {
//         state.add(value);
//         return new Step(state, state.size() - 1);
//       }
//       int index = ((Long) value).intValue();
//       return new Step(state, index < state.size() ? state.get(index) : null);
//     }
//
//     public static void main(String[] arguments) { FilibusterProperty.run(new ListModel()); }
//   }
//
// A client does the same commands with the application, and says what it saw:
//
//   class Http extends FilibusterProperty.Client {
//     public Object append(String value) throws Exception {
//       HttpResponse<String> answer = post("/", value);
//       if (answer.statusCode() == 503) throw new Fail("503"); // it has certainly not happened
//       if (answer.statusCode() != 200) throw new Info(answer.statusCode()); // nobody knows
//       return Long.valueOf(answer.body());
//     }
//
//     public Object get(Long value) throws Exception { ... }
//
//     @Override public void reset() throws Exception { post("/reset", ""); } // makes the state again that the model begins with
//
//     public static void main(String[] arguments) { FilibusterProperty.run(new Http()); }
//   }
//
// A value of JSON is a Map with texts as keys, a List, a String, a Long, a Double, a Boolean or null; whole numbers that are no Long are
// BigIntegers. Maps and lists that come may be changed.
//
// Each is a program that answers questions, one JSON text a line, which the daemon asks on its standard input. What they print
// goes to the standard error.

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

public final class FilibusterProperty {
  private FilibusterProperty() {}

  private static final class Word {
    private final String name;

    Word(String name) {
      this.name = name;
    }

    @Override public String toString() {
      return name;
    }
  }

  // ---- what people write ----

  /** What the application does. Every question brings its state, so nothing need be kept in fields, and a state may be changed in place. */
  public abstract static class Model<State> {
    /** The second of a Step: whatever is answered will do. */
    public static final Object ANY = new Word("ANY");

    /** The answer that step() and classify() are given where nobody saw one. */
    public static final Object UNKNOWN = new Word("UNKNOWN");

    /** In this state of the model, a command cannot have been answered so. */
    public static class Impossible extends RuntimeException {
      public Impossible(Object why) {
        super(String.valueOf(why));
      }
    }

    /** Of command(). */
    public record Command(String f, Object value, long weight) {}

    /** The state after a command, and what it must have been answered. */
    public record Step(Object state, Object answer) {}

    /** The commands that never change the state. */
    public List<String> reads() {
      return List.of();
    }

    /** The state after a reset. */
    public abstract State init() throws Exception;

    /** The commands that may come next. */
    public abstract List<Command> commands(State state) throws Exception;

    /** Whether the command may be called in this state. A shortened program has only commands that may. */
    public boolean pre(State state, String f, Object value) throws Exception {
      return true;
    }

    /**
     * `answer` is what the command was answered. It is a symbol while programs are made (isSymbol), and UNKNOWN where nobody saw it. Throws
     * Impossible where the command cannot have had this answer in this state.
     */
    public abstract Step step(State state, String f, Object value, Object answer) throws Exception;

    /** Texts under which this step is counted. */
    public List<String> classify(State state, String f, Object value, Object answer) throws Exception {
      return List.of();
    }

    /** A whole number from `low` to `high`, both included. */
    public static Object integer(long low, long high) {
      return Map.of("int", List.of(low, high));
    }

    /** A text of at most `max` characters. */
    public static Object text(long max) {
      return Map.of("text", Map.of("max", max));
    }

    /** One of these values, as they stand. */
    public static Object oneOf(Object... values) {
      return Map.of("one_of", Arrays.asList(values));
    }

    /** A list with a value of each generator. */
    public static Object array(Object... generators) {
      return Map.of("array", Arrays.asList(generators));
    }

    /** An object with a value of each generator under its name. */
    public static Object record(Map<String, ?> generators) {
      return Map.of("object", generators);
    }

    /** What an earlier command `f` of the same program was answered. */
    public static Object resultOf(String f) {
      return Map.of("result_of", f);
    }

    /** This value, also if it looks like a generator. */
    public static Object constant(Object value) {
      return object("value", value);
    }

    public static Command command(String f) {
      return command(f, null);
    }

    public static Command command(String f, Object value) {
      return command(f, value, 1);
    }

    /** A command that may come next. `value` is a generator, or a constant; `weight` says how often it is chosen beside others. */
    public static Command command(String f, Object value, long weight) {
      return new Command(f, value, weight);
    }

    /** Whether this stands for an answer that is not known yet: while a program is made, no command has been executed. */
    public static boolean isSymbol(Object value) {
      return value instanceof Map<?, ?> map && map.size() == 1 && map.containsKey("result");
    }
  }

  /**
   * Executes commands: each has a public method of its name, which takes the value, or the value and the name of its process, a String, and
   * returns the answer, or throws Fail or Info. Any other exception counts as Info.
   */
  public abstract static class Client {
    /** A command had no effect, for certain. */
    public static class Fail extends RuntimeException {
      public Fail(Object why) {
        super(String.valueOf(why));
      }
    }

    /** Nobody knows whether a command had its effect, or will still have it. */
    public static class Info extends RuntimeException {
      public Info(Object why) {
        super(String.valueOf(why));
      }
    }

    /** Makes the state again that the model begins with. */
    public void reset() throws Exception {}
  }

  /** Answers questions about the model, until there are no more. */
  public static void run(Model<?> model) {
    new Program(question -> answerOfModel(model, question)).run();
  }

  /** Executes commands by the client, until there are no more. */
  public static void run(Client client) {
    new Program(question -> answerOfClient(client, question)).run();
  }

  // ---- the questions ----

  /** What the daemon is told instead of an answer. */
  private static final class Wrong extends RuntimeException {
    Wrong(String what) {
      super(what);
    }
  }

  private static Map<String, Object> object(String name, Object value) {
    Map<String, Object> made = new LinkedHashMap<>();
    made.put(name, value);
    return made;
  }

  private static Object member(Map<String, Object> question, String name) {
    if (!question.containsKey(name)) throw new Wrong("the question has no '" + name + "': " + Json.text(question));
    return question.get(name);
  }

  private static String quoted(Object name) {
    return name instanceof String ? "'" + name + "'" : Json.text(name);
  }

  /** Java does not tell the line of a method. */
  private static String where(Object of, String method) {
    return " (" + of.getClass().getName() + "." + method + ")";
  }

  private static Map<String, Object> answerOfModel(Model<?> of, Map<String, Object> question) throws Exception {
    // A state of another type fails in the model's own method, which knows the type.
    @SuppressWarnings("unchecked") Model<Object> model = (Model<Object>) of;
    Object asked = member(question, "ask");
    if ("init".equals(asked)) {
      Map<String, Object> out = object("state", Json.checked(model.init(), "the state", where(model, "init")));
      out.put("reads", Json.checked(model.reads(), "reads", where(model, "reads")));
      return out;
    }
    if (!(asked instanceof String) || !List.of("commands", "pre", "step", "classify").contains(asked))
      throw new Wrong("a model is not asked " + quoted(asked));
    Object state = member(question, "state");
    if (asked.equals("commands")) return object("commands", commands(model, state));
    String f = String.valueOf(member(question, "f"));
    Object value = question.get("value");
    if (asked.equals("pre")) return object("holds", model.pre(state, f, value));
    Object answer = question.containsKey("answer") ? question.get("answer") : Model.UNKNOWN;
    if (asked.equals("classify")) {
      List<String> labels = model.classify(state, f, value, answer);
      return object("labels", Json.checked(labels == null ? List.of() : labels, "a label of " + quoted(f), where(model, "classify")));
    }
    Model.Step stepped;
    try {
      stepped = model.step(state, f, value, answer);
    } catch (Model.Impossible why) {
      return object("impossible", why.getMessage());
    }
    String where = where(model, "step");
    if (stepped == null) throw new Wrong("step() returned null for " + quoted(f) + ", and not a state and an answer" + where);
    Map<String, Object> out = object("state", Json.checked(stepped.state(), "the state after " + quoted(f), where));
    // Whoever hands on the answer that nobody saw has no opinion of it.
    if (stepped.answer() != Model.ANY && stepped.answer() != Model.UNKNOWN)
      out.put("answer", Json.checked(stepped.answer(), "the answer of " + quoted(f), where));
    return out;
  }

  private static List<Object> commands(Model<Object> model, Object state) throws Exception {
    List<Model.Command> found = model.commands(state);
    if (found == null) throw new Wrong("commands() returned null, and not a list of command(...)" + where(model, "commands"));
    List<Object> rows = new ArrayList<>();
    for (Model.Command each : found) {
      Map<String, Object> row = object("f", each.f());
      row.put("value", Json.checked(each.value(), "a command", where(model, "commands")));
      row.put("weight", each.weight());
      rows.add(row);
    }
    return rows;
  }

  private static Map<String, Object> answerOfClient(Client client, Map<String, Object> question) throws Exception {
    Object done = member(question, "do");
    if ("reset".equals(done)) {
      client.reset();
      return object("ok", null);
    }
    Method method = method(client, done);
    Object[] given = arguments(method, question, where(client, method.getName()));
    Object answer;
    try {
      answer = method.invoke(client, given);
    } catch (InvocationTargetException thrown) {
      Throwable why = thrown.getCause();
      if (why instanceof Client.Fail) return object("fail", why.getMessage());
      if (why instanceof Client.Info) return object("info", why.getMessage());
      // What is wrong with the program itself, a class that is not there for one, is no outcome.
      if (!(why instanceof Exception) && !(why instanceof AssertionError)) throw (Error) why;
      why.printStackTrace();
      return object("info", thrown(why));
    }
    return object("ok", Json.checked(answer, "the answer of " + quoted(done), where(client, method.getName())));
  }

  /** What every object has is no command, and neither is a program's main. */
  private static Method method(Client client, Object name) {
    for (Method method : client.getClass().getMethods()) {
      boolean own = Client.class.isAssignableFrom(method.getDeclaringClass()) && !method.isBridge()
          && !Modifier.isStatic(method.getModifiers());
      if (!own || !method.getName().equals(name)) continue;
      method.setAccessible(true); // the class itself may be package-private
      return method;
    }
    throw new Wrong("the client " + client.getClass().getName() + " has no public method " + quoted(name));
  }

  /** A method that cannot take what it is given is a mistake, and not an outcome that nobody knows. */
  private static Object[] arguments(Method method, Map<String, Object> question, String where) {
    Class<?>[] types = method.getParameterTypes();
    if (types.length < 1 || types.length > 2 || (types.length == 2 && types[1] != String.class))
      throw new Wrong(method.getName() + "() of the client must take a value, or a value and a String, the name of its process" + where);
    Object value = question.get("value");
    if (types[0].isPrimitive() || (value != null && !types[0].isInstance(value)))
      throw new Wrong(method.getName() + "() of the client takes " + types[0].getSimpleName() + ", and is given "
          + (value == null ? "null" : value.getClass().getSimpleName() + " " + Json.text(value)) + where);
    return types.length == 1 ? new Object[] {value} : new Object[] {value, question.get("process")};
  }

  /** The exception with the line where the user's code threw it, or called what did. */
  private static String thrown(Throwable error) {
    String own = FilibusterProperty.class.getName();
    for (StackTraceElement frame : error.getStackTrace()) {
      String of = frame.getClassName();
      if (of.equals(own) || of.startsWith(own + "$") || of.startsWith("java.") || of.startsWith("jdk.") || of.startsWith("sun.")) continue;
      return error + " (" + frame.getFileName() + ":" + frame.getLineNumber() + ")";
    }
    return error.toString();
  }

  private interface Answering {
    Map<String, Object> answer(Map<String, Object> question) throws Exception;
  }

  private static final class Program {
    private final Answering answering;
    private final InputStream questions = new FileInputStream(FileDescriptor.in);
    private final OutputStream answers;

    /**
     * The standard input and output are for this file alone. What else prints, prints to the standard error, and what else reads finds
     * nothing. Java opens /dev/null in the place of a standard output that is closed: programs that the user's code starts print into it.
     */
    Program(Answering answering) {
      this.answering = answering;
      System.setIn(InputStream.nullInputStream());
      System.setOut(System.err);
      OutputStream own;
      try {
        own = new FileOutputStream("/proc/self/fd/1", true);
        new FileOutputStream(FileDescriptor.out).close();
      } catch (IOException error) {
        own = new FileOutputStream(FileDescriptor.out); // it is a socket, or a pipe of another user
      }
      this.answers = own;
    }

    void run() {
      BufferedReader lines = new BufferedReader(new InputStreamReader(questions, StandardCharsets.UTF_8));
      try {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          if (line.isBlank()) continue;
          byte[] answer = (Json.text(answer(line)) + "\n").getBytes(StandardCharsets.UTF_8);
          try {
            answers.write(answer);
          } catch (IOException error) {
            Runtime.getRuntime().halt(0); // nobody asks any more
          }
        }
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    private Map<String, Object> answer(String line) {
      Object question;
      try {
        question = new Json(line).document();
      } catch (IllegalArgumentException error) {
        return object("error", "the question is not JSON: " + error.getMessage());
      }
      try {
        if (!(question instanceof Map)) throw new Wrong("the question is no object: " + Json.text(question));
        @SuppressWarnings("unchecked") Map<String, Object> members = (Map<String, Object>) question;
        return answering.answer(members);
      } catch (Wrong wrong) {
        return object("error", wrong.getMessage());
      } catch (Exception | StackOverflowError | AssertionError error) {
        error.printStackTrace();
        return object("error", thrown(error));
      }
    }
  }

  // ---- JSON ----

  private static final class Json {
    private final String text;
    private int at;

    Json(String text) {
      this.text = text;
    }

    /** The value, which the user's method at `where` returned, if JSON has it. */
    static Object checked(Object value, String what, String where) {
      if (value instanceof Map<?, ?> map) {
        for (Map.Entry<?, ?> one : map.entrySet()) {
          if (!(one.getKey() instanceof String))
            throw new Wrong(what + " has the key " + one.getKey() + ", but an object of JSON has texts as keys" + where);
          checked(one.getValue(), what, where);
        }
      } else if (value instanceof List<?> list) {
        for (Object one : list) checked(one, what, where);
      } else if (value instanceof Double || value instanceof Float) {
        if (!Double.isFinite(((Number) value).doubleValue()))
          throw new Wrong(what + " holds " + value + ", which JSON does not have" + where);
      } else if (!(value == null || value instanceof String || value instanceof Boolean || value instanceof Long || value instanceof Integer
          || value instanceof Short || value instanceof Byte || value instanceof BigInteger)) {
        throw new Wrong(what + " holds a " + value.getClass().getTypeName() + ", which is not JSON"
            + (value.getClass().isArray() ? ": a List is" : "") + where);
      }
      return value;
    }

    static String text(Object value) {
      StringBuilder out = new StringBuilder();
      write(value, out);
      return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
      if (value instanceof Map<?, ?> map) {
        String before = "{";
        for (Map.Entry<?, ?> one : map.entrySet()) {
          quote((String) one.getKey(), out.append(before));
          write(one.getValue(), out.append(": "));
          before = ", ";
        }
        out.append(map.isEmpty() ? "{}" : "}");
      } else if (value instanceof List<?> list) {
        String before = "[";
        for (Object one : list) {
          write(one, out.append(before));
          before = ", ";
        }
        out.append(list.isEmpty() ? "[]" : "]");
      } else if (value instanceof String string) {
        quote(string, out);
      } else {
        out.append(value);
      }
    }

    private static void quote(String text, StringBuilder out) {
      out.append('"');
      for (int i = 0; i < text.length(); ++i) {
        char c = text.charAt(i);
        if (c == '"' || c == '\\') out.append('\\').append(c);
        else if (c < ' ' || Character.isSurrogate(c)) out.append(String.format("\\u%04x", (int) c));
        else out.append(c);
      }
      out.append('"');
    }

    /** Throws IllegalArgumentException if the text is no JSON. */
    Object document() {
      Object value = value();
      blanks();
      if (at != text.length()) throw wrong();
      return value;
    }

    private Object value() {
      blanks();
      if (at == text.length()) throw wrong();
      switch (text.charAt(at)) {
        case '{': return members();
        case '[': return elements();
        case '"': return string();
        case 't': return word("true", true);
        case 'f': return word("false", false);
        case 'n': return word("null", null);
        default: return number();
      }
    }

    private Object word(String word, Object value) {
      if (!text.startsWith(word, at)) throw wrong();
      at += word.length();
      return value;
    }

    private Number number() {
      int from = at;
      while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) ++at;
      String number = text.substring(from, at);
      try {
        if (!number.matches("-?\\d+")) return Double.valueOf(number);
        BigInteger whole = new BigInteger(number);
        return whole.bitLength() < Long.SIZE ? (Number) whole.longValue() : whole;
      } catch (NumberFormatException error) {
        at = from;
        throw wrong();
      }
    }

    private Map<String, Object> members() {
      Map<String, Object> all = new LinkedHashMap<>();
      ++at;
      if (takes('}')) return all;
      do {
        blanks();
        if (at == text.length() || text.charAt(at) != '"') throw wrong();
        String name = string();
        if (!takes(':')) throw wrong();
        all.put(name, value());
      } while (takes(','));
      if (!takes('}')) throw wrong();
      return all;
    }

    private List<Object> elements() {
      List<Object> all = new ArrayList<>();
      ++at;
      if (takes(']')) return all;
      do all.add(value()); while (takes(','));
      if (!takes(']')) throw wrong();
      return all;
    }

    private String string() {
      StringBuilder out = new StringBuilder();
      for (++at; at < text.length(); ++at) {
        char c = text.charAt(at);
        if (c == '"') {
          ++at;
          return out.toString();
        }
        out.append(c == '\\' ? escaped() : c);
      }
      throw wrong();
    }

    private char escaped() {
      if (++at == text.length()) throw wrong();
      char c = text.charAt(at);
      int plain = "nrtbf".indexOf(c);
      if (plain >= 0) return "\n\r\t\b\f".charAt(plain);
      if (c != 'u') return c;
      if (at + 5 > text.length()) throw wrong();
      try {
        char unit = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
        at += 4;
        return unit;
      } catch (NumberFormatException error) {
        throw wrong();
      }
    }

    private boolean takes(char next) {
      blanks();
      if (at == text.length() || text.charAt(at) != next) return false;
      ++at;
      return true;
    }

    private void blanks() {
      while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) ++at;
    }

    private IllegalArgumentException wrong() {
      return new IllegalArgumentException("at character " + at + ": " + text);
    }
  }
}
