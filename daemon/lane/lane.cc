#include "daemon/lane/lane.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/base/fail_point.h"
#include "daemon/base/random.h"
#include "daemon/lane/application.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestSocketPath = 100;  // sockaddr_un has 108 bytes

SessionLane place_of(const Lane::Options& options) {
  SessionLane place;
  place.number = options.number;
  place.root = options.root;
  place.api_url = options.api_url;
  place.api_port = options.api_port;
  place.token = lane_token(options.token, options.number);
  place.wake_fd = options.wake_fd;
  place.has_hosts = options.config.has_hosts();
  return place;
}

}  // namespace

HubFolder::~HubFolder() {
  std::error_code ignored;
  if (temporary_) fs::remove_all(path_, ignored);
}

Result<void> HubFolder::make(const std::string& root, uint32_t lane) {
  path_ = root + "/agents" + (lane == 0 ? "" : "-" + std::to_string(lane));
  if (path_.size() + strlen("/agent.sock") <= kLongestSocketPath &&
      path_.find_first_of(" :") == std::string::npos) {
    return make_private_folder(path_);
  }
  char name[] = "/tmp/filibuster-XXXXXX";
  if (mkdtemp(name) == nullptr) return Error{std::string("cannot make ") + name};
  path_ = name;
  temporary_ = true;
  return {};
}

LibraryPath::~LibraryPath() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<std::string> LibraryPath::make(const std::string& library) {
  if (access(library.c_str(), R_OK) != 0) {
    return Error{"libfilibuster.so is not at " + library +
                 "; build or install it, or set FILIBUSTER_PRELOAD"};
  }
  if (library.find_first_of(" :") == std::string::npos) return library;
  char name[] = "/tmp/filibuster-XXXXXX";
  if (mkdtemp(name) == nullptr) return Error{std::string("cannot make ") + name};
  folder_ = name;
  const std::string link = folder_ + "/lib";
  const fs::path path(library);
  std::error_code failed;
  fs::create_directory_symlink(path.parent_path(), link, failed);
  if (failed) return Error{"cannot link " + link + ": " + failed.message()};
  if (chmod(name, 0755) != 0) return system_error("chmod " + folder_);
  return link + "/" + path.filename().string();
}

Lane::Lane(const Options& options, EventSink sink)
    : config_(options.config),
      sink_(std::move(sink)),
      loader_(options.loader),
      descriptors_(options.descriptors),
      place_(place_of(options)),
      owned_(options.root, options.number),
      ports_(options.config, options.ports, options.meaning_of_moved_port, &place_) {}

Lane::~Lane() {
  services_.reset();  // what it stops may leave orphans
  end_orphans();
}

void Lane::end_orphans() {
  for (const std::string& alive : filibuster::end_orphans(place_)) {
    sink_({{"type", "warning"},
           {"text", "cannot end " + alive + ", which goes on after the session"}});
  }
  owned_.set_mark("");
}

Result<std::unique_ptr<Lane>> Lane::make(const Options& options, EventSink sink) {
  std::unique_ptr<Lane> lane(new Lane(options, std::move(sink)));
  for (const std::string& ended : lane->owned_.end_leftovers()) {
    lane->sink_(
        {{"type", "warning"}, {"text", "ended " + ended + ", left behind by an earlier daemon"}});
  }
  lane->place_.owner_mark = make_owner_mark();
  lane->owned_.set_mark(lane->place_.owner_mark);
  if (options.number == 0) fail_point("session");
  if (auto started = lane->start_hub(options); !started) return started.error();
  auto preload = lane->library_.make(options.preload);
  if (!preload) return preload.error();
  lane->place_.preload = preload.value();
  lane->place_.watches = options.watches;
  if (auto taken = lane->ports_.take(); !taken) return taken.error();
  for (const std::string& text : lane->place_.port_notes)
    lane->sink_({{"type", "warning"}, {"text", text}});
  if (auto certified = certify(options.config, &lane->place_); !certified) return certified.error();
  auto targets = lane_targets(options.config, lane->place_);
  if (!targets) return targets.error();
  lane->hub_->add_targets(targets.value());
  lane->hub_->set_hosts(lane_hosts(options.config, lane->place_));
  auto masks = compile_masks(options.config.nondeterminism);
  if (!masks) return masks.error();
  lane->hub_->set_masks(*masks.value());
  return lane;
}

Result<void> Lane::start_hub(const Options& lane_options) {
  if (auto made = folder_.make(lane_options.root, lane_options.number); !made) return made;
  HubOptions options;
  options.directory = folder_.path();
  options.session = random_number();
  options.index_parts = config_.index_parts;
  options.frames = compile_frames(config_.frames);
  options.fast_timeouts = config_.fast_timeouts;
  options.request_ids = config_.retries.request_ids;
  for (const MutationRule& rule : config_.retries.mutations) {
    std::vector<std::string>& told = options.told_fields;
    if (!rule.header.empty() && std::find(told.begin(), told.end(), rule.header) == told.end())
      told.push_back(rule.header);
  }
  // Suites that exist already speak through client libraries, which make their requests later; and who names frames wants
  // those of the application. It costs a little, so others do without.
  options.origins = !config_.frames.allow.empty() || !config_.frames.deny.empty() ||
                    std::any_of(config_.tests.begin(), config_.tests.end(),
                                [](const TestConfig& test) { return test.suite.has_value(); });
  options.library_commands = names_library_command(config_);
  if (config_.bounds.hang_limit) options.hang_limit = *config_.bounds.hang_limit;
  options.lane = lane_options.number;
  // What somebody starts by hand joins lane 0.
  if (lane_options.number == 0) {
    options.application = config_.application;
    options.services = services_of_application(config_);
  }
  auto started = AgentHub::start(options);
  if (!started) return started.error();
  hub_ = std::move(started).value();
  place_.hub_address = hub_->address();
  return {};
}

void Lane::add_services(coverage::Collector* coverage) {
  const AttachPlace place{loader_,
                          [this](const std::vector<TargetRow>& rows) { hub_->add_targets(rows); }};
  services_ =
      std::make_unique<Services>(config_, place_, &owned_, sink_, coverage, place, descriptors_);
  obstacles_ = services_->preflight();
  for (const std::string& text : obstacles_) sink_({{"type", "warning"}, {"text", text}});
}

Result<void> Lane::start_services() {
  if (auto up = services_->start_all(); !up) return up;
  fail_point("services");
  return {};
}

void Lane::keep_ports(LanePorts::Keep which) {
  if (auto kept = ports_.keep(which); !kept) {
    sink_({{"type", "warning"}, {"text", kept.error().message}});
  }
}

void Lane::stop_services() {
  fail_point("ended");
  services_->stop_all();
  end_orphans();
  make_root_private(place_.root);  // services may have written what they measured
}

}  // namespace filibuster
