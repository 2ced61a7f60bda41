#include "daemon/explore/counterexample_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "daemon/model/finding.h"
#include "daemon/process/session_lane.h"
#include "daemon/report/counterexample_json.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

// The number of a counterexample file; nullopt: the file is something else.
std::optional<uint32_t> number_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  if (stem.empty() || stem.size() > 9 || stem.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return static_cast<uint32_t>(std::stoul(stem));
}

// The highest number of a counterexample file, of any test; 0: there is none.
uint32_t last_number(const std::string& folder) {
  uint32_t last = 0;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    last = std::max(last, number_of(entry.path()).value_or(0));
  return last;
}

std::string key_of(const Counterexample& example) {
  return FaultSet(example.faults).key() + example.property;
}

}  // namespace

CounterexampleFiles::CounterexampleFiles(std::string folder, std::string test, std::mutex* numbers)
    : folder_(std::move(folder)), test_(std::move(test)), numbers_(numbers) {}

std::map<uint32_t, std::string>& CounterexampleFiles::keys() {
  if (keys_) return *keys_;
  keys_.emplace();
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    const auto number = number_of(entry.path());
    const auto text = read_file(entry.path().string());
    if (!number || !text) continue;
    const auto known = parse_counterexample(text.value());
    const bool same = known.ok() && known.value().test == test_;
    (*keys_)[*number] = same ? key_of(known.value()) : "";
  }
  return *keys_;
}

Result<void> CounterexampleFiles::write(const Counterexample& example, File* file) {
  auto made = make_private_folder(folder_);
  const std::lock_guard lock(*numbers_);
  const std::string key = key_of(example);
  const auto same = std::find_if(keys().begin(), keys().end(),
                                 [&](const auto& entry) { return entry.second == key; });
  const uint32_t last = keys().empty() ? 0 : keys().rbegin()->first;
  *file = {same != keys().end() ? same->first : std::max(last, last_number(folder_)) + 1, ""};
  keys().insert_or_assign(file->number, key);
  if (!made) return made;
  const std::string path = folder_ + "/" + std::to_string(file->number) + ".json";
  if (auto written = write_file(path, to_json(example)); !written) return written;
  file->path = path;
  return {};
}

void CounterexampleFiles::remove(const File& file) {
  std::error_code failed;
  if (!file.path.empty()) fs::remove(file.path, failed);
  if (keys_) keys_->erase(file.number);
}

std::vector<uint32_t> CounterexampleFiles::others(
    const std::function<bool(const std::string&)>& is_known) {
  std::vector<uint32_t> out;
  for (const auto& [number, key] : keys()) {
    if (!key.empty() && !is_known(key)) out.push_back(number);
  }
  return out;
}

}  // namespace filibuster
