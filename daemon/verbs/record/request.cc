#include "daemon/verbs/record/request.h"

#include <algorithm>
#include <filesystem>

#include "core/text/size.h"
#include "daemon/record/case_writer.h"
#include "daemon/replay/alone.h"

namespace filibuster {
namespace {

// Why the requests of a service cannot become cases; "": they can.
std::string why_not(const ServiceConfig& service) {
  if (service.is_virtual) return "stubs answer in its place";
  if (service.ignored) return "\"interpose\" is false";
  if (service.third_party) return "it is a third party";
  return "";
}

void check_service(const std::string& name, RequestDraft* draft) {
  const std::vector<ServiceConfig>& services = draft->request.config.services;
  const auto found = std::find_if(services.begin(), services.end(),
                                  [&](const ServiceConfig& each) { return each.name == name; });
  if (found == services.end()) {
    std::string known;
    for (const ServiceConfig& each : services) known += (known.empty() ? "" : ", ") + each.name;
    return draft->fail("--service: there is no service '" + name + "' (services: " + known + ")");
  }
  if (const std::string why = why_not(*found); !why.empty())
    draft->fail("--service: '" + name + "' cannot be recorded: " + why);
}

void check_folder(const std::string& folder, RequestDraft* draft) {
  if (!std::filesystem::path(folder).is_absolute())
    return draft->fail("--out: expected the absolute path of a folder");
  if (const std::string why = record::why_not_into(folder); !why.empty())
    draft->fail("--out " + folder + ": " + why);
}

class RecordVerb final : public Verb {
 public:
  RecordVerb() : Verb("record", {.bytes = true}) {}

  void begin(const nlohmann::json& json, RequestDraft* draft) const override {
    const nlohmann::json options = json.value("record", nlohmann::json::object());
    auto own = std::make_shared<RecordRequest>();
    own->service = options.value("service", "");
    own->folder = options.value("out", "");
    if (const auto text = options.value("for", std::string()); !text.empty()) {
      const auto duration = parse_duration_text(text);
      if (duration && duration.value().count() > 0) {
        own->duration = duration.value();
      } else {
        draft->fail("--for " + text + ": expected a time such as 30s or 5m");
      }
    }
    if (const auto text = options.value("max_size", std::string()); !text.empty()) {
      if (const auto size = parse_size(text)) {
        own->most_bytes = *size;
      } else {
        draft->fail("--max-size " + text + ": expected a number of bytes such as 500K, 64M or 1G");
      }
    }
    own->mocked = replay::mocked_in(options);
    own->admits = options.value("admission", true);
    own->most_cases = options.value("max_cases", own->most_cases);
    own->sample = options.value("sample", own->sample);
    if (own->sample == 0) draft->fail("--sample 0: expected 1 or more");
    if (own->most_cases == 0) draft->fail("--max-cases 0: expected 1 or more");
    draft->request.watches = json.value("follow", false);
    draft->request.own = std::move(own);
  }

  // The command behind '--' takes the place of the tests.
  void read(const nlohmann::json& json, RequestDraft* draft) const override {
    const RecordRequest& own = draft->request.own_as<RecordRequest>();
    check_service(own.service, draft);
    check_folder(own.folder, draft);
    replay::check_mocked(own.mocked, draft->request.config, &draft->errors);
    const nlohmann::json options = json.value("record", nlohmann::json::object());
    const auto words = options.value("traffic", std::vector<std::string>());
    if (words.empty()) return;
    TestConfig traffic;
    traffic.name = "traffic";
    traffic.command.argv = words;
    draft->request.config.tests = {std::move(traffic)};
    draft->tests.clear();
  }

  std::unique_ptr<Mode> make(const SessionRequest& request) const override {
    return make_record_mode(request);
  }
};

}  // namespace

const Verb& record_verb() {
  static const RecordVerb verb;
  return verb;
}

}  // namespace filibuster
