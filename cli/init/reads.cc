#include "cli/init/reads.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "cli/analysis/tokens.h"
#include "cli/init/other_reads.h"

namespace filibuster::init {
namespace {

using analysis::Language;
using analysis::Token;

struct SourceEnding {
  std::string_view end;
  Language like;  // whose comments and quotes it has
};
// What the analysis of answers does not read, and whose reads are known here.
constexpr SourceEnding kFurtherSources[] = {
    {".rb", Language::kPython},  {".ex", Language::kPython},   {".exs", Language::kPython},
    {".php", Language::kJava},   {".rs", Language::kJava},     {".cs", Language::kJava},
    {".scala", Language::kJava}, {".groovy", Language::kJava}, {".kts", Language::kJava}};

Language language_like(std::string_view path) {
  for (const SourceEnding& row : kFurtherSources) {
    if (path.ends_with(row.end)) return row.like;
  }
  return analysis::language_of(path);
}

std::string in_small(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

template <size_t n>
bool in_list(std::string_view word, const std::string_view (&list)[n]) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// The words of the name of a function: mustMapEnv and must_map_env have three.
std::vector<std::string> words_of_function(std::string_view name) {
  std::vector<std::string> out(1);
  bool after_small = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (((after_small && std::isupper(byte) != 0) || c == '_') && !out.back().empty())
      out.emplace_back();
    if (c != '_') out.back() += static_cast<char>(std::tolower(byte));
    after_small = std::islower(byte) != 0;
  }
  return out;
}

// getenv, os.Getenv, LookupEnv, GetEnvironmentVariable, getEnvOrDefault, must_map_env: not setenv.
bool is_reader(std::string_view name) {
  constexpr std::string_view kWriters[] = {"set",      "put",   "unset",    "setenv", "putenv",
                                           "unsetenv", "clear", "clearenv", "with",   "export"};
  const std::vector<std::string> words = words_of_function(name);
  if (in_list(words[0], kWriters)) return false;
  if (in_small(name).find("environmentvariable") != std::string::npos) return true;
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "env" || word == "getenv" || word == "lookupenv";
  });
}

class ReadFinder {
 public:
  ReadFinder(const std::string& path, Language language, std::string_view text,
             uint32_t lines_before, int depth, std::vector<VariableRead>* out)
      : path_(path),
        language_(language),
        lines_before_(lines_before),
        depth_(depth),
        tokens_(analysis::tokenize(text, language)),
        partner_(analysis::match_brackets(tokens_)),
        out_(*out) {}

  void run() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.string()) {
        inside(token);
      } else if (token.word()) {
        constexpr std::string_view kMaps[] = {"environ", "env", "$_env", "environment"};
        constexpr std::string_view kSettings[] = {"config", "configservice", "viper"};
        const std::string name = in_small(token.text);
        if (in_list(name, kMaps)) {
          of_map(i);
        } else if (in_list(name, kSettings)) {
          of_settings(i);
        } else if (is_reader(token.text)) {
          of_function(i);
        }
      }
    }
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  static constexpr size_t kFarBefore = 40;  // tokens; a minified source is one line
  static constexpr int kDeepest = 3;

  bool is(size_t at, std::string_view text) const {
    return at < tokens_.size() && tokens_[at].is(text);
  }
  bool is_word(size_t at) const { return at < tokens_.size() && tokens_[at].word(); }
  bool is_name(size_t at) const {
    return at < tokens_.size() && tokens_[at].string() && is_variable_name(tokens_[at].text);
  }
  bool is_literal(size_t at) const {
    return at < tokens_.size() &&
           (tokens_[at].string() || tokens_[at].kind == Token::Kind::kNumber);
  }
  bool is_access(size_t at) const { return is(at, ".") || is(at, "?.") || is(at, "::"); }
  // Behind the type arguments of a call: get<string>(
  size_t behind_types(size_t at) const {
    if (!is(at, "<")) return at;
    for (size_t i = at + 1; i < at + 8; ++i) {
      if (is(i, ">")) return i + 1;
    }
    return at;
  }

  // `http://${process.env.USERS_HOST}:5000`, f"http://{os.environ['USERS_HOST']}"
  void inside(const Token& token) {
    if (token.text.find('{') == std::string_view::npos && language_ != Language::kGo) return;
    if (language_ == Language::kGo && token.text.find("nv") != std::string_view::npos)
      return of_tag(token);
    if (token.text.find("env") == std::string_view::npos &&
        token.text.find("ENV") == std::string_view::npos)
      return;
    if (depth_ == kDeepest) return;
    for (size_t open = token.text.find('{'); open != token.text.npos;) {
      size_t end = open + 1;
      for (int depth = 1; end < token.text.size(); ++end) {
        if (token.text[end] == '{') ++depth;
        if (token.text[end] == '}' && --depth == 0) break;
      }
      const std::string_view before = token.text.substr(0, open);
      const auto lines = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
      ReadFinder(path_, language_, token.text.substr(open + 1, end - open - 1),
                 line(token) - 1 + lines, depth_ + 1, &out_)
          .run();
      open = token.text.find('{', end);
    }
  }

  // Port int `env:"PORT" envDefault:"80"`, `envconfig:"PORT" default:"80"`, `env:"PORT,default=80"`
  void of_tag(const Token& token) {
    const auto value_of = [&](std::string_view key) -> std::optional<std::string> {
      const size_t at = token.text.find(key);
      const bool begins = at != token.text.npos && (at == 0 || token.text[at - 1] == ' ');
      if (!begins) return std::nullopt;
      const size_t from = at + key.size();
      return std::string(token.text.substr(from, token.text.find('"', from) - from));
    };
    auto name = value_of("env:\"");
    if (!name) name = value_of("envconfig:\"");
    if (!name) return;
    VariableRead read = new_read(name->substr(0, name->find(',')), token);
    for (const std::string_view key : {"envDefault:\"", "default:\"", "env-default:\""}) {
      if (const auto value = value_of(key)) read.otherwise = value;
    }
    if (const size_t at = name->find("default="); at != std::string::npos)
      read.otherwise = name->substr(at + 8);
    read.needed = !read.otherwise && token.text.find("required") != token.text.npos;
    add(std::move(read));
  }

  // Names that bundlers give a value of their own: import.meta.env.BASE_URL.
  bool is_of_bundler(size_t at, size_t name) const {
    constexpr std::string_view kNames[] = {"BASE_URL", "MODE", "DEV", "PROD", "SSR"};
    return at > 1 && is(at - 2, "meta") && in_list(tokens_[name].text, kNames);
  }

  // os.environ[..], process.env.NAME, ENV.fetch(..), env(..), env::var(..)
  void of_map(size_t at) {
    if (is(at + 1, "[") && is_name(at + 2) && is(at + 3, "]")) return found(at, at + 2, at + 3);
    if (is(at + 1, "(")) return of_call(at, at + 1);
    if (!is_access(at + 1)) return;
    if (is(at + 2, "[") && is_name(at + 3)) return found(at, at + 3, at + 4);  // env?.["NAME"]
    if (!is_word(at + 2) || is_reader(tokens_[at + 2].text)) return;
    const size_t open = behind_types(at + 3);
    if (is(open, "(")) return of_call(at, open);
    if (language_ == Language::kJavaScript && is_variable_name(tokens_[at + 2].text) &&
        !is_of_bundler(at, at + 2))
      found(at, at + 2, at + 2);
  }

  // configService.get("NAME"), viper.GetString("NAME"), config("NAME", default=..)
  void of_settings(size_t at) {
    const size_t open = is_access(at + 1) && is_word(at + 2) ? behind_types(at + 3) : at + 1;
    const bool named = is(open, "(") && is_name(open + 1);
    if (named && tokens_[open + 1].text.find('_') != std::string_view::npos) of_call(at, open);
  }

  // getenv(..), System.getenv().get(..), System.getenv()[..]
  void of_function(size_t at) {
    const size_t open = behind_types(is(at + 1, "!") ? at + 2 : at + 1);
    if (!is(open, "(")) return;
    if (!is(open + 1, ")")) return of_call(at, open);
    if (is(open + 2, "[") && is_name(open + 3)) return found(at, open + 3, open + 4);
    if (is_access(open + 2) && is(open + 4, "(")) of_call(at, open + 4);
  }

  // The name is the first or the second argument; what stands behind it is the default.
  void of_call(size_t at, size_t open) {
    const size_t close = partner_[open];
    if (close >= tokens_.size()) return;
    size_t name = kNone, argument = 0, begin = open + 1;
    VariableRead read;
    for (size_t i = begin; i <= close && argument < 6; ++i) {
      const bool ends = i == close || is(i, ",");
      if (!ends) {
        if (partner_[i] < tokens_.size() && partner_[i] > i) i = partner_[i];
        continue;
      }
      if (name == kNone) {
        if (argument < 2 && i == begin + 1 && is_name(begin)) {
          name = begin;
          read = new_read(std::string(tokens_[name].text), tokens_[name]);
        }
      } else if (i > begin) {
        default_of_argument(begin, i, &read);
      }
      begin = i + 1;
      ++argument;
    }
    if (name != kNone) finished(std::move(read), at, close);
  }

  // cast=int is no default; default="..." is.
  void default_of_argument(size_t begin, size_t end, VariableRead* read) const {
    const bool keyword = is_word(begin) && (is(begin + 1, "=") || is(begin + 1, ":"));
    if (keyword && in_small(tokens_[begin].text).find("default") == std::string::npos) return;
    if (!read->needed) return;
    read->needed = false;
    read->otherwise = literal_in(keyword ? begin + 2 : begin, end);
  }

  // The one literal between two places: "d", "d".to_string(), || "d", lambda: "d".
  std::optional<std::string> literal_in(size_t begin, size_t end) const {
    std::optional<std::string> out;
    for (size_t i = begin; i < end && i < tokens_.size(); ++i) {
      if (!is_literal(i)) continue;
      if (out) return std::nullopt;
      out = std::string(tokens_[i].text);
    }
    return out;
  }

  void found(size_t at, size_t name, size_t end) {
    finished(new_read(std::string(tokens_[name].text), tokens_[name]), at, end);
  }

  // Looks at what stands around the read: `begin` and `end` are its first and its last token.
  void finished(VariableRead read, size_t begin, size_t end) {
    if (is(end + 1, "=")) return;  // it is written
    constexpr std::string_view kConditions[] = {"if", "elif", "unless", "while", "lookupenv"};
    const size_t first = begin > kFarBefore ? begin - kFarBefore : 0;
    for (size_t i = begin + 1; i-- > first && tokens_[i].line == tokens_[begin].line;) {
      if (tokens_[i].word() && in_list(in_small(tokens_[i].text), kConditions)) read.needed = false;
      if (tokens_[i].first_in_line) break;
    }
    const size_t last = behind(end, &read);
    if (read.needed || !read.otherwise) later(begin, last, &read);
    add(std::move(read));
  }

  // Operators and calls behind the read: `|| "d"`, `.unwrap_or("d")`. The last token of all that.
  size_t behind(size_t end, VariableRead* read) const {
    constexpr std::string_view kOr[] = {"||", "??", "or"};
    constexpr std::string_view kAsked[] = {"&&", "==", "===", "!=", "!==", "is", "in", "and", "if"};
    constexpr std::string_view kInstead[] = {"unwrap_or", "unwrap_or_else", "unwrap_or_default",
                                             "orelse",    "orelseget",      "getorelse",
                                             "or_else",   "map_or",         "is_ok",
                                             "ok",        "ispresent",      "is_some"};
    for (int step = 0; step < 12; ++step) {
      const size_t next = end + 1;
      if (next >= tokens_.size()) return end;
      const std::string text = tokens_[next].string() ? "" : in_small(tokens_[next].text);
      if (in_list(text, kOr)) {
        instead(next + 1, read);
        return end;
      }
      if (text == "?") {  // of Kotlin's and PHP's ?: and of a condition
        instead(is(next + 1, ":") ? next + 2 : kNone, read);
        return end;
      }
      if (in_list(text, kAsked) && !tokens_[next].first_in_line) {
        read->needed = false;
        return end;
      }
      if (text == "{" && language_ == Language::kPython && !tokens_[next].first_in_line) {
        read->needed = false;  // a block of Ruby's fetch
        read->otherwise = literal_in(next, std::min<size_t>(partner_[next], next + 6));
        return end;
      }
      if (text == ")" || text == "!") {
        end = next;
      } else if (is_access(next) && is_word(next + 1)) {
        const bool call = is(next + 2, "(") && partner_[next + 2] < tokens_.size();
        if (in_list(in_small(tokens_[next + 1].text), kInstead)) {
          if (call && !read->otherwise) read->otherwise = literal_in(next + 3, partner_[next + 2]);
          read->needed = false;
          return call ? partner_[next + 2] : next + 1;
        }
        end = call ? partner_[next + 2] : next + 1;
      } else {
        return end;
      }
    }
    return end;
  }

  void instead(size_t at, VariableRead* read) const {
    read->needed = false;
    if (!read->otherwise && is_literal(at)) read->otherwise = std::string(tokens_[at].text);
  }

  // x := os.Getenv("X"); if x == "" { x = "d" }
  void later(size_t begin, size_t end, VariableRead* read) const {
    size_t at = begin;
    const size_t first = begin > kFarBefore ? begin - kFarBefore : 0;
    while (at > first && !tokens_[at].first_in_line && !is(at, "=") && !is(at, ":=")) --at;
    if (at == 0 || !is_word(at - 1) || (!is(at, "=") && !is(at, ":="))) return;
    const std::string_view variable = tokens_[at - 1].text;
    constexpr size_t kFar = 120;  // tokens
    for (size_t next = end + 1; next < end + kFar && next < tokens_.size(); ++next) {
      constexpr std::string_view kAsks[] = {"if", "elif", "unless", "switch", "match", "case"};
      if (!in_list(tokens_[next].text, kAsks) || !tokens_[next].word()) continue;
      for (size_t i = next + 1; i < next + 7; ++i) {
        const bool whole = !is(i + 1, ".") && !is(i + 1, "(") && !is(i + 1, "[");
        if (is(i, variable) && whole) read->needed = false;
      }
      for (size_t i = next; !read->needed && i < next + 24; ++i) {
        if (is(i, variable) && is(i + 1, "=") && is_literal(i + 2)) return instead(i + 2, read);
      }
      if (!read->needed) return;
    }
  }

  uint32_t line(const Token& token) const { return token.line + lines_before_; }
  VariableRead new_read(std::string name, const Token& token) const {
    return {std::move(name), path_, line(token), true, std::nullopt, false};
  }
  void add(VariableRead read) {
    if (is_variable_name(read.name)) out_.push_back(std::move(read));
  }

  const std::string& path_;
  Language language_;
  uint32_t lines_before_;
  int depth_;  // of the text in which it reads: a text in a text in a source has 2
  std::vector<Token> tokens_;
  std::vector<uint32_t> partner_;
  std::vector<VariableRead>& out_;
};

}  // namespace

bool is_variable_name(std::string_view text) {
  if (text.size() < 2 || text.size() > 80 ||
      (std::isupper(static_cast<unsigned char>(text[0])) == 0))
    return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
  });
}

bool may_read_variables(std::string_view path) {
  return language_like(path) != Language::kNone || is_settings_of_spring(path);
}

std::vector<VariableRead> variables_read(const std::string& path, std::string_view text) {
  std::vector<VariableRead> out;
  if (is_settings_of_spring(path)) {
    reads_of_spring(path, text, &out);
  } else if (const Language language = language_like(path); language != Language::kNone) {
    ReadFinder(path, language, text, 0, 0, &out).run();
  }
  return out;
}

}  // namespace filibuster::init
