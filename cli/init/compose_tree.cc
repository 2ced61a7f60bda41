#include "cli/init/compose_tree.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>

namespace filibuster::init {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 64;            // values within values, and files that name files
constexpr size_t kMostValues = 200000;  // an alias may stand for many values, which hold aliases

struct Mistake {
  std::string text;
};

std::string place_of(const std::string& file, const YAML::Mark& mark) {
  return file + ":" + std::to_string(mark.is_null() ? 1 : mark.line + 1) + ":" +
         std::to_string(mark.is_null() ? 1 : mark.column + 1) + ": ";
}

bool is_relative(const std::string& path) {
  return !path.empty() && path[0] != '/' && path[0] != '~' && path.find("://") == path.npos &&
         !path.starts_with("git@");
}

std::string below(const std::string& folder, const std::string& path) {
  return is_relative(path) ? (fs::path(folder) / path).lexically_normal().string() : path;
}

// Puts `over` in the place of what `base` has (compose-spec, 'Merge'): maps key by key, lists one
// behind the other, but for those that are one value.
void put_over(const Tree& over, Tree* base) {
  for (const auto& [key, value] : over.items()) {
    const bool one = key == "command" || key == "entrypoint" || key == "test";
    Tree& old = (*base)[key];
    if (old.is_object() && value.is_object()) {
      put_over(value, &old);
    } else if (old.is_array() && value.is_array() && !one) {
      old.insert(old.end(), value.begin(), value.end());
    } else {
      old = value;
    }
  }
}

// Long forms, so that two of them can be merged.
void normalize(Tree* service) {
  if (const auto build = service->find("build"); build != service->end() && build->is_string())
    *build = Tree{{"context", *build}};
  const auto env = service->find("environment");
  if (env == service->end() || !env->is_array()) return;
  Tree map = Tree::object();
  for (const Tree& line : *env) {
    if (!line.is_string()) continue;
    const std::string text = line.get<std::string>();
    const size_t equals = text.find('=');
    map[text.substr(0, equals)] =
        equals == std::string::npos ? Tree() : Tree(text.substr(equals + 1));
  }
  *env = std::move(map);
}

// "expected a list for 'ports'" where the form is another one; "": all is as it has to be.
std::string problem_of(const Tree& service) {
  for (const char* const key : {"image", "working_dir", "container_name", "hostname"}) {
    const auto found = service.find(key);
    if (found != service.end() && found->is_structured())
      return "expected a text for '" + std::string(key) + "'";
  }
  for (const char* const key : {"ports", "expose", "volumes"}) {
    const auto found = service.find(key);
    if (found != service.end() && !found->is_null() && !found->is_array())
      return "expected a list for '" + std::string(key) + "'";
  }
  return "";
}

// Paths of a service that another file describes count from that file's folder.
void rebase(const std::string& folder, Tree* service) {
  if (folder.empty() || folder == ".") return;
  if (const auto build = service->find("build"); build != service->end() && build->is_object()) {
    const std::string context = text_at(*build, "context");
    (*build)["context"] = below(folder, context.empty() ? "." : context);
  }
  if (const auto files = service->find("env_file"); files != service->end()) {
    for (Tree& file : *files) {  // one text counts as a list of it
      if (file.is_string()) file = below(folder, file.get<std::string>());
      if (file.is_object()) file["path"] = below(folder, text_at(file, "path"));
    }
  }
  if (const auto volumes = service->find("volumes"); volumes != service->end()) {
    for (Tree& volume : *volumes) {
      if (volume.is_string() && volume.get<std::string>().starts_with("."))
        volume = "./" + below(folder, volume.get<std::string>());
      if (volume.is_object() && text_at(volume, "source").starts_with("."))
        volume["source"] = "./" + below(folder, text_at(volume, "source"));
    }
  }
}

class Loader {
 public:
  Loader(const ReadFile& read, Interpolator* values) : read_(read), values_(*values) {}

  // `path` counts from where `read` counts; `shown` is its name in messages.
  std::vector<ComposeService> file(const std::string& path, const std::string& shown,
                                   const std::string& text, int depth) {
    if (depth > kDeepest) throw Mistake{shown + ":1:1: expected files that do not name each other"};
    const std::string folder = fs::path(path).parent_path().string();
    try {
      const YAML::Node root = YAML::Load(text);
      const YAML::Node services = root.IsMap() ? root["services"] : YAML::Node();
      const YAML::Node include = root.IsMap() ? root["include"] : YAML::Node();
      if (!include && (!services || !services.IsMap() || services.size() == 0))
        throw Mistake{shown + ":1:1: expected 'services', a map of at least one service"};
      std::vector<ComposeService> out;
      if (services && services.IsMap()) {
        for (const auto& entry : services) {
          const std::string name = entry.first.as<std::string>("");
          const std::string place = place_of(shown, entry.first.Mark());
          Tree tree = value(entry.second, 0);
          if (!tree.is_object()) throw Mistake{place + "expected a map for service '" + name + "'"};
          if (const std::string problem = problem_of(tree); !problem.empty())
            throw Mistake{place + problem + " of service '" + name + "'"};
          normalize(&tree);
          out.push_back({name, place, std::move(tree)});
        }
      }
      extend(folder, shown, depth, &out);
      if (include) add_included(value(include, 0), folder, shown, depth, &out);
      return out;
    } catch (const YAML::Exception& error) {
      throw Mistake{place_of(shown, error.mark) + error.msg};
    }
  }

 private:
  Tree value(const YAML::Node& node, int depth) {
    if (++count_ > kMostValues || depth > kDeepest || values_.too_long())
      throw YAML::Exception(node.Mark(), "the values of the file are too many, or nested too deep");
    if (node.IsScalar()) return values_(node.Scalar());
    if (node.IsSequence()) {
      Tree out = Tree::array();
      for (const YAML::Node& one : node) out.push_back(value(one, depth + 1));
      return out;
    }
    if (!node.IsMap()) return {};
    Tree out = Tree::object();
    std::vector<Tree> merged;  // of `<<: *name`: what stands here itself comes before it
    for (const auto& entry : node) {
      const std::string key = entry.first.as<std::string>("");
      Tree inner = value(entry.second, depth + 1);
      if (key != "<<") {
        out[key] = std::move(inner);
      } else if (inner.is_array()) {
        merged.insert(merged.end(), inner.begin(), inner.end());
      } else {
        merged.push_back(std::move(inner));
      }
    }
    for (const Tree& one : merged) {
      if (!one.is_object()) continue;
      for (const auto& [key, inner] : one.items()) {
        if (!out.contains(key)) out[key] = inner;
      }
    }
    return out;
  }

  // extends: NAME, or {service: NAME, file: FILE}
  void extend(const std::string& folder, const std::string& shown, int depth,
              std::vector<ComposeService>* services) {
    for (ComposeService& service : *services) {
      // Each round may bring the `extends` of the service that was extended.
      for (int round = 0; service.tree.contains("extends"); ++round) {
        const Tree extends = service.tree["extends"];
        service.tree.erase("extends");
        if (round > kDeepest)
          throw Mistake{service.place + "expected 'extends' that comes to an end"};
        const std::string name =
            extends.is_string() ? extends.get<std::string>() : text_at(extends, "service");
        const std::string file = text_at(extends, "file");
        Tree base = Tree::object();
        if (file.empty()) {
          const auto found = std::find_if(services->begin(), services->end(),
                                          [&](const auto& one) { return one.name == name; });
          if (found != services->end()) base = found->tree;
        } else if (const auto text = read_(below(folder, file))) {
          for (ComposeService& other : this->file(below(folder, file), file, *text, depth + 1)) {
            if (other.name != name) continue;
            base = std::move(other.tree);
            rebase(fs::path(file).parent_path().string(), &base);
          }
        } else {
          throw Mistake{service.place + "'" + service.name + "' extends a service of " + file +
                        ", which could not be read"};
        }
        put_over(service.tree, &base);
        if (++count_ > kMostValues) throw Mistake{shown + ":1:1: expected fewer services"};
        service.tree = std::move(base);
      }
    }
  }

  // include: [FILE, {path: FILE or [FILE]}]
  void add_included(const Tree& include, const std::string& folder, const std::string& shown,
                    int depth, std::vector<ComposeService>* out) {
    for (const Tree& entry : include) {
      Tree paths = entry.is_object() ? entry.value("path", Tree()) : entry;
      if (!paths.is_array()) paths = Tree::array({paths});
      for (const Tree& one : paths) {
        if (!one.is_string()) continue;
        const std::string path = below(folder, one.get<std::string>());
        const auto text = read_(path);
        if (!text)
          throw Mistake{shown + ":1:1: it includes " + one.get<std::string>() +
                        ", which could not be read"};
        for (ComposeService& service : file(path, one.get<std::string>(), *text, depth + 1)) {
          rebase(fs::path(one.get<std::string>()).parent_path().string(), &service.tree);
          const bool known = std::any_of(out->begin(), out->end(), [&](const auto& other) {
            return other.name == service.name;
          });
          if (!known) out->push_back(std::move(service));
        }
      }
    }
  }

  const ReadFile& read_;
  Interpolator& values_;
  size_t count_ = 0;
};

// The file that is put over one of the default names, if it is there.
std::optional<std::string> override_of(const std::string& file, const ReadFile& read,
                                       std::string* text) {
  const std::string name = fs::path(file).filename().string();
  const std::string stem = name.substr(0, name.find('.'));
  const bool usual = (stem == "compose" || stem == "docker-compose") &&
                     (name == stem + ".yaml" || name == stem + ".yml");
  if (!usual) return std::nullopt;
  for (const char* const other : {"compose.override.yml", "compose.override.yaml",
                                  "docker-compose.override.yml", "docker-compose.override.yaml"}) {
    if (auto found = read(other)) {
      *text = std::move(*found);
      return other;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string text_at(const Tree& map, const char* key) {
  if (!map.is_object()) return "";
  const auto found = map.find(key);
  return found != map.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<ComposeFile> load_compose(const std::string& file, const std::string& text,
                                 const ReadFile& read, Interpolator* values) {
  Loader loader(read, values);
  ComposeFile out;
  try {
    out.services = loader.file(fs::path(file).filename().string(), file, text, 0);
    std::string over;
    if (const auto name = override_of(file, read, &over)) {
      out.overrides.push_back(*name);
      for (ComposeService& service : loader.file(*name, *name, over, 0)) {
        const auto found = std::find_if(out.services.begin(), out.services.end(),
                                        [&](const auto& one) { return one.name == service.name; });
        if (found == out.services.end()) {
          out.services.push_back(std::move(service));
        } else {
          put_over(service.tree, &found->tree);
        }
      }
    }
  } catch (const Mistake& mistake) {
    return Error{mistake.text};
  }
  if (out.services.empty())
    return Error{file + ":1:1: expected 'services', a map of at least one service"};
  return out;
}

}  // namespace filibuster::init
