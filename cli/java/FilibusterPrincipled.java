// Principled tests on a JVM (8 and later) with JUnit 5: a test in blocks, which says what the service does under each
// fault. One file, no other libraries: copy it (into a package, if the tests have one).
//
//   class PurchaseTest extends FilibusterPrincipled {
//     @Override public void stubBlock() {
//       stubFor("user", rpc("shop.UserService/GetUser"), answer().message("{\"user_id\": \"ann\"}"));
//     }
//     @Override public void failureBlock() {
//       assertFaultThrows(rpc("shop.UserService/GetUser"), "UNAVAILABLE", "no user");
//       assertOnException("UNAVAILABLE", () -> readOnlyRpc(rpc("shop.CartService/GetCart")));
//     }
//     @Override public void executeTestBlock() { response.set(placeOrder()); }
//     @Override public void assertTestBlock() { assertEquals(9000, ((Order) getResponse()).getTotal()); }
//     @Override public void assertStubBlock() { verifyThat(rpc("shop.UserService/GetUser"), 1); }
//   }
//
// The daemon directs: it says which block runs, in which execution, and what each execution proves. This file runs the
// blocks, tells what they called, and shows each execution as a dynamic test. Started plainly, it starts `filibuster
// principled` with the filibuster.json of the working directory or above it, or with that of -Dfilibuster.config=FILE,
// and there a JVM of the same class path, whose main is below. Java does not say in which folder a source file is:
// those of -Dfilibuster.sources=FOLDER:FOLDER are looked at, then the usual ones.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Each execution has an instance of its own, which a constructor without parameters makes. */
@Execution(ExecutionMode.SAME_THREAD) // an execution begins when the one before it has ended
public abstract class FilibusterPrincipled {
  /** For the test's own use. */
  protected final AtomicReference<Object> response = new AtomicReference<>();

  private Loop loop; // that runs this instance

  protected final Object getResponse() {
    return response.get();
  }

  // ---- the blocks ----

  /** Prepares what the test needs. Its calls get no faults. */
  public void setupBlock() throws Exception {}

  /** Says how the dependencies answer: stubFor. */
  public void stubBlock() throws Exception {}

  /** Says what the service does under faults: assertFaultThrows, assertOnFault, ... */
  public void failureBlock() throws Exception {}

  /** Calls the service under test. Only here faults are injected. */
  public abstract void executeTestBlock() throws Exception;

  /** What holds after the execution without faults, and under faults that have no impact. */
  public void assertTestBlock() throws Exception {}

  /** How often each stub was called: verifyThat. */
  public void assertStubBlock() throws Exception {}

  /** Tidies up. Its calls get no faults. */
  public void teardownBlock() throws Exception {}

  /** A part of a test, which may throw what it likes. */
  public interface Block {
    void run() throws Throwable;
  }

  // ---- what the blocks call ----
  //
  // A key is what rpc(), http() or service() make, a text as of rpc(), or a MethodDescriptor of gRPC. `keys` is a key,
  // or a list of them: these faults together. JSON is given as Map, List, a text, or a message of protobuf.

  /** Calls of `service` that match the key are answered so: by an answer(), the message of gRPC, or a sequence of them. */
  protected final void stubFor(String service, Object key, Object... answers) {
    Map<String, Object> stub = Key.of(key).json();
    List<Object> all = new ArrayList<>();
    for (Object one : answers) all.add(one instanceof Answer ? ((Answer) one).json : answer().message(one).json);
    if (all.isEmpty()) all.add(new LinkedHashMap<>());
    stub.put("answer", all.size() == 1 ? all.get(0) : all);
    loop("stubFor").called("stub_for", "service", service, "stub", stub);
  }

  /** These RPCs were made so often. Under a fault in one of them the number is adjusted. */
  protected final void verifyThat(Object key, int times) {
    loop("verifyThat").called("verify_that", "key", Key.of(key).json(), "times", times);
  }

  /** The same of the RPCs with this request. */
  protected final void verifyThat(Object key, Object request, int times) {
    loop("verifyThat").called("verify_that", "key", Key.of(key).request(request).json(), "times", times);
  }

  /** Under this fault, or these together, the service answers with the error `code`. */
  protected final void assertFaultThrows(Object keys, Object code) {
    assertFaultThrows(keys, code, null);
  }

  protected final void assertFaultThrows(Object keys, Object code, String message) {
    loop("assertFaultThrows").called("assert_fault_throws", "keys", keys(keys), "code", code(code), "message", message);
  }

  /** Under this fault the service answers with the same error. */
  protected final void assertFaultPropagates(Object key) {
    loop("assertFaultPropagates").called("assert_fault_propagates", "keys", keys(key));
  }

  /** Under this fault the assertions of assertTestBlock hold. */
  protected final void assertFaultHasNoImpact(Object key) {
    loop("assertFaultHasNoImpact").called("assert_fault_has_no_impact", "keys", keys(key));
  }

  /** Under this fault, or these together, the service answers, and the assertions of `block` hold. */
  protected final void assertOnFault(Object keys, Block block) {
    Loop loop = loop("assertOnFault");
    loop.called("assert_on_fault", "keys", keys(keys), "specification", loop.number(block));
  }

  /** Whenever the service answers with the error `code`, the assertions of `block` hold. */
  protected final void assertOnException(Object code, Block block) {
    Loop loop = loop("assertOnException");
    loop.called("assert_on_exception", "code", code(code), "specification", loop.number(block));
  }

  /** In a block of an exception or a fault: these RPCs change nothing, and may be made or not. */
  protected final void readOnlyRpc(Object key) {
    loop("readOnlyRpc").called("read_only_rpc", "key", Key.of(key).json());
  }

  /** In a block of an exception or a fault: these RPCs change something, and are made so often. */
  protected final void sideEffectingRpc(Object key, int times) {
    loop("sideEffectingRpc").called("side_effecting_rpc", "key", Key.of(key).json(), "times", times);
  }

  /** In executeTestBlock: the service has answered, whatever was on the wire. */
  protected final void outcome() {
    loop("outcome").outcome = object("thrown", false);
  }

  /** In executeTestBlock: the service has answered with this error, whatever was on the wire. */
  protected final void outcome(Object code, String message) {
    loop("outcome").outcome = object("thrown", true, "code", code(code), "message", message);
  }

  /** Calls inside of `block` get no faults. */
  protected final void withoutFaults(Block block) {
    Loop loop = loop("withoutFaults");
    loop.suspend(1);
    try {
      block.run();
    } catch (Throwable error) {
      throw sneaky(error);
    } finally {
      loop.suspend(-1);
    }
  }

  /** Calls inside of `block` are shown together in the report. */
  protected final void group(String name, Block block) {
    Loop loop = loop("group");
    loop.enterGroup(name);
    try {
      block.run();
    } catch (Throwable error) {
      throw sneaky(error);
    } finally {
      loop.leaveGroup();
    }
  }

  /** "shop.UserService/GetUser", "POST /orders", "/orders", the name of a service, or a MethodDescriptor of gRPC. */
  protected static Key rpc(Object method) {
    return Key.of(method);
  }

  protected static Key http(String method, String path) {
    return new Key().with("method", method).with("path", path);
  }

  protected static Key service(String name) {
    return new Key().with("service", name);
  }

  /** The answer of a stub, to which its parts are added. */
  protected static Answer answer() {
    return new Answer();
  }

  /** The RPCs, or the faults, that a specification is about. What is left out matches anything. */
  public static final class Key {
    private final Map<String, Object> members = new LinkedHashMap<>();

    private Key() {}

    static Key of(Object of) {
      Key key = new Key();
      if (of instanceof Key) {
        key.members.putAll(((Key) of).members);
        return key;
      }
      if (!(of instanceof CharSequence)) return key.with("grpc", methodName(of));
      String text = of.toString();
      Matcher request = Pattern.compile("([A-Z]+) (/\\S*)").matcher(text);
      if (text.matches("(\\w+\\.)+\\w+/[\\w*?]+|[A-Z]\\w*/[\\w*?]+")) return key.with("grpc", text);
      if (text.startsWith("/")) return key.with("path", text);
      if (request.matches()) return key.with("method", request.group(1)).with("path", request.group(2));
      return key.with("service", text);
    }

    public Key service(String name) {
      return with("service", name);
    }

    public Key method(String name) {
      return with("method", name);
    }

    public Key path(String pattern) {
      return with("path", pattern);
    }

    /** The whole request. */
    public Key request(Object json) {
      return with("request", plain(json));
    }

    /** One field of the request, by a JSON pointer: field("/code", "DAILY"). */
    @SuppressWarnings("unchecked")
    public Key field(String pointer, Object value) {
      Map<String, Object> all = new LinkedHashMap<>();
      if (members.containsKey("fields")) all.putAll((Map<String, Object>) members.get("fields"));
      all.put(pointer, value);
      return with("fields", all);
    }

    /** "grpc:UNAVAILABLE", "status:503", "timeout", ... */
    public Key fault(String text) {
      return with("fault", text);
    }

    private Key with(String name, Object value) {
      members.put(name, value);
      return this;
    }

    private Map<String, Object> json() {
      return new LinkedHashMap<>(members);
    }
  }

  /** What a stub answers: docs/stubs.md. */
  public static final class Answer {
    private final Map<String, Object> json = new LinkedHashMap<>();

    private Answer() {}

    public Answer status(int status) {
      return with("status", status);
    }

    public Answer headers(Map<String, String> headers) {
      return with("headers", plain(headers));
    }

    public Answer json(Object body) {
      return with("json", plain(body));
    }

    public Answer text(String body) {
      return with("text", body);
    }

    public Answer message(Object fields) {
      return with("message", plain(fields));
    }

    public Answer code(Object code) {
      return with("code", FilibusterPrincipled.code(code));
    }

    public Answer statusMessage(String text) {
      return with("status_message", text);
    }

    public Answer reply(Object reply) {
      return with("reply", reply instanceof CharSequence ? reply : plain(reply));
    }

    /** "20ms" */
    public Answer delay(String time) {
      return with("delay", time);
    }

    private Answer with(String name, Object value) {
      json.put(name, value);
      return this;
    }
  }

  // ---- values of the protocol ----

  private static List<Object> keys(Object of) {
    List<Object> all = new ArrayList<>();
    Iterable<?> each = of instanceof Iterable ? (Iterable<?>) of : of instanceof Object[] ? Arrays.asList((Object[]) of) : Collections.singletonList(of);
    for (Object one : each) all.add(Key.of(one).json());
    return all;
  }

  /** A status of HTTP is a number; a code of gRPC is its name, also if it is a Status.Code or a Status. */
  private static Object code(Object code) {
    if (code instanceof Number) return code;
    if (code instanceof Enum) return ((Enum<?>) code).name();
    if (code != null && code.getClass().getName().equals("io.grpc.Status")) return code(called(code, "getCode"));
    return code == null ? null : code.toString();
  }

  private static String methodName(Object of) {
    if (of == null || !of.getClass().getName().equals("io.grpc.MethodDescriptor"))
      throw new IllegalArgumentException("a key is what rpc(), http() or service() make, a text, or a MethodDescriptor of gRPC, not " + of);
    return called(of, "getFullMethodName").toString();
  }

  /** The value as JSON has it. A text that is an object or an array of JSON is that; a message of protobuf is its fields. */
  private static Object plain(Object value) {
    if (value instanceof CharSequence) {
      String text = value.toString().trim();
      return text.startsWith("{") || text.startsWith("[") ? new Json(text).document() : value.toString();
    }
    if (value instanceof Map) {
      Map<String, Object> all = new LinkedHashMap<>();
      for (Map.Entry<?, ?> one : ((Map<?, ?>) value).entrySet()) all.put(one.getKey().toString(), inner(one.getValue()));
      return all;
    }
    return inner(value);
  }

  private static Object inner(Object value) {
    if (value == null || value instanceof CharSequence || value instanceof Boolean || value instanceof Number) return value;
    if (value instanceof Map) return plain(value);
    if (value instanceof Iterable) {
      List<Object> all = new ArrayList<>();
      for (Object one : (Iterable<?>) value) all.add(inner(one));
      return all;
    }
    if (isMessage(value.getClass())) return new Json(ofMessage(value)).document();
    throw new IllegalArgumentException(value.getClass().getName() + " is nothing that JSON has, and no message of protobuf");
  }

  private static boolean isMessage(Class<?> of) {
    for (Class<?> type = of; type != null; type = type.getSuperclass())
      for (Class<?> one : type.getInterfaces()) if (one.getName().equals("com.google.protobuf.Message") || isMessage(one)) return true;
    return false;
  }

  /** JsonFormat is asked by reflection, so that a test without protobuf needs none. */
  private static String ofMessage(Object message) {
    try {
      ClassLoader loader = message.getClass().getClassLoader();
      Class<?> format = Class.forName("com.google.protobuf.util.JsonFormat", true, loader);
      Object printer = called(format.getMethod("printer").invoke(null), "preservingProtoFieldNames");
      Class<?> parameter = Class.forName("com.google.protobuf.MessageOrBuilder", true, loader);
      return printer.getClass().getMethod("print", parameter).invoke(printer, message).toString();
    } catch (ReflectiveOperationException | LinkageError error) {
      throw new IllegalStateException("a message of protobuf needs com.google.protobuf:protobuf-java-util (and Gson, which it uses) "
          + "on the class path: " + error, error);
    }
  }

  private static Object called(Object of, String method) {
    try {
      return of.getClass().getMethod(method).invoke(of);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(of.getClass().getName() + "." + method + "(): " + error, error);
    }
  }

  private static Map<String, Object> object(Object... namesAndValues) {
    Map<String, Object> made = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) made.put((String) namesAndValues[i], namesAndValues[i + 1]);
    return made;
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException sneaky(Throwable error) throws T {
    throw (T) error; // a block need not declare what the block inside of it throws
  }

  private Loop loop(String api) {
    if (loop == null || loop.block == null)
      throw new IllegalStateException(api + "() was called outside of every block: only a block that filibuster runs may call it");
    return loop;
  }

  /** The test as a whole fails with this text. */
  private static final class Failure extends AssertionError {
    private static final long serialVersionUID = 1;

    Failure(String text) {
      super(text);
      setStackTrace(new StackTraceElement[0]);
    }

    @Override
    public String toString() {
      return getMessage();
    }
  }

  // ---- JUnit ----

  /** The executions, each of which begins when JUnit asks for it. */
  @TestFactory
  public final Stream<DynamicTest> executions() {
    Told told = isSet("FILIBUSTER_BLOCKS") ? new Loop(getClass(), "junit") : new Child(getClass());
    return StreamSupport.stream(Spliterators.spliteratorUnknownSize(new Executions(told), Spliterator.ORDERED), false)
        .onClose(told::close);
  }

  private static boolean isSet(String variable) {
    return System.getenv(variable) != null && !System.getenv(variable).isEmpty();
  }

  /** Where 'begin', 'end' and 'finish' come from. */
  private interface Told {
    /** The next one of them. */
    Map<String, Object> next();

    void close();
  }

  private static final class Executions implements Iterator<DynamicTest> {
    private final Told told;
    private Map<String, Object> begun;
    private boolean finished;

    Executions(Told told) {
      this.told = told;
    }

    /** JUnit asks when the test before has ended. What is thrown here fails the container of the tests. */
    @Override
    public boolean hasNext() {
      if (finished || begun != null) return !finished;
      Map<String, Object> next = told.next();
      if (next.get("do").equals("begin")) {
        begun = next;
        return true;
      }
      finished = true;
      if (!next.get("do").equals("finish")) throw new Failure("filibuster's daemon ended an execution that had not begun");
      if (!Boolean.TRUE.equals(next.get("passed"))) throw new Failure(textOf(next, "the principled test failed"));
      return false;
    }

    @Override
    public DynamicTest next() {
      if (!hasNext()) throw new NoSuchElementException();
      String name = String.valueOf(begun.get("name"));
      begun = null;
      return DynamicTest.dynamicTest(name, this::execution);
    }

    private void execution() {
      Map<String, Object> end = told.next();
      if (!end.get("do").equals("end")) throw new Failure("filibuster's daemon did not end the execution: " + Json.text(end));
      if (!Boolean.TRUE.equals(end.get("passed"))) throw new Failure(textOf(end, "the execution failed"));
    }
  }

  private static String textOf(Map<String, Object> instruction, String otherwise) {
    Object text = instruction.get("text");
    return text == null || text.toString().isEmpty() ? otherwise : text.toString();
  }

  // ---- started plainly: filibuster starts a JVM with the main below, inside of a session ----

  private static final class Child implements Told {
    private final Class<?> test;
    private final StringBuilder other = new StringBuilder();
    private Process process;
    private Path errors;
    private BufferedReader lines;

    Child(Class<?> test) {
      this.test = test;
    }

    @Override
    public Map<String, Object> next() {
      try {
        if (process == null) start();
        for (String line; (line = lines.readLine()) != null; ) {
          Map<String, Object> instruction = Json.instruction(line);
          if (instruction == null) other.append(line).append('\n');
          else if (Arrays.asList("begin", "end", "finish").contains(instruction.get("do"))) return instruction;
        }
        int status = process.waitFor();
        other.append(new String(Files.readAllBytes(errors), StandardCharsets.UTF_8));
        throw new Failure("`filibuster principled` ended with exit status " + status + " before the test did:\n" + other);
      } catch (IOException error) {
        throw new Failure("`filibuster principled` could not be run (is `filibuster` on the PATH?): " + error.getMessage());
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new Failure("interrupted");
      }
    }

    private void start() throws IOException {
      if (isSet("FILIBUSTER_URL")) throw new Failure("this is a principled test, which `filibuster principled` runs, and not `filibuster run`");
      List<String> command = new ArrayList<>(Arrays.asList("filibuster", "principled", "-c", configuration(), "--in-runner", "--"));
      command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
      String sources = System.getProperty("filibuster.sources");
      if (sources != null) command.add("-Dfilibuster.sources=" + sources);
      command.addAll(Arrays.asList("-ea", "-cp", classPath(), FilibusterPrincipled.class.getName(), test.getName()));
      errors = Files.createTempFile("filibuster", ".stderr");
      process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
      process.getOutputStream().close();
      lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /** Of this JVM, and what a runner has loaded beside it. */
    private String classPath() {
      Set<String> all = new LinkedHashSet<>(Arrays.asList(System.getProperty("java.class.path").split(File.pathSeparator)));
      for (ClassLoader loader = test.getClassLoader(); loader != null; loader = loader.getParent())
        if (loader instanceof URLClassLoader)
          for (URL url : ((URLClassLoader) loader).getURLs()) if (url.getProtocol().equals("file")) all.add(Paths.get(URI.create(url.toString())).toString());
      return String.join(File.pathSeparator, all);
    }

    private static String configuration() {
      String named = System.getProperty("filibuster.config");
      if (named != null) return new File(named).getAbsolutePath();
      for (Path folder = Paths.get("").toAbsolutePath(); folder != null; folder = folder.getParent())
        if (Files.isRegularFile(folder.resolve("filibuster.json"))) return folder.resolve("filibuster.json").toString();
      throw new Failure("there is no filibuster.json in the working directory or above it: write one, or name it by -Dfilibuster.config=FILE");
    }

    @Override
    public void close() {
      try {
        if (process != null) process.destroy();
        if (errors != null) Files.deleteIfExists(errors);
      } catch (IOException error) {
        // A temporary file stays, which harms nobody.
      }
    }
  }

  /** Runs the blocks of a test without JUnit: `java -cp CLASSPATH FilibusterPrincipled CLASS`, for `filibuster principled`. */
  public static void main(String[] arguments) throws ClassNotFoundException {
    String problem = null;
    if (arguments.length != 1 || !isSet("FILIBUSTER_BLOCKS")) {
      problem = "usage, as `filibuster principled` runs it: java -cp CLASSPATH " + FilibusterPrincipled.class.getName() + " CLASS";
    } else {
      try {
        Map<String, Object> last;
        Loop loop = new Loop(Class.forName(arguments[0]), "junit");
        do last = loop.next(); while (!last.get("do").equals("finish"));
        if (!Boolean.TRUE.equals(last.get("passed"))) problem = textOf(last, "the principled test failed");
      } catch (Failure failure) {
        problem = failure.getMessage();
      }
    }
    if (problem != null) System.err.println(problem);
    System.exit(problem == null ? 0 : 1); // the test may have threads that do not end
  }

  // ---- the protocol ----

  private static final class Loop implements Told {
    private static final int TRACE_BYTES = 64 * 1024;
    private final Class<?> test;
    private final Sources sources;
    private Map<String, Object> result; // of the last instruction, to be posted
    private FilibusterPrincipled instance;
    private String block; // that runs
    private Object outcome;
    private Failure broken;
    private List<Object> calls = new ArrayList<>();
    private final List<Block> closures = new ArrayList<>();
    private int suspended;
    private final Deque<String> groups = new ArrayDeque<>();

    Loop(Class<?> test, String form) {
      this.test = test;
      sources = new Sources(test);
      result = object("hello", object("form", form, "test", test.getName(), "file", sources.file(test), "line", sources.line(test)));
    }

    @Override
    public Map<String, Object> next() {
      while (true) {
        Map<String, Object> instruction = post(result);
        Object what = instruction.get("do");
        if ("wait".equals(what)) {
          result = object("waiting", true);
        } else if ("begin".equals(what)) {
          instance = null;
          closures.clear();
          suspended = 0;
          groups.clear();
          result = object("begun", instruction.get("execution"));
          return instruction;
        } else if ("end".equals(what)) {
          result = object("ended", instruction.get("execution"));
          return instruction;
        } else if ("finish".equals(what)) {
          return instruction;
        } else if ("run".equals(what)) {
          result = object("ran", ran(instruction));
        } else {
          throw unknown(instruction);
        }
      }
    }

    @Override
    public void close() {}

    private static Failure unknown(Map<String, Object> instruction) {
      return new Failure("the instruction " + Json.text(instruction) + " of filibuster's daemon is unknown: FilibusterPrincipled.java "
          + "and filibuster are of different versions");
    }

    private Map<String, Object> ran(Map<String, Object> instruction) {
      block = String.valueOf(instruction.get("block"));
      calls = new ArrayList<>();
      outcome = null;
      Map<String, Object> ran = object("block", block, "passed", true, "message", "", "at", "", "trace", "");
      try {
        if (instance == null) {
          instance = made();
          instance.loop = this;
        }
        body(instruction).run();
      } catch (Failure failure) {
        throw failure;
      } catch (Throwable error) {
        failed(error, ran);
      } finally {
        block = null;
      }
      if (broken != null) throw broken;
      ran.put("calls", calls);
      ran.put("outcome", outcome);
      return ran;
    }

    private FilibusterPrincipled made() throws Throwable {
      try {
        Constructor<?> constructor = test.getDeclaredConstructor();
        constructor.setAccessible(true);
        return (FilibusterPrincipled) constructor.newInstance();
      } catch (NoSuchMethodException error) {
        throw new IllegalStateException(test.getName() + " needs a constructor without parameters" +
            (Modifier.isStatic(test.getModifiers()) || test.getEnclosingClass() == null ? "" : ", and to be static"));
      } catch (InvocationTargetException error) {
        throw error.getCause();
      }
    }

    private Block body(Map<String, Object> instruction) {
      switch (block) {
        case "setup": return instance::setupBlock;
        case "stub": return instance::stubBlock;
        case "failure": return instance::failureBlock;
        case "execute": return instance::executeTestBlock;
        case "assert_test": return instance::assertTestBlock;
        case "assert_stubs": return instance::assertStubBlock;
        case "teardown": return instance::teardownBlock;
        default:
          if (!(instruction.get("specification") instanceof Number)) throw unknown(instruction);
          return closures.get(((Number) instruction.get("specification")).intValue());
      }
    }

    private void failed(Throwable error, Map<String, Object> ran) {
      List<StackTraceElement> frames = new ArrayList<>();
      for (StackTraceElement frame : error.getStackTrace()) {
        // Below the block stands what ran it.
        if (frame.getClassName().equals(Loop.class.getName()) && frame.getMethodName().equals("ran")) break;
        if (!isOfThisFile(frame)) frames.add(frame);
      }
      StackTraceElement at = null;
      for (StackTraceElement frame : frames) if (at == null && isOfTest(frame)) at = frame;
      error.setStackTrace(frames.toArray(new StackTraceElement[0]));
      StringWriter trace = new StringWriter();
      error.printStackTrace(new PrintWriter(trace, true));
      String said = error.getMessage();
      ran.put("passed", false);
      ran.put("message", bounded(error.getClass().getSimpleName() + (said == null ? "" : ": " + said)));
      ran.put("at", at != null ? sources.at(at) : "");
      ran.put("trace", bounded(trace.toString()));
    }

    private static boolean isOfThisFile(StackTraceElement frame) {
      String name = FilibusterPrincipled.class.getName();
      return frame.getClassName().equals(name) || frame.getClassName().startsWith(name + "$");
    }

    /** Is it of the test's class, of one that it inherits from, or of a class inside of these? */
    private boolean isOfTest(StackTraceElement frame) {
      for (Class<?> type = test; type != FilibusterPrincipled.class && type != null; type = type.getSuperclass())
        if (frame.getClassName().equals(type.getName()) || frame.getClassName().startsWith(type.getName() + "$")) return true;
      return false;
    }

    /** The beginning of a trace of Java says the most. */
    private static String bounded(String text) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      if (bytes.length <= TRACE_BYTES) return text;
      String cut = "\n[the end was cut]";
      int size = TRACE_BYTES - cut.length();
      while ((bytes[size] & 0xC0) == 0x80) --size;
      return new String(bytes, 0, size, StandardCharsets.UTF_8) + cut;
    }

    private void called(Object... namesAndValues) {
      Map<String, Object> call = object("api", namesAndValues[0]);
      for (StackTraceElement frame : new Throwable().getStackTrace()) {
        if (isOfThisFile(frame) || frame.getClassName().startsWith("java.")) continue;
        call.put("at", sources.at(frame));
        break;
      }
      call.putAll(object(Arrays.copyOfRange(namesAndValues, 1, namesAndValues.length)));
      calls.add(call);
    }

    private int number(Block closure) {
      closures.add(closure);
      return closures.size() - 1;
    }

    private synchronized void suspend(int step) {
      suspended += step;
      if (suspended == (step > 0 ? 1 : 0)) beside(object("suspend", step > 0));
    }

    private synchronized void enterGroup(String name) {
      groups.push(name);
      beside(object("group", name));
    }

    private synchronized void leaveGroup() {
      groups.pop();
      beside(object("group", groups.peek()));
    }

    /** What a block posts while it runs. If that fails, the block's result is not worth posting. */
    private void beside(Map<String, Object> what) {
      try {
        post(what);
      } catch (Failure failure) {
        if (broken == null) broken = failure;
        throw failure;
      }
    }

    /** One connection for each post. HttpURLConnection is not used, since it may send a post twice. */
    private static Map<String, Object> post(Map<String, Object> what) {
      String answer;
      try {
        URI url = URI.create(System.getenv("FILIBUSTER_URL"));
        byte[] body = Json.text(what).getBytes(StandardCharsets.UTF_8);
        String token = System.getenv("FILIBUSTER_TOKEN");
        String head = "POST /v1/blocks HTTP/1.1\r\nHost: " + url.getAuthority() + "\r\nAuthorization: Bearer " + (token == null ? "" : token)
            + "\r\nContent-Type: application/json\r\nContent-Length: " + body.length + "\r\nConnection: close\r\n\r\n";
        try (Socket socket = new Socket(Proxy.NO_PROXY)) {
          socket.connect(new InetSocketAddress(url.getHost(), url.getPort()));
          ByteArrayOutputStream request = new ByteArrayOutputStream();
          request.write(head.getBytes(StandardCharsets.ISO_8859_1));
          request.write(body);
          socket.getOutputStream().write(request.toByteArray());
          answer = read(socket.getInputStream());
        }
      } catch (IOException | RuntimeException error) {
        throw new Failure("filibuster's daemon did not answer: " + error);
      }
      int end = answer.indexOf("\r\n\r\n");
      if (!answer.startsWith("HTTP/1.") || end < 12) throw new Failure("filibuster's daemon did not answer: the connection was closed");
      String status = answer.substring(9, 12);
      String text = answer.substring(end + 4);
      if (!status.equals("200")) throw new Failure("filibuster's daemon refused (" + status + "): " + Json.errors(text));
      Map<String, Object> instruction = Json.object(text);
      if (instruction == null) throw new Failure("filibuster's daemon answered what is no instruction: " + text);
      return instruction;
    }

    private static String read(InputStream stream) throws IOException {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      byte[] buffer = new byte[4096];
      for (int size; (size = stream.read(buffer)) > 0; ) out.write(buffer, 0, size);
      return out.toString("UTF-8");
    }
  }

  // ---- source files ----

  /** Where the source of a class is. Java knows the file's name alone. */
  private static final class Sources {
    private static final List<String> USUAL = Arrays.asList("", "src/test/java", "src/main/java", "src/test/kotlin", "src", "test", "tests");
    private final List<Path> folders = new ArrayList<>();
    private final Map<String, String> found = new LinkedHashMap<>();

    Sources(Class<?> test) {
      String named = System.getProperty("filibuster.sources");
      if (named != null) for (String folder : named.split(File.pathSeparator)) folders.add(Paths.get(folder).toAbsolutePath());
      addWithAbove(Paths.get("").toAbsolutePath(), 1);
      try {
        addWithAbove(Paths.get(test.getProtectionDomain().getCodeSource().getLocation().toURI()), 5); // build/classes/java/test
      } catch (Exception error) {
        // Classes that are made in memory have no place.
      }
    }

    private void addWithAbove(Path folder, int levels) {
      for (int level = 0; folder != null && level < levels; folder = folder.getParent(), ++level)
        for (String usual : USUAL) folders.add(folder.resolve(usual));
    }

    /** "/abs/shop/PurchaseTest.java:41", or "shop/PurchaseTest.java:41" if it is in none of the folders. */
    String at(StackTraceElement frame) {
      return path(frame.getClassName(), frame.getFileName()) + ":" + Math.max(frame.getLineNumber(), 0);
    }

    String file(Class<?> test) {
      Class<?> outermost = test;
      while (outermost.getEnclosingClass() != null) outermost = outermost.getEnclosingClass();
      return path(outermost.getName(), outermost.getSimpleName() + ".java");
    }

    int line(Class<?> test) {
      Pattern declaration = Pattern.compile("\\bclass\\s+" + Pattern.quote(test.getSimpleName()) + "\\b");
      try {
        List<String> lines = Files.readAllLines(Paths.get(file(test)), StandardCharsets.UTF_8);
        for (int i = 0; i < lines.size(); ++i) if (declaration.matcher(lines.get(i)).find()) return i + 1;
      } catch (IOException error) {
        // Without the source the line is unknown.
      }
      return 0;
    }

    private String path(String className, String fileName) {
      int end = className.lastIndexOf('.');
      String name = (end < 0 ? "" : className.substring(0, end + 1).replace('.', '/')) + fileName;
      String known = found.get(name);
      for (int i = 0; known == null && i < folders.size(); ++i)
        if (Files.isRegularFile(folders.get(i).resolve(name))) known = folders.get(i).resolve(name).normalize().toString();
      if (known == null) known = name;
      found.put(name, known);
      return known;
    }
  }

  // ---- JSON: objects are maps, arrays are lists, whole numbers are of type Long ----

  private static final class Json {
    private final String text;
    private int at;

    Json(String text) {
      this.text = text;
    }

    /** The object of this text, or null. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
      try {
        Object value = new Json(text).document();
        return value instanceof Map ? (Map<String, Object>) value : null;
      } catch (IllegalArgumentException error) {
        return null;
      }
    }

    static Map<String, Object> instruction(String line) {
      Map<String, Object> made = object(line);
      return made != null && made.get("do") instanceof String ? made : null;
    }

    static String errors(String text) {
      Map<String, Object> body = object(text);
      if (body == null || !(body.get("errors") instanceof List)) return text;
      StringBuilder all = new StringBuilder();
      for (Object error : (List<?>) body.get("errors"))
        all.append(all.length() == 0 ? "" : "\n").append(error instanceof Map ? ((Map<?, ?>) error).get("message") : error);
      return all.toString();
    }

    static String text(Object value) {
      StringBuilder out = new StringBuilder();
      write(value, out);
      return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
      if (value instanceof Map) {
        String comma = "{";
        for (Map.Entry<?, ?> one : ((Map<?, ?>) value).entrySet()) {
          out.append(comma);
          quote(one.getKey().toString(), out);
          out.append(':');
          write(one.getValue(), out);
          comma = ",";
        }
        out.append(comma.equals("{") ? "{}" : "}");
      } else if (value instanceof List) {
        String comma = "[";
        for (Object one : (List<?>) value) {
          out.append(comma);
          write(one, out);
          comma = ",";
        }
        out.append(comma.equals("[") ? "[]" : "]");
      } else if (value == null || value instanceof Boolean) {
        out.append(value);
      } else if (value instanceof Number) {
        double number = ((Number) value).doubleValue();
        if (Double.isNaN(number) || Double.isInfinite(number)) throw new IllegalArgumentException("JSON has no number " + value);
        out.append(value);
      } else {
        quote(value.toString(), out);
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

    Object document() {
      Object value = value();
      blanks();
      if (at != text.length()) throw wrong();
      return value;
    }

    private Object value() {
      blanks();
      if (at == text.length()) throw wrong();
      char c = text.charAt(at);
      if (c == '{') return members();
      if (c == '[') return elements();
      if (c == '"') return string();
      if (text.startsWith("true", at)) return word("true", true);
      if (text.startsWith("false", at)) return word("false", false);
      if (text.startsWith("null", at)) return word("null", null);
      int from = at;
      while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) ++at;
      String number = text.substring(from, at);
      try {
        if (number.matches("-?\\d{1,18}")) return Long.valueOf(number);
        return Double.valueOf(number);
      } catch (NumberFormatException error) {
        throw wrong();
      }
    }

    private Object word(String word, Object value) {
      at += word.length();
      return value;
    }

    private Map<String, Object> members() {
      Map<String, Object> all = new LinkedHashMap<>();
      ++at;
      if (ends('}')) return all;
      do {
        blanks();
        String name = string();
        blanks();
        if (!ends(':')) throw wrong();
        all.put(name, value());
      } while (ends(','));
      if (!ends('}')) throw wrong();
      return all;
    }

    private List<Object> elements() {
      List<Object> all = new ArrayList<>();
      ++at;
      if (ends(']')) return all;
      do all.add(value()); while (ends(','));
      if (!ends(']')) throw wrong();
      return all;
    }

    private String string() {
      if (at == text.length() || text.charAt(at) != '"') throw wrong();
      StringBuilder out = new StringBuilder();
      for (++at; at < text.length(); ++at) {
        char c = text.charAt(at);
        if (c == '"') {
          ++at;
          return out.toString();
        }
        if (c == '\\' && ++at < text.length()) {
          c = text.charAt(at);
          int plain = "nrtbf".indexOf(c);
          if (c == 'u') {
            if (at + 5 > text.length()) throw wrong();
            try {
              c = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
            } catch (NumberFormatException error) {
              throw wrong();
            }
            at += 4;
          } else if (plain >= 0) {
            c = "\n\r\t\b\f".charAt(plain);
          }
        }
        out.append(c);
      }
      throw wrong();
    }

    /** Takes this character, if it is the next one. */
    private boolean ends(char with) {
      blanks();
      if (at == text.length() || text.charAt(at) != with) return false;
      ++at;
      return true;
    }

    private void blanks() {
      while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) ++at;
    }

    private IllegalArgumentException wrong() {
      return new IllegalArgumentException("this is no JSON at character " + at + ": " + text);
    }
  }
}
