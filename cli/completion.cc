// Completion for shells, made from the declared options, so that it never differs from them.
#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <cstdio>
#include <memory>

#include "cli/verb.h"

namespace filibuster::cli {
namespace {

enum class Takes { kNothing, kFile, kFolder, kOther };

Takes takes(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return Takes::kNothing;
  const std::string type = option.get_type_name();
  if (type.starts_with("FILE")) return Takes::kFile;
  return type.starts_with("DIR") ? Takes::kFolder : Takes::kOther;
}

// "--config", "-c"
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  return out;
}

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  // Those of no group are for the daemon.
  return app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// Behind '--' stands another command, which completes as it does by itself.
std::string for_bash(const CLI::App& app) {
  std::vector<std::string> verbs;
  std::string options, values;
  for (const CLI::App* verb : verbs_of(app)) {
    verbs.push_back(verb->get_name());
    std::vector<std::string> all, files, folders, others;
    for (const CLI::App* inner : verbs_of(*verb)) all.push_back(inner->get_name());
    for (const CLI::Option* option : verb->get_options()) {
      const std::vector<std::string> names = names_of(*option);
      all.insert(all.end(), names.begin(), names.end());
      const Takes what = takes(*option);
      auto& list = what == Takes::kFile ? files : what == Takes::kFolder ? folders : others;
      if (what != Takes::kNothing) list.insert(list.end(), names.begin(), names.end());
    }
    options += "    " + verb->get_name() + ") options='" + joined(all, " ") + "' ;;\n";
    const auto row = [&](const std::vector<std::string>& names, const char* action) {
      if (names.empty()) return;
      std::vector<std::string> patterns;
      for (const std::string& name : names) patterns.push_back(verb->get_name() + ":" + name);
      values += "    " + joined(patterns, "|") + ") " + action + "; return ;;\n";
    };
    row(files, "_filibuster_reply -f");
    row(folders, "_filibuster_reply -d");
    row(others, ":");
  }
  return R"(# bash completion for filibuster, written by `filibuster completion bash`
_filibuster_reply() { mapfile -t COMPREPLY < <(compgen "$@" -- "$word"); }
_filibuster() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options= i
  COMPREPLY=()
  for ((i = 2; i < COMP_CWORD; ++i)); do
    [ "${COMP_WORDS[i]}" = -- ] || continue
    if declare_completion -F _command_offset >/dev/null; then _command_offset $((i + 1)); else _filibuster_reply -f; fi
    return
  done
  if [ "$COMP_CWORD" = 1 ]; then
    _filibuster_reply -W ')" +
         joined(verbs, " ") + R"( --help --version'
    return
  fi
  case $verb:$before in
)" + values +
         R"(  esac
  case $verb in
)" + options +
         R"(  esac
  if [[ $word == -* || $verb == config && $COMP_CWORD == 2 ]]; then _filibuster_reply -W "$options --"; else _filibuster_reply -f; fi
}
complete -o filenames -F _filibuster filibuster
)";
}

// Within the single quotes of an argument of _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += std::string("\\") + c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string for_zsh(const CLI::App& app) {
  std::string verbs, cases;
  for (const CLI::App* verb : verbs_of(app)) {
    verbs += "    '" + verb->get_name() + ":" + zsh_text(verb->get_description()) + "'\n";
    cases += "    " + verb->get_name() + ") _arguments";
    for (const CLI::Option* option : verb->get_options()) {
      const Takes what = takes(*option);
      for (const std::string& name : names_of(*option)) {
        cases += " \\\n      '*" + name + "[" + zsh_text(option->get_description()) + "]";
        if (what == Takes::kFile) cases += ":file:_files";
        if (what == Takes::kFolder) cases += ":folder:_files -/";
        if (what == Takes::kOther) cases += ":" + zsh_text(option->get_type_name()) + ":";
        cases += "'";
      }
    }
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return R"(#compdef filibuster
# zsh completion for filibuster, written by `filibuster completion zsh`
_filibuster() {
  local -a verbs=(
)" + verbs +
         R"(  )
  local behind=${words[(i)--]}
  if (( behind < CURRENT )); then
    shift $behind words
    (( CURRENT -= behind ))
    _normal
    return
  fi
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=${words[2]}
  shift words
  (( CURRENT-- ))
  case $verb in
)" + cases +
         R"(  esac
}
if [ "$funcstack[1]" = _filibuster ]; then _filibuster "$@"; else compdef _filibuster filibuster; fi
)";
}

Work declare_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash or zsh")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  return [shell, &app](const Invocation&) {
    const CLI::App& whole = *app.get_parent();
    const std::string text = *shell == "bash" ? for_bash(whole) : for_zsh(whole);
    std::fputs(text.c_str(), stdout);
    return static_cast<int>(kNothingFound);
  };
}

}  // namespace

const Verb kCompletionVerb = {"completion", "print what completes this command in a shell",
                              "  source <(filibuster completion bash)\n"
                              "  filibuster completion zsh > ~/.zfunc/_filibuster\n"
                              "\n`make install` and the Debian package install both.\n",
                              "", declare_completion};

}  // namespace filibuster::cli
