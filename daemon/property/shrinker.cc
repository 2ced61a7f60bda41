#include "daemon/property/shrinker.h"

#include <algorithm>
#include <set>

#include "daemon/property/history.h"
#include "daemon/property/program_json.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

void add(const Json& value, const Json& than, std::vector<Json>* out) {
  if (value != than && std::find(out->begin(), out->end(), value) == out->end())
    out->push_back(value);
}

class Shrinker {
 public:
  Shrinker(const Program& failing, ProgramModel* model, const FailsAlike& fails_alike)
      : model_(model), fails_alike_(fails_alike) {
    out_.program = failing;
    tried_.insert(key_of(failing));
  }

  Result<Shrunk> run() {
    // A smaller value may make another item needless, so all is tried until nothing gets smaller.
    bool smaller = true;
    while (smaller && out_.finished) {
      smaller = false;
      for (const auto pass : {&Shrinker::delete_holds, &Shrinker::delete_items,
                              &Shrinker::delete_faults_with_commands, &Shrinker::put_in_order,
                              &Shrinker::shrink_values}) {
        auto changed = (this->*pass)();
        if (!changed) return changed.error();
        smaller |= changed.value();
      }
    }
    return std::move(out_);
  }

 private:
  static std::string key_of(const Program& program) {
    std::string out;
    for (const Item& item : program.items)
      out += (item.parallel ? "|" : "") +
             (item.is_fault()
                  ? "!" + std::to_string(*item.fault) + "," + std::to_string(item.occurrence) +
                        "," + std::to_string(item.lasts) + "\n"
                  : item.f + std::to_string(item.number) + json_text(item.value) + "\n");
    return out + holds_json(program.holds).dump();
  }

  // True: it fails in the same way, and is the program now.
  Result<bool> take(Program candidate) {
    if (candidate.items.empty() || !holds_fit(candidate) ||
        !tried_.insert(key_of(candidate)).second)
      return false;
    auto valid = is_valid(candidate, model_);
    if (!valid) return valid.error();
    if (!valid.value()) return false;
    auto fails = fails_alike_(candidate);
    if (!fails) return fails.error();
    if (!fails.value()) {
      out_.finished = false;
      return false;
    }
    ++out_.executed;
    if (!*fails.value()) return false;
    ++out_.steps;
    out_.program = std::move(candidate);
    return true;
  }

  // One stays: without it, the commands happen in some order, which need not be the same again.
  Result<bool> delete_holds() {
    bool any = false;
    while (out_.program.holds.size() > 1 && out_.finished) {
      Program candidate = out_.program;
      candidate.holds.pop_back();
      auto taken = take(std::move(candidate));
      if (!taken) return taken.error();
      if (!taken.value()) break;
      any = true;
    }
    return any;
  }

  Result<bool> delete_items() {
    bool any = false;
    for (size_t size = std::max<size_t>(1, out_.program.items.size() / 2); size > 0; size /= 2) {
      for (size_t at = 0; at < out_.program.items.size() && out_.finished;) {
        auto taken = take(without(out_.program, at, size));
        if (!taken) return taken.error();
        any |= taken.value();
        if (!taken.value()) at += size;
      }
    }
    return any;
  }

  Result<bool> delete_with_command(size_t fault) {
    if (!out_.program.items[fault].is_fault()) return false;
    for (size_t at = fault + 1; at < out_.program.items.size() && out_.finished; ++at) {
      if (out_.program.items[at].is_fault()) continue;
      auto taken = take(without(without(out_.program, at, 1), fault, 1));
      if (!taken || taken.value()) return taken;
      if (out_.program.items[fault].occurrence == 1) continue;
      Program sooner = without(out_.program, at, 1);
      --sooner.items[fault].occurrence;
      taken = take(std::move(sooner));
      if (!taken || taken.value()) return taken;
    }
    return false;
  }

  // A fault and the command that got it: without the fault the command does something else, and without the command another one gets the fault.
  // A fault that waits for a later call, and a command that makes an earlier one: the same.
  Result<bool> delete_faults_with_commands() {
    bool any = false;
    for (size_t fault = 0; fault < out_.program.items.size() && out_.finished;) {
      auto taken = delete_with_command(fault);
      if (!taken) return taken.error();
      any |= taken.value();
      if (!taken.value()) ++fault;
    }
    return any;
  }

  // What need not be at the same time comes one after the other.
  Result<bool> put_in_order() {
    bool any = false;
    for (size_t at = 0; at < out_.program.items.size() && out_.finished; ++at) {
      if (!out_.program.items[at].parallel) continue;
      Program candidate = out_.program;
      candidate.items[at].parallel = false;
      auto taken = take(std::move(candidate));
      if (!taken) return taken.error();
      any |= taken.value();
    }
    return any;
  }

  Result<bool> shrink_values() {
    bool any = false;
    for (size_t at = 0; at < out_.program.items.size(); ++at) {
      bool smaller = true;
      while (smaller && out_.finished) {
        smaller = false;
        for (Program& candidate : smaller_at(at)) {
          auto taken = take(std::move(candidate));
          if (!taken) return taken.error();
          if (!taken.value()) continue;
          smaller = any = true;
          break;
        }
      }
    }
    return any;
  }

  std::vector<Program> smaller_at(size_t at) const {
    const Item& item = out_.program.items[at];
    std::vector<Program> out;
    if (item.is_fault()) {
      for (uint32_t lasts = 0; lasts < item.lasts; ++lasts) {
        out.push_back(out_.program);
        out.back().items[at].lasts = lasts;
      }
      for (uint32_t occurrence = 1; occurrence < item.occurrence; ++occurrence) {
        out.push_back(out_.program);
        out.back().items[at].occurrence = occurrence;
      }
      return out;
    }
    for (Json& value : item.generator ? smaller_values(item.value, *item.generator)
                                      : smaller_values(item.value)) {
      out.push_back(out_.program);
      out.back().items[at].value = std::move(value);
    }
    return out;
  }

  ProgramModel* const model_;
  const FailsAlike& fails_alike_;
  std::set<std::string> tried_;
  Shrunk out_;
};

}  // namespace

Result<Shrunk> shrink(const Program& failing, ProgramModel* model, const FailsAlike& fails_alike) {
  return Shrinker(failing, model, fails_alike).run();
}

std::vector<Json> smaller_values(const Json& value) {
  std::vector<Json> out;
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    for (const int64_t each : {int64_t{0}, number / 2,
                               number > 0    ? number - 1
                               : number == 0 ? 0
                                             : number + 1})
      add(each, value, &out);
  } else if (value.is_string()) {
    const auto text = value.get<std::string>();
    // By whole characters, so that what was UTF-8 stays so.
    std::vector<size_t> ends;
    for (size_t i = 1; i <= text.size(); ++i) {
      if (i == text.size() || (text[i] & 0xc0) != 0x80) ends.push_back(i);
    }
    add("", value, &out);
    if (ends.size() > 2) add(text.substr(0, ends[ends.size() / 2 - 1]), value, &out);
    if (ends.size() > 1) add(text.substr(0, ends[ends.size() - 2]), value, &out);
    add(std::string(ends.size(), 'a'), value, &out);
  } else if (value.is_structured() && results_in(value).empty()) {
    for (auto each = value.begin(); each != value.end(); ++each) {
      for (const Json& smaller : smaller_values(*each)) {
        Json whole = value;
        if (value.is_array()) whole[static_cast<size_t>(each - value.begin())] = smaller;
        if (value.is_object()) whole[each.key()] = smaller;
        out.push_back(std::move(whole));
      }
    }
  }
  return out;
}

std::vector<Json> smaller_values(const Json& value, const Json& generator) {
  std::vector<Json> out;
  if (!generator.is_object() || generator.size() != 1) return out;  // a constant
  const std::string& kind = generator.begin().key();
  const Json& what = *generator.begin();
  if (kind == "text") return smaller_values(value);
  if (kind == "int") {
    const int64_t least = what[0].get<int64_t>(), most = what[1].get<int64_t>();
    add(std::clamp(int64_t{0}, least, most), value, &out);
    for (const Json& each : smaller_values(value)) {
      if (each >= least && each <= most) add(each, value, &out);
    }
  } else if (kind == "one_of") {
    for (const Json& each : what) {
      if (each == value) break;
      out.push_back(each);
    }
  } else if ((kind == "array" || kind == "object") && value.size() == what.size() &&
             value.is_array() == what.is_array()) {
    for (auto each = value.begin(); each != value.end(); ++each) {
      const bool in_array = value.is_array();
      const auto at = static_cast<size_t>(std::distance(value.begin(), each));
      const Json& part = in_array ? what[at] : what[each.key()];
      for (const Json& smaller : smaller_values(*each, part)) {
        Json whole = value;
        (in_array ? whole[at] : whole[each.key()]) = smaller;
        out.push_back(std::move(whole));
      }
    }
  }
  return out;
}

}  // namespace filibuster::property
