import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.jacoco.core.analysis.Analyzer;
import org.jacoco.core.analysis.CoverageBuilder;
import org.jacoco.core.analysis.ICounter;
import org.jacoco.core.analysis.ISourceFileCoverage;
import org.jacoco.core.tools.ExecFileLoader;

/**
 * JaCoCo's side of `filibuster run --coverage`.
 *
 * <p>`agent JAR OUTPUT` takes the agent out of org.jacoco.agent.jar. `report CLASSES DATA OUTPUT ROOT...` reads what the
 * agents of a service wrote (classes as they were loaded, and what was reached of them) and writes, as JSON, the lines
 * of each source file that hold statements, and those that were reached. If any source is found below one of the
 * roots, classes whose source is not found there are taken for libraries and left out.
 */
final class JacocoReport {
  private static final int MAX_FILES = 200_000; // looked at for sources

  private static final class SourceFile {
    final TreeSet<Integer> statements = new TreeSet<>();
    final TreeSet<Integer> reached = new TreeSet<>();
  }

  public static void main(String[] arguments) throws IOException {
    if (arguments[0].equals("agent")) takeAgent(arguments[1], Path.of(arguments[2]));
    else report(arguments);
  }

  private static void takeAgent(String jar, Path output) throws IOException {
    try (ZipFile zip = new ZipFile(jar)) {
      ZipEntry entry = zip.getEntry("jacocoagent.jar");
      if (entry == null) throw new IOException(jar + " has no jacocoagent.jar in it");
      Files.write(output, zip.getInputStream(entry).readAllBytes());
    }
  }

  private static void report(String[] arguments) throws IOException {
    ExecFileLoader loader = new ExecFileLoader();
    loader.load(new File(arguments[2]));
    TreeMap<String, SourceFile> sources = new TreeMap<>();
    TreeSet<String> problems = new TreeSet<>();
    List<Path> classes = new ArrayList<>();
    try (var all = Files.walk(Path.of(arguments[1]))) {
      all.filter(path -> path.toString().endsWith(".class")).sorted().forEach(classes::add);
    }
    for (Path path : classes) {
      // Each class file has its own builder: JaCoCo takes two versions of one class for a mistake.
      CoverageBuilder builder = new CoverageBuilder();
      try (var in = Files.newInputStream(path)) {
        new Analyzer(loader.getExecutionDataStore(), builder).analyzeClass(in, path.toString());
      } catch (IOException | RuntimeException error) {
        problems.add(path.getFileName() + ": " + error.getMessage());
        continue;
      }
      builder.getSourceFiles().forEach(file -> add(file, sources));
    }
    Map<String, String> places = find(sources, arguments);
    int left = sources.size() - places.size();
    StringBuilder json = new StringBuilder("{\"files\": {");
    String separator = "";
    for (Map.Entry<String, SourceFile> entry : sources.entrySet()) {
      String place = places.isEmpty() ? entry.getKey() : places.get(entry.getKey());
      if (place == null) continue;
      json.append(separator).append(quoted(place)).append(": {\"statements\": ").append(entry.getValue().statements);
      json.append(", \"reached\": ").append(entry.getValue().reached).append('}');
      separator = ",\n";
    }
    if (!places.isEmpty() && left > 0) {
      problems.add("left out: " + left + " source files of libraries, or that are not below the folder of the configuration");
    }
    json.append("}, \"problems\": [");
    separator = "";
    for (String problem : problems) {
      json.append(separator).append(quoted(problem));
      separator = ", ";
    }
    json.append("]}\n");
    try (PrintStream out = new PrintStream(arguments[3], StandardCharsets.UTF_8)) {
      out.print(json);
      if (out.checkError()) throw new IOException("cannot write " + arguments[3]);
    }
  }

  private static void add(ISourceFileCoverage file, Map<String, SourceFile> sources) {
    String name = (file.getPackageName().isEmpty() ? "" : file.getPackageName() + "/") + file.getName();
    SourceFile source = sources.computeIfAbsent(name, unused -> new SourceFile());
    if (file.getFirstLine() < 1) return; // no line numbers in the class
    for (int line = file.getFirstLine(); line <= file.getLastLine(); ++line) {
      ICounter instructions = file.getLine(line).getInstructionCounter();
      if (instructions.getTotalCount() == 0) continue;
      source.statements.add(line);
      if (instructions.getCoveredCount() > 0) source.reached.add(line);
    }
  }

  /** Where the sources are, by "package/Name.java". */
  private static Map<String, String> find(Map<String, SourceFile> sources, String[] arguments) throws IOException {
    Map<String, List<String>> byName = new HashMap<>();
    for (String source : sources.keySet()) {
      byName.computeIfAbsent(source.substring(source.lastIndexOf('/') + 1), unused -> new ArrayList<>()).add(source);
    }
    Map<String, String> places = new HashMap<>();
    int[] seen = {0};
    for (int i = 4; i < arguments.length; ++i) {
      Path root = Path.of(arguments[i]);
      Files.walkFileTree(root, new SimpleFileVisitor<Path>() {
        @Override
        public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes unused) {
          String name = String.valueOf(folder.getFileName());
          boolean skipped = !folder.equals(root) && (name.startsWith(".") || name.equals("node_modules"));
          return skipped ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes unused) {
          if (++seen[0] > MAX_FILES) return FileVisitResult.TERMINATE;
          for (String source : byName.getOrDefault(String.valueOf(file.getFileName()), List.of())) {
            if (file.endsWith(source)) places.putIfAbsent(source, file.toString());
          }
          return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException unused) {
          return FileVisitResult.CONTINUE;
        }
      });
    }
    return places;
  }

  private static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : String.valueOf(text).toCharArray()) {
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (c < ' ') out.append(String.format("\\u%04x", (int) c));
      else out.append(c);
    }
    return out.append('"').toString();
  }
}
