#include <filesystem>
#include <iostream>

#include "cli/cases_text.h"
#include "cli/verb.h"
#include "daemon/cases/case_folder.h"
#include "daemon/cases/identity.h"
#include "daemon/report/words.h"
#include "daemon/wire/body_form.h"

namespace filibuster::cli {
namespace {

using cases::Call;
using cases::Case;

constexpr size_t kMostShownOfBody = 400;  // bytes

class CasePrinter {
 public:
  explicit CasePrinter(bool whole) : whole_(whole) {}

  void request(const cases::Request& of, const std::string& margin) const {
    headers(of.headers, margin);
    body(of.body, margin);
  }

  void answer(const cases::Answer& of, const std::string& margin) const {
    headers(of.headers, margin);
    body(of.body, margin);
    headers(of.trailers, margin);
  }

  void reply(const nlohmann::json& value) const {
    std::cout << " \u2192 "
              << shown(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

 private:
  static void headers(const cases::Headers& all, const std::string& margin) {
    for (const auto& [name, value] : all) std::cout << margin << name << ": " << value << "\n";
  }

  void body(const std::string& bytes, const std::string& margin) const {
    if (bytes.empty()) return;
    const wire::BodyForm form = wire::body_form(bytes);
    std::string text = "(" + std::to_string(bytes.size()) + " bytes that are no text)";
    if (form.kind == wire::BodyKind::kJson)
      text = wire::print_json(form.json, whole_ ? wire::JsonSpace::kTwo : wire::JsonSpace::kPython);
    if (form.kind == wire::BodyKind::kText) text = bytes;
    text = shown(std::move(text));
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::cout << margin << text.substr(at, end - at) << "\n";
      at = end + 1;
    }
  }

  std::string shown(std::string text) const {
    if (whole_ || text.size() <= kMostShownOfBody) return text;
    return cut(text, kMostShownOfBody) + " (of " + std::to_string(text.size()) + " bytes; --whole)";
  }

  bool whole_;
};

}  // namespace

std::string case_file_name(const Case& of) {
  return std::filesystem::path(of.file).stem().string();
}

std::string counted_cases(size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string case_answer_text(const Case& of) {
  if (of.answer.status != 0) return std::to_string(of.answer.status);
  return of.answer.silence ? "no answer" : "ended without an answer";
}

int complain_of_files(const std::vector<ConfigError>& errors) {
  for (const ConfigError& error : errors) {
    std::cerr << error.file << ":";
    if (error.line > 0) std::cerr << error.line << ":" << error.column << ":";
    std::cerr << " " << error.message << "\n";
  }
  return kUsage;
}

int show_case(const std::string& file, bool whole) {
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed))
    return complain(kUsage, file + " is a folder: `filibuster cases list " + file +
                                "` names the files of its cases");
  const cases::ReadCase read = cases::load_case(file);
  if (!read.errors.empty()) return complain_of_files(read.errors);
  const Case& of = read.value;
  const CasePrinter print(whole);
  std::cout << of.request.method << " " << of.request.target << " of '" << of.service << "'\n";
  print.request(of.request, "    ");
  if (!of.partial.empty()) std::cout << "  not whole: " << of.partial << "\n";
  for (size_t i = 0; i < of.calls.size(); ++i) {
    const Call& call = of.calls[i];
    std::string after;
    for (const size_t each : call.after)
      after += (after.empty() ? "  (behind " : ", ") + std::to_string(each);
    if (!after.empty()) after += ")";
    std::cout << "  " << i << ". " << cases::call_text(call.input);
    if (call.input.kind == cases::Kind::kRedis && call.reply) {
      print.reply(*call.reply);
      std::cout << after << "\n";
      continue;
    }
    if (call.input.kind == cases::Kind::kHttp && call.answer.status != 0) {
      std::cout << after << "\n";
      print.request(call.input.http, "       ");
      std::cout << "     \u2192 " << call.answer.status << "\n";
      print.answer(call.answer, "       ");
      continue;
    }
    std::cout << " \u2192 " << (call.answer.silence ? "no answer" : "its connection ended") << after
              << "\n";
  }
  std::cout << "\u2192 " << case_answer_text(of) << "\n";
  print.answer(of.answer, "    ");
  return kNothingFound;
}

}  // namespace filibuster::cli
