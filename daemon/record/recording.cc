#include "daemon/record/recording.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/index/stable_identity.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/random.h"
#include "daemon/cases/identity.h"
#include "daemon/record/secret_draws.h"

namespace filibuster::record {
namespace {

constexpr std::chrono::milliseconds kTurn{20};
constexpr size_t kStackOfPoint = 2;
constexpr uint64_t kEnoughRpcs = 1000;

int64_t epoch_ns() {
  return static_cast<int64_t>(clock_ns(CLOCK_REALTIME)) -
         static_cast<int64_t>(clock_ns(CLOCK_MONOTONIC));
}

AssemblerOptions assembler_options(const Recording::Options& options) {
  AssemblerOptions out;
  out.service = options.set.service;
  out.parts = options.parts;
  out.startup_execution = options.startup_execution;
  out.epoch_ns = epoch_ns();
  out.port_name = options.port_name;
  return out;
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::start(std::shared_ptr<AgentHub> hub,
                                                    Options options) {
  auto writer = CaseWriter::make(options.folder, options.set, options.most_bytes);
  if (!writer) return writer.error();
  std::unique_ptr<Recording> out(
      new Recording(std::move(hub), std::move(options), std::move(writer).value()));
  if (auto started =
          out->hub_->recordings().start(out->assembler_, Recordings::What::kPlacesAndBytes);
      !started) {
    out->finished_ = true;
    return started.error();
  }
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  out->thread_ = std::thread([recording = out.get()] { recording->run(); });
  ::pthread_setname_np(out->thread_.native_handle(), "cases");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return out;
}

Recording::Recording(std::shared_ptr<AgentHub> hub, Options options,
                     std::unique_ptr<CaseWriter> writer)
    : hub_(std::move(hub)),
      options_(std::move(options)),
      assembler_(std::make_shared<Assembler>(assembler_options(options_))),
      writer_(std::move(writer)),
      redactor_(random_hexadecimal(), SecretRules::compile(options_.set.redact)) {}

Recording::~Recording() {
  finish();
}

void Recording::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (ending_changed_.wait_for(lock, kTurn, [&] { return ending_; })) return;
    }
    turn();
    if (!summary_.problem.empty()) return;
  }
}

void Recording::turn() {
  // Whatever was written before this time has come when look() returns.
  const uint64_t now = clock_ns();
  hub_->recordings().look();
  assembler_->passed(now);
  rpcs_ += assembler_->take_rpcs();
  if (rpcs_ > kEnoughRpcs) {
    rpcs_ = 0;
    options_.turn_over();
  }
  write(assembler_->take());
}

void Recording::finish() {
  if (std::exchange(finished_, true)) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ending_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  hub_->recordings().stop();
  assembler_->finish();
  write(assembler_->take());
  if (summary_.problem.empty()) {
    if (auto written = writer_->finish(); !written) summary_.problem = written.error().message;
  }
  summary_.counts = writer_->counts();
  summary_.process_calls = writer_->process().calls.size();
  for (const auto& [service, openings] : writer_->process().openings)
    summary_.openings += openings.size();
  hub_.reset();
  options_.turn_over = [] {};
}

void Recording::write(Assembled taken) {
  summary_.partial_process_calls += taken.partial_process_calls;
  summary_.calls_without_case += taken.calls_without_case;
  summary_.lost += taken.lost;
  summary_.untold_requests += taken.untold_requests;
  if (!summary_.problem.empty()) return;
  if (auto written = try_to_write(std::move(taken)); !written) {
    summary_.problem = written.error().message;
    options_.warn("the recording ends here: " + summary_.problem);
  }
}

Result<void> Recording::try_to_write(Assembled taken) {
  for (const std::string& text : taken.not_followed) {
    writer_->add_not_followed(text);
    summary_.not_followed.push_back(text);
  }
  const auto dropped = std::remove_if(taken.cases.begin(), taken.cases.end(),
                                      [&](const auto&) { return !is_taken(); });
  summary_.not_taken += static_cast<uint64_t>(taken.cases.end() - dropped);
  taken.cases.erase(dropped, taken.cases.end());
  for (RecordedCase& each : taken.cases) {
    redactor_.redact(&each.value);
    for (DraftDraw& draw : each.draws) each.value.draws.push_back(named(std::move(draw)));
    take_out_secrets(&each.value.draws);
    for (size_t i = 0; i < each.value.calls.size(); ++i) {
      cases::Call& call = each.value.calls[i];
      call.site = site_of(call.input.kind, std::move(each.stacks[i]));
    }
  }
  for (DraftDraw& each : taken.process_draws) {
    symbolizer_.lines(&each.stack);
    each.draw.site = cases::site_of(each.stack);
    writer_->add_process_draw(std::move(each.draw));
  }
  for (RecordedCall& each : taken.process) {
    redactor_.redact(&each.value);
    if (!redactor_.refusal().empty()) {
      ++summary_.partial_process_calls;
      continue;
    }
    each.value.site = site_of(each.value.input.kind, std::move(each.stack));
    if (auto added = writer_->add_process(std::move(each.value)); !added) return added;
  }
  for (auto& [service, openings] : taken.openings) {
    for (cases::Opening& each : openings) {
      redactor_.redact(&each);
      if (auto added = writer_->add_opening(service, std::move(each)); !added) return added;
    }
  }
  // The points of a case are there before it.
  if (auto written = writer_->write_set(); !written) return written;
  for (RecordedCase& each : taken.cases) {
    if (auto added = writer_->add(std::move(each.value)); !added) return added;
  }
  return {};
}

// One of each lot, by chance, since requests may come in a rhythm.
bool Recording::is_taken() {
  if (place_ == 0) chosen_ = random_number() % options_.sample;
  const bool out = place_ == chosen_;
  place_ = (place_ + 1) % options_.sample;
  return out;
}

// The secret is another one in a replay then, and secrets are not compared.
void Recording::take_out_secrets(std::vector<cases::Draw>* draws) {
  for (cases::Draw& each : *draws) {
    if (!makes_a_secret(each.bytes, redactor_.secrets())) continue;
    each.own = each.bytes.size();
    each.bytes.clear();
    writer_->set_unfit(each);
  }
}

cases::Draw Recording::named(DraftDraw draw) {
  symbolizer_.lines(&draw.stack);
  draw.draw.site = cases::site_of(draw.stack);
  cases::DrawPoint point;
  point.source = draw.draw.source;
  point.site = draw.draw.site;
  for (size_t i = 0; i < std::min(draw.stack.size(), kStackOfPoint); ++i)
    point.stack.push_back(frame_without_line(draw.stack[i]));
  writer_->add_draw_point(std::move(point));
  return std::move(draw.draw);
}

std::string Recording::site_of(cases::Kind kind, std::vector<std::string> stack) {
  symbolizer_.lines(&stack);
  cases::Point point{cases::site_of(stack), kind, {}};
  if (point.site.empty()) return "";
  for (size_t i = 0; i < std::min(stack.size(), kStackOfPoint); ++i)
    point.stack.push_back(frame_without_line(stack[i]));
  std::string site = point.site;
  writer_->add_point(std::move(point));
  return site;
}

}  // namespace filibuster::record
