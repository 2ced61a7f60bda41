#include "preload/runtimes/frame_filter.h"

#include <atomic>
#include <cstring>

#include "preload/runtimes/go_files.h"
#include "preload/runtimes/loop_frames.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

// Prefixes of base names. A version or an extension may follow. The last two rows may stand between a program and us.
constexpr std::string_view kRuntimeModules[] = {
    "libfilibuster.so", "libc.so",   "libc-2",     "libc.musl",      "libpthread",
    "ld-linux",         "ld-2",      "ld.so",      "ld-musl",        "linux-vdso",
    "libstdc++",        "libc++",    "libgcc_s",   "libcurl",        "libssl",
    "libcrypto",        "libgnutls", "libnghttp2", "libcpp-httplib", "libpython",
    "python2",          "python3",   "libunwind",  "libgrpc",        "libgpr",
    "libprotobuf",      "libabsl",   "libupb",     "libtorsocks",    "libproxychains",
    "libfaketime",      "libasan",   "libtsan",    "libubsan",       "libclang_rt.",
};

// Packages whose frames never tell call sites apart: the JDK, HTTP clients and servers, frameworks.
constexpr std::string_view kJavaPackages[] = {
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "okhttp3.",
    "okio.",
    "retrofit2.",
    "feign.",
    "org.apache.http.",
    "org.apache.hc.",
    "org.asynchttpclient.",
    "io.netty.",
    "reactor.",
    "io.vertx.",
    "io.grpc.",
    "io.undertow.",
    "io.helidon.",
    "io.micronaut.",
    "io.quarkus.",
    "org.eclipse.jetty.",
    "org.apache.catalina.",
    "org.apache.coyote.",
    "org.apache.tomcat.",
    "org.springframework.",
    "org.glassfish.",
    "org.jboss.",
    "jakarta.",
    "kotlin.",
    "kotlinx.",
    "scala.",
    "akka.",
    "com.google.common.",
    "io.reactivex.",
    "io.opentelemetry.",
    "io.micrometer.",
    "groovy.",
    "org.codehaus.groovy.",
    "clojure.",
};

// Executables and libraries that run code which they make themselves. Base names; a version may
// follow.
constexpr std::string_view kEngineModules[] = {
    "node", "nodejs",  "libnode", "libv8",      "libjvm", "deno",      "bun",
    "ruby", "libruby", "perl",    "libperl",    "php",    "libphp",    "beam.smp",
    "mono", "libmono", "dotnet",  "libcoreclr", "luajit", "libluajit", "pypy",
};

constinit FrameTable g_rules[2] = {};
constinit std::atomic<uint32_t> g_rules_version{0};  // its last bit says which table is current

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

bool is_engine_module(std::string_view path) {
  std::string_view name = base_name(path);
  name = name.substr(0, name.find(".so"));
  for (std::string_view engine : kEngineModules) {
    if (!name.starts_with(engine)) continue;
    const std::string_view rest = name.substr(engine.size());
    // "php8.2", "libruby-3.1.so.3.1"; not "node_exporter".
    if (rest.find_first_not_of("0123456789.-") == std::string_view::npos) return true;
  }
  return false;
}

bool is_runtime_module(std::string_view path) {
  const std::string_view name = base_name(path);
  for (std::string_view prefix : kRuntimeModules) {
    if (name.starts_with(prefix)) return true;
  }
  return name == "python";
}

bool is_library_file(std::string_view file) {
  constexpr std::string_view kDirectories[] = {
      "/lib/python3",           "/lib64/python3", "/lib/python2", "/site-packages/",
      "/dist-packages/",        "/node_modules/", "/lib/ruby/",   "/gems/",
      "/rubygems-integration/", "/share/php/",    "/vendor/"};
  if (file.starts_with("<frozen") || file.starts_with("<internal:") || file.starts_with("node:"))
    return true;
  for (std::string_view directory : kDirectories) {
    if (file.find(directory) != std::string_view::npos) return true;
  }
  return is_go_library_file(file);
}

bool is_java_library_class(std::string_view name) {
  for (std::string_view package : kJavaPackages) {
    if (name.starts_with(package)) return true;
  }
  return false;
}

void set_frame_rules(const FrameTable& table) {
  const uint32_t version = g_rules_version.load(std::memory_order_relaxed);
  if (std::memcmp(&g_rules[version & 1], &table, sizeof table) == 0) return;
  // A reader goes on with the table that is still current. One that began two versions ago may see its
  // table change: frame_verdict keeps within bounds whatever it reads.
  std::memcpy(&g_rules[(version + 1) & 1], &table, sizeof table);
  g_rules_version.store(version + 1, std::memory_order_release);
}

uint32_t frame_rules_version() {
  return g_rules_version.load(std::memory_order_acquire);
}

bool is_left_out(FrameKind kind, std::string_view name) {
  switch (frame_verdict(g_rules[frame_rules_version() & 1], kind, name)) {
    case FrameVerdict::kCounts:
      return false;
    case FrameVerdict::kLeftOut:
      return true;
    case FrameVerdict::kDefault:
      break;
  }
  switch (kind) {
    case FrameKind::kModule:
      return is_runtime_module(name) || is_loop_frame(kind, name);
    case FrameKind::kFile:
      return is_library_file(name);
    case FrameKind::kClass:
      return is_java_library_class(name);
  }
  return false;
}

bool is_kept(FrameKind kind, std::string_view name, bool keep_all) {
  return !is_left_out(kind, name) || (keep_all && !is_loop_frame(kind, name));
}

bool is_generated_java_class(std::string_view name) {
  // "Users$$Lambda$14.0x0800c0", "Users$$EnhancerBySpringCGLIB$$1f", "jdk.proxy2.$Proxy7"
  return name.find("$$") != std::string_view::npos ||
         name.find("$Proxy") != std::string_view::npos ||
         name.find(".0x") != std::string_view::npos || name.starts_with("jdk.internal.reflect.") ||
         name == "filibuster.Tls" || name.starts_with("sun.security.ssl.Filibuster") ||
         name == "filibuster.Draws" || name.starts_with("java.util.FilibusterRandom") ||
         name == "java.util.concurrent.FilibusterThreadRandom" ||
         name == "java.security.FilibusterSecureRandom" || name.starts_with("java.lang.invoke.") ||
         name.starts_with("java.lang.reflect.");
}

std::string_view stable_java_method(std::string_view name) {
  if (!name.starts_with("lambda$") && !name.starts_with("access$")) return name;
  size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  return end < name.size() && end > 0 && name[end - 1] == '$' ? name.substr(0, end - 1) : name;
}

std::string_view last_two_components(std::string_view path) {
  size_t at = path.rfind('/');
  if (at == std::string_view::npos || at == 0) return path;
  at = path.rfind('/', at - 1);
  return at == std::string_view::npos ? path : path.substr(at + 1);
}

std::string_view from_start_directory(std::string_view path) {
  const std::string_view directory = identity().directory;
  if (directory.size() < 2 || !path.starts_with(directory)) return path;
  const std::string_view rest = path.substr(directory.size());
  return rest.starts_with('/') ? rest.substr(1) : path;
}

Hash128 native_frame_hash(Hash128 module, uint64_t offset) {
  // Two odd constants spread the offset; the ordered combination of the frames does the rest.
  return {module.hi ^ offset * 0x9E3779B97F4A7C15ull, module.lo + offset * 0xC2B2AE3D27D4EB4Full};
}

Hash128 nameless_module_hash(std::string_view path) {
  return hash_text(base_name(path));
}

Hash128 function_hash(std::string_view file, std::string_view function) {
  const std::string_view known = last_two_components(from_start_directory(file));
  return combine(hash_text(known), hash_text(function));
}

Hash128 frame_hash(std::string_view file, uint32_t line, std::string_view function) {
  return combine(function_hash(file, function), static_cast<uint64_t>(line));
}

}  // namespace filibuster::preload
