// Writes a report.html of made-up executions, for the tests of the page and for `make page-bench`:
//
//   page_maker LIBRARY OUTPUT EXECUTIONS RPCS FINDINGS [hostile | mesh]
//   page_maker LIBRARY OUTPUT history FILE
//
// A gateway calls RPCS services, one after the other. Findings are pairs of faults at two of them, or
// single ones. With `hostile`, names and texts try to leave the places where they stand. With `mesh`,
// 30 services call each other in a tree with shortcuts, a cycle and a call to oneself; RPCS is ignored.
// With `history`, the page shows the document in FILE, as that of `check` does.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/page/data.h"
#include "daemon/page/file.h"
#include "daemon/process/session_lane.h"

namespace filibuster {
namespace {

constexpr const char* kFaults[] = {"refused", "timeout", "status:500", "status:502", "status:503"};
constexpr uint64_t kMs = 1'000'000;

struct Link {
  std::string caller, service;
  uint32_t parent = 0;          // place of the RPC that causes it
  uint32_t begin = 0, end = 0;  // in ms
};

struct Shape {
  uint32_t executions, rpcs, findings;
  bool hostile;
  std::vector<Link> mesh;  // one for each RPC; empty: a star around the gateway
};

constexpr uint32_t kMeshServices = 30;
constexpr uint32_t kMissing = 5;  // the RPC of a mesh whose answer is always 404

std::string mesh_name(uint32_t service) {
  static const char* const kNames[] = {
      "gateway", "checkout", "catalog-read-model",         "cart",
      "auth",    "payments", "recommendations-by-history", "shipping",
      "stock",   "mail"};
  const std::string name = kNames[service % std::size(kNames)];
  return service < std::size(kNames) ? name : name + "-" + std::to_string(service);
}

// The RPCs in the order of their issue: of the tree in which service k is called by (k - 1) / 3, and of
// some calls beside it.
std::vector<Link> mesh() {
  std::vector<Link> out;
  uint32_t now = 0;
  const std::function<void(const std::string&, uint32_t, uint32_t, bool)> put =
      [&](const std::string& caller, uint32_t service, uint32_t parent, bool goes_on) {
        const auto own = static_cast<uint32_t>(out.size());
        out.push_back({caller, mesh_name(service), parent, now, 0});
        ++now;
        const auto call = [&](uint32_t to, bool whole) { put(mesh_name(service), to, own, whole); };
        for (uint32_t to = 3 * service + 1; goes_on && to <= 3 * service + 3; ++to)
          if (to < kMeshServices) call(to, true);
        if (goes_on && service % 4 == 2) call((service * 7 + 11) % kMeshServices, false);
        if (goes_on && service % 10 == 9) call(service, false);
        if (goes_on && service == 12) call(3, false);  // which calls it
        if (goes_on && service == 0) call(25, false);
        now += 2;
        out[own].end = now;
      };
  put("test", 0, 0, true);
  return out;
}

// Each tries another way out: tags, an end of the script, a comment, attributes, the marks of the template,
// what JavaScript took for line ends, control characters, a change of the writing direction.
const char* const kHostile[] = {
    "</script><script>window.hit=1</script>",
    "<img src=x onerror=\"window.hit=1\">",
    "<!--<script>",
    "'\"><svg onload=window.hit=1>",
    "@SUMMARY@@EXECUTIONS@@WITHOUT-SCRIPT@",
    "a\nb\r\nc\xe2\x80\xa8"
    "d\xe2\x80\xa9",
    "nul\x01\x1b[31m\xe2\x80\xae"
    "drow",
    "not utf-8: \xff\xfe\xc3",
    "</noscript><script>window.hit=1</script>",
    "{{constructor}} ${window.hit=1} `",
    "javascript:window.hit=1",
    "https://example.com/never?a=1&b=2",
};

std::string named(const Shape& shape, const std::string& plain, uint32_t number) {
  if (!shape.hostile) return plain + std::to_string(number);
  return kHostile[number % std::size(kHostile)] + std::to_string(number);
}

Hash128 index_of(uint32_t rpc) {
  return hash_text("rpc " + std::to_string(rpc));
}

InjectedFault call(const Shape& shape, uint32_t rpc) {
  InjectedFault out;
  out.index = index_of(rpc);
  out.parent = index_of(0);
  out.caller = rpc == 0 ? "test" : named(shape, "gateway", 0);
  out.service = rpc == 0 ? named(shape, "gateway", 0) : named(shape, "service", rpc);
  out.method = "GET";
  out.path = "/" + named(shape, "items/", rpc);
  if (!shape.mesh.empty()) {
    out.parent = index_of(shape.mesh[rpc].parent);
    out.caller = shape.mesh[rpc].caller;
    out.service = shape.mesh[rpc].service;
    out.path += "/of-a-customer-with-a-long-name/orders?expand=lines,prices&page=1";
  }
  out.count = 1;
  out.stack = {"/app/http.py:12 (send_request)", "/app/gateway.py:" + std::to_string(20 + rpc) +
                                                     " (" + named(shape, "load_", rpc) + ")"};
  out.call_site = out.stack[0];
  out.service_path = {"test", out.caller, out.service};
  return out;
}

std::vector<RpcRecord> tree(const Shape& shape, const std::vector<InjectedFault>& faults) {
  std::vector<RpcRecord> out;
  for (uint32_t i = 0; i < shape.rpcs; ++i) {
    const InjectedFault known = call(shape, i);
    RpcRecord rpc;
    rpc.rpc = i + 1;
    rpc.parent_rpc = i == 0 ? 0 : shape.mesh.empty() ? 1 : shape.mesh[i].parent + 1;
    rpc.index = known.index;
    rpc.caller = known.caller;
    rpc.service = known.service;
    rpc.method = known.method;
    rpc.target = known.path;
    rpc.count = 1;
    rpc.cause = i == 0 ? Cause::kEntry : Cause::kHeader;
    rpc.stack_text = known.stack;
    rpc.issued_ns = (1 + i * 2) * kMs;
    rpc.finished_ns = i == 0 ? (shape.rpcs * 2 + 2) * kMs : (2 + i * 2) * kMs;
    if (!shape.mesh.empty()) {
      rpc.issued_ns = (1 + shape.mesh[i].begin) * kMs;
      rpc.finished_ns = (1 + shape.mesh[i].end) * kMs;
    }
    rpc.open = false;
    rpc.outcome = RpcOutcome::kAnswered;
    rpc.status = !shape.mesh.empty() && i == kMissing ? 404 : 200;
    rpc.received_by = rpc.service;
    rpc.body_sample =
        shape.hostile ? kHostile[i % std::size(kHostile)] : "{\"id\": " + std::to_string(i) + "}";
    // 100 MB, of which an agent reports the first bytes.
    rpc.response_size = shape.hostile ? 100'000'000 : 20;
    rpc.response_sample =
        shape.hostile ? std::string("\x00\x01\x02\xff", 4) + kHostile[i % std::size(kHostile)]
                      : "{\"password\": \"hunter2\"}";
    for (const InjectedFault& fault : faults) {
      if (fault.index != rpc.index) continue;
      rpc.injected = true;
      if (const auto spec = parse_fault_text(fault.fault)) rpc.fault = spec.value();
      rpc.outcome = RpcOutcome::kRefused;
      rpc.received_by.clear();
      rpc.response_size = 0;
      rpc.response_sample.clear();
    }
    if (i == 0 && !faults.empty()) rpc.status = 500;
    out.push_back(std::move(rpc));
  }
  return out;
}

SessionReport made(const Shape& shape) {
  SessionReport report;
  report.session = "0123abcd";
  report.config_path = shape.hostile ? kHostile[0] : "/app/filibuster.json";
  report.exit_code = 1;
  TestReport test;
  test.test = named(shape, "checkout", 0);
  test.finished = true;
  test.counts.executed = shape.executions + 1;
  test.reference = tree(shape, {});
  test.notes = {named(shape, "note ", 1)};
  auto page = std::make_shared<PageTest>();
  for (uint32_t i = 0; i < shape.rpcs; ++i) page->calls.push_back(call(shape, i));
  for (const char* fault : kFaults)
    page->outcomes.push_back(
        {fault, std::string(fault).starts_with("status:") ? fault + 7 : fault, true});
  page->outcomes.push_back({"ok:200:0123456789abcdef0123456789abcdef", "200", false});

  std::map<PagePair, std::vector<uint32_t>> findings_with;  // places of findings, by fault
  const uint32_t callees = shape.rpcs - 1, faults = std::size(kFaults);
  for (uint32_t n = 0; n < shape.executions; ++n) {
    const bool fails = n < shape.findings;
    // Which two RPCs fail, and how: every number gives another set.
    const uint32_t first = 1 + n / (faults * faults) % callees;
    const uint32_t second = 1 + (first + n / (faults * faults * callees)) % callees;
    const std::vector<PagePair> set = {{first, n % faults}, {second, n / faults % faults}};
    PageExecution execution{n + 2, fails ? Verdict::kFailed : Verdict::kPassed, 0.05f, set, {}};
    for (uint32_t i = 0; i < shape.rpcs; ++i) {
      uint32_t outcome = faults;
      for (const auto& [rpc, fault] : set) outcome = rpc == i ? fault : outcome;
      execution.rpcs.emplace_back(i, outcome);
    }
    if (fails) {
      Finding finding;
      for (const auto& [rpc, fault] : set) {
        if (!finding.minimal.empty() && first == second) continue;
        finding.minimal.push_back(call(shape, rpc));
        finding.minimal.back().fault = kFaults[fault];
        findings_with[{rpc, fault}].push_back(n);
      }
      finding.minimal_execution.test = test.test;
      finding.minimal_execution.number = execution.number;
      finding.minimal_execution.faults = finding.minimal;
      finding.minimal_execution.verdict = Verdict::kFailed;
      finding.minimal_execution.detail = "exit status 1";
      finding.minimal_execution.output =
          shape.hostile ? kHostile[n % std::size(kHostile)]
                        : "AssertionError: expected 200, got 500 (" + std::to_string(n % 50) + ")";
      finding.number = n + 1;
      finding.id = to_hex(hash_text("finding " + std::to_string(n))).substr(0, kFindingIdSize);
      finding.counterexample =
          "/app/.filibuster/counterexamples/" + std::to_string(n + 1) + ".json";
      finding.reproduced = true;
      if (page->trees.size() < kMaxPageTrees)
        page->trees.emplace(execution.number, page_tree(tree(shape, finding.minimal)));
      test.findings.push_back(std::move(finding));
    }
    page->executions.push_back(std::move(execution));
  }
  for (uint32_t i = 1; i < shape.rpcs; ++i) {
    for (uint32_t fault = 0; fault < faults; ++fault) {
      PageCell cell;
      cell.fault = {i, fault};
      cell.findings = findings_with[cell.fault];
      (cell.findings.empty() ? cell.passed : cell.failed) = 1;
      cell.least_faults = 1;
      cell.example = 2;
      page->cells.push_back(cell);
    }
  }
  test.page = page;
  report.tests.push_back(std::move(test));
  return report;
}

int finish(const Result<void>& written) {
  if (written.ok()) return 0;
  std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return 3;
}

int make_page(int argc, char** argv) {
  const bool history = argc == 5 && std::string_view(argv[3]) == "history";
  if (argc < 6 && !history) return 2;
  const auto number = [&](int i) { return static_cast<uint32_t>(std::atoi(argv[i])); };
  const auto page = PageTemplate::load(argv[1]);
  if (!page) {
    std::fprintf(stderr, "%s\n", page.error().message.c_str());
    return 3;
  }
  if (history) {
    const auto document = read_file(argv[4]);
    if (!document.ok()) {
      std::fprintf(stderr, "%s\n", document.error().message.c_str());
      return 3;
    }
    return finish(write_file(argv[2], page->page_of(document.value(), "a history")));
  }
  const std::string kind = argc > 6 ? argv[6] : "";
  Shape shape{number(3), number(4), number(5), kind == "hostile", {}};
  if (kind == "mesh") {
    shape.mesh = mesh();
    shape.rpcs = static_cast<uint32_t>(shape.mesh.size());
  }
  const SessionReport report = made(shape);
  return finish(write_file(argv[2], page->page(page_data(report, {}), report)));
}

}  // namespace
}  // namespace filibuster

int main(int argc, char** argv) {
  return filibuster::make_page(argc, argv);
}
