#include "cli/analysis/patterns.h"

#include <algorithm>

#include "cli/analysis/choices.h"
#include "cli/analysis/pattern_tables.h"

namespace filibuster::analysis {
namespace {

template <typename Row>
std::vector<std::vector<std::string_view>> compile(std::span<const Row> rows) {
  std::vector<std::vector<std::string_view>> all;
  for (const Row& row : rows) all.push_back(words_of(row.text));
  return all;
}

class Finder {
 public:
  Finder(const Source& source, const StatusTakers& takers) : source_(source), takers_(takers) {}

  std::vector<Sighting> run() {
    const auto count = static_cast<uint32_t>(source_.tokens.size());
    for (uint32_t i = 0; i < count; ++i) {
      by_table(i);
      by_name(i);
      by_member(i);
      by_taker(i);
      if (source_.language == Language::kPython) {
        if (source_.is(i, "return")) returned_tuple(i);
        if (source_.is(i, "raise")) raised(i);
      } else if (source_.is(i, "throw")) {
        thrown(i);
      }
      if (source_.language == Language::kCpp) aggregate(i);
    }
    std::sort(out_.begin(), out_.end(), [](const Sighting& a, const Sighting& b) {
      return a.token != b.token ? a.token < b.token : a.answer < b.answer;
    });
    const auto same = [](const Sighting& a, const Sighting& b) {
      return a.token == b.token && a.answer == b.answer;
    };
    out_.erase(std::unique(out_.begin(), out_.end(), same), out_.end());
    return std::move(out_);
  }

 private:
  void add(uint32_t token, const Answer& answer) {
    if (is_error(answer)) out_.push_back({token, answer});
  }
  void add_own(uint32_t token) {
    if (const auto status = own_status(source_, token)) add(token, {false, *status});
  }
  void add_choices(Span expression) {
    for (uint32_t token : own_statuses(source_, expression)) add_own(token);
  }

  void by_table(uint32_t at) {
    static const auto rows = compile(answer_patterns());
    for (size_t i = 0; i < rows.size(); ++i) {
      if (answer_patterns()[i].language != source_.language || !source_.is(at, rows[i][0]))
        continue;
      const Match match = match_pattern(source_, at, rows[i]);
      if (!match.found) continue;
      // [404, 403] is a list of statuses, and not an answer.
      const bool list = answer_patterns()[i].text.ends_with("[ $S ,");
      if (list && source_.token(match.end).kind == Token::Kind::kNumber) continue;
      const uint16_t whole = match.named != 0 ? match.named : answer_patterns()[i].status;
      add(at, {false, whole});
      for (uint32_t status : match.statuses) add_own(status);
    }
  }

  // A constant for a status that nothing is compared with.
  void by_name(uint32_t at) {
    if (at > 0 && (source_.is(at - 1, ".") || source_.is(at - 1, "::"))) {
      // The name was looked at from its beginning, except for a leading "::" (::grpc::StatusCode).
      if (at < 2 || source_.token(at - 2).word()) return;
    }
    const auto written = status_at(source_, at);
    if (!written || !written->named || imported(at)) return;
    if (!compared(source_, at, at + written->size)) add(at, written->answer);
  }
  // "import static ...HttpStatus.NOT_FOUND;"
  bool imported(uint32_t at) const {
    for (uint32_t i = at; i > 0 && at - i < 16; --i) {
      if (source_.is(i - 1, "import") || source_.is(i - 1, "using")) return true;
      if (source_.is(i - 1, ";") || source_.tokens[i - 1].line != source_.tokens[at].line)
        return false;
    }
    return false;
  }

  // status = 404, .statusCode = 404, {status: 404}, "statusCode": 404, status: int = 404
  void by_member(uint32_t at) {
    const Token& token = source_.tokens[at];
    if (token.kind != Token::Kind::kWord && !token.string()) return;
    if (!names_status(token.text)) return;
    const bool key =
        source_.language == Language::kJavaScript || source_.language == Language::kPython;
    if (source_.is(at + 1, ":") && key) {
      add_choices(expression_at(source_, at + 2));
      if (source_.token(at + 2).word() && source_.is(at + 3, "="))
        add_choices(expression_at(source_, at + 4));
    }
    if (token.string()) return;
    if (source_.is(at + 1, "=") || source_.is(at + 1, ":="))
      add_choices(expression_at(source_, at + 2));
  }

  // answer(404, ...) where a function of the sources takes a status as this argument
  void by_taker(uint32_t at) {
    if (!source_.token(at).word() || !(source_.is(at + 1, "(") || source_.is(at + 1, "{"))) return;
    const auto first = takers_.takers.lower_bound({std::string(source_.tokens[at].text), 0});
    if (first == takers_.takers.end() || first->name != source_.tokens[at].text) return;
    const std::vector<Span> arguments = arguments_of(source_, at + 1);
    for (auto taker = first; taker != takers_.takers.end() && taker->name == first->name; ++taker) {
      if (taker->argument < arguments.size()) add_choices(arguments[taker->argument]);
    }
  }

  // return ..., 404  and  return ..., 404, {...}  and  return (..., 404) if missing else (..., 200)
  void returned_tuple(uint32_t at) {
    for (const Span& tuple : tuples_returned(source_, at)) {
      const std::vector<Span> elements = elements_of(source_, tuple);
      for (size_t i = 1; i < elements.size(); ++i) add_choices(elements[i]);
    }
  }

  // raise NotFound, raise exceptions.ServiceUnavailable("x"), raise web.HTTPNotFound()
  void raised(uint32_t at) {
    uint32_t name = at + 1;
    while (source_.is(name + 1, ".") && source_.token(name + 2).word()) name += 2;
    if (!source_.token(name).word()) return;
    std::string_view text = source_.tokens[name].text;
    const bool http = text.starts_with("HTTP") && text.size() > 4;
    if (!http && source_.text.find("werkzeug") == std::string::npos) return;
    if (http) text.remove_prefix(4);
    if (const uint16_t status = http_status_of(text)) add(name, {false, status});
  }

  // throw new NotFoundException(...) where a framework turns such exceptions into statuses
  void thrown(uint32_t at) {
    if (!source_.is(at + 1, "new")) return;
    const Token& token = source_.token(at + 2);
    const bool framework = source_.text.find("@nestjs/common") != std::string::npos ||
                           source_.text.find(".ws.rs") != std::string::npos;
    if (!token.word() || !framework || !token.text.ends_with("Exception")) return;
    const std::string_view name = token.text.substr(0, token.text.size() - 9);
    if (const uint16_t status = http_status_of(name)) add(at + 2, {false, status});
  }

  // return {404, ...} where a structure of the sources begins with a status
  void aggregate(uint32_t at) {
    if (!takers_.aggregates || !source_.is(at, "return") || !source_.is(at + 1, "{")) return;
    if (source_.is(at + 3, ",") || source_.is(at + 3, "}")) add_own(at + 2);
  }

  const Source& source_;
  const StatusTakers& takers_;
  std::vector<Sighting> out_;
};

}  // namespace

std::vector<Sighting> find_answers(const Source& source, const StatusTakers& takers) {
  return Finder(source, takers).run();
}

std::vector<Framework> find_frameworks(const Source& source) {
  std::vector<Framework> out;
  static const auto rows = compile(framework_rows());
  const auto count = static_cast<uint32_t>(source.tokens.size());
  for (uint32_t at = 0; at < count; ++at) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (framework_rows()[i].language != source.language || !source.is(at, rows[i][0])) continue;
      if (!match_pattern(source, at, rows[i]).found) continue;
      const auto same = [&](const Framework& one) { return one.name == framework_rows()[i].name; };
      if (std::any_of(out.begin(), out.end(), same)) continue;
      const Answer& answer = framework_rows()[i].uncaught;
      out.push_back(
          {framework_rows()[i].name, is_error(answer) ? std::optional(answer) : std::nullopt, at});
    }
  }
  return out;
}

}  // namespace filibuster::analysis
