#include "daemon/page/file.h"

#include <array>
#include <filesystem>

#include "core/text/shell_word.h"
#include "daemon/model/environment_error.h"
#include "daemon/process/session_lane.h"
#include "daemon/redact/redact.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/text.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

// In the order in which they stand in the template (daemon/page/build.mjs checks that).
constexpr std::array<std::string_view, 4> kMarks = {"@CONNECT@", "@SUMMARY@", "@EXECUTIONS@",
                                                    "@WITHOUT-SCRIPT@"};
// Findings that a browser without JavaScript shows with their output.
constexpr size_t kMaxWhole = 200;

// Text between tags, or in an attribute between double quotes.
std::string html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      out += "&#65533;";  // HTML has no such characters
    } else {
      out += c;
    }
  }
  return out;
}

// JSON in a <script>: '<' could end the element or open a comment (HTML standard, "Restrictions for
// contents of script elements"), and stands in texts only.
std::string in_script(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// The findings for a browser without JavaScript.
std::string plain_summary(const SessionReport& report) {
  std::string out;
  for (const EnvironmentError& error : environment_errors(report)) {
    out += "<h2>Environment error" +
           (error.test.empty() ? "" : " in test " + html(redact(error.test))) + "</h2>\n<p>" +
           html(redact(error.what)) + "</p>\n<pre>" +
           html(redact(error.title + "\n" + error.lines)) + "</pre>\n<p>" +
           html(redact(error.remedy)) + "</p>\n";
  }
  for (const TestReport& test : report.tests) {
    out += "<h2>" + html(redact(test.test)) + "</h2>\n<p>" +
           counted(test.counts.executed, "execution", "executions") + ", " +
           (test.error.empty() ? counted(test.findings.size(), "finding", "findings")
                               : std::string("not explored to its end")) +
           (test.finished || !test.error.empty() ? "" : ", not finished") + "</p>\n<ol>\n";
    size_t shown = 0;
    for (const Finding& finding : test.findings) {
      out += "<li><p>" + html(redact(to_line(finding))) + "</p>";
      if (shown++ < kMaxWhole) out += "<pre>" + html(to_text(finding)) + "</pre>";
      if (!finding.counterexample.empty())
        out += "<p><code>filibuster replay " + html(shell_word(finding.counterexample)) +
               "</code></p>";
      out += "</li>\n";
    }
    out += "</ol>\n";
  }
  if (const std::string tested = tested_text(report); !tested.empty())
    out += "<p>" + html(tested) + "</p>\n";
  return out;
}

}  // namespace

Result<PageTemplate> PageTemplate::load(const std::string& library) {
  const std::string path =
      (std::filesystem::path(library).parent_path() / "filibuster/report.html").string();
  auto text = read_file(path);
  if (!text) {
    return Error{"report.html is not written: its template is missing (" + path +
                 "); install npm (apt-get install npm) and run make again"};
  }
  PageTemplate out;
  out.text_ = std::move(text).value();
  size_t at = 0;
  for (const std::string_view mark : kMarks) {
    at = out.text_.find(mark, at);
    if (at == std::string::npos)
      return Error{path + ": it has no " + std::string(mark) + "; run make again"};
  }
  constexpr std::string_view kPolicy = "http-equiv=\"Content-Security-Policy\" content=\"";
  const size_t policy = out.text_.find(kPolicy);
  if (policy == std::string::npos) return Error{path + ": it has no policy; run make again"};
  const size_t begin = policy + kPolicy.size();
  out.live_policy_ = out.text_.substr(begin, out.text_.find('"', begin) - begin);
  const size_t connect = out.live_policy_.find(kMarks[0]);
  if (connect == std::string::npos) return Error{path + ": its policy has no mark; run make again"};
  out.live_policy_.replace(connect, kMarks[0].size(), "'self'");
  out.live_policy_ += "; frame-ancestors 'none'";
  return out;
}

std::string PageTemplate::filled(const std::string& connect, const std::string& without_script,
                                 const std::string& summary, const std::string& executions) const {
  const std::array<const std::string*, kMarks.size()> values = {&connect, &summary, &executions,
                                                                &without_script};
  std::string out;
  out.reserve(text_.size() + summary.size() + executions.size() + without_script.size());
  size_t from = 0;
  for (size_t i = 0; i < kMarks.size(); ++i) {
    const size_t at = text_.find(kMarks[i], from);
    out.append(text_, from, at - from);
    out += *values[i];
    from = at + kMarks[i].size();
  }
  return out.append(text_, from);
}

std::string PageTemplate::page(const PageData& data, const SessionReport& report) const {
  return filled("'none'", plain_summary(report), in_script(data.summary),
                in_script(data.executions));
}

std::string PageTemplate::page_of(const std::string& json, const std::string& plain) const {
  return filled("'none'", "<pre>" + html(plain) + "</pre>", in_script(json), "null");
}

std::string PageTemplate::live_page() const {
  return filled("'self'", "<p>The page of a running exploration needs JavaScript.</p>", "null",
                "null");
}

}  // namespace filibuster
