// report.html: a template, which the build makes of daemon/page/, with the data of a report in it.
//
// The template has marks, each once, for what is put into it. Its scripts and styles are named by their
// hashes in a Content-Security-Policy, so that nothing else in the page is ever executed.
#pragma once

#include <string>

#include "core/result.h"
#include "daemon/page/data.h"

namespace filibuster {

class PageTemplate {
 public:
  // `library` is the path of libfilibuster.so: the template lies in filibuster/ beside it. Error: the
  // build left it out, and how to have it.
  static Result<PageTemplate> load(const std::string& library);

  // The whole page. It needs no network.
  std::string page(const PageData& data, const SessionReport& report) const;
  // The page of another document. `json` is what the script shows, and `plain` a text for a browser without JavaScript.
  std::string page_of(const std::string& json, const std::string& plain) const;
  // The page that a daemon serves: it has no data, and asks the daemon that it comes from.
  std::string live_page() const;
  // The policy of live_page() as a header field.
  const std::string& live_policy() const { return live_policy_; }

 private:
  std::string filled(const std::string& connect, const std::string& without_script,
                     const std::string& summary, const std::string& executions) const;

  std::string text_;
  std::string live_policy_;
};

}  // namespace filibuster
