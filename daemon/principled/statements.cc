#include "daemon/principled/statements.h"

#include <algorithm>

#include "core/grpc/call.h"

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& call, const char* name) {
  const auto found = call.find(name);
  return found != call.end() && found->is_string() ? found->get<std::string>() : "";
}

// "UNAVAILABLE", "409", "reset". Error: it is no code.
Result<std::string> read_code(const Json& call) {
  const auto found = call.find("code");
  if (found != call.end() && found->is_number_integer()) {
    const auto status = found->get<int64_t>();
    if (status >= 100 && status <= 599) return std::to_string(status);
    return Error{"'code': " + std::to_string(status) + " is no status of HTTP"};
  }
  const std::string text = text_of(call, "code");
  static constexpr std::string_view kEnds[] = {"reset", "refused", "timeout", "closed"};
  if (std::find(std::begin(kEnds), std::end(kEnds), text) != std::end(kEnds)) return text;
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) return text;
  if (const auto code = grpc::parse_code(text); code && *code != grpc::Code::kOk)
    return std::string(grpc::to_name(*code));
  return Error{
      "'code': expected a code of gRPC such as UNAVAILABLE, a status of HTTP such as 503, or 'reset', 'refused', 'timeout' "
      "or 'closed', found " +
      (found == call.end() ? "nothing" : found->dump())};
}

class CallReader {
 public:
  CallReader(Block block, const Statements::Readers& readers, Statements* out,
             std::vector<Diagnostic>* problems)
      : block_(block), readers_(readers), out_(*out), problems_(*problems) {}

  void read(const Json& call) {
    if (!call.is_object()) return problem("a statement is no object");
    const std::string api = text_of(call, "api");
    at_ = text_of(call, "at");
    api_ = api;
    for (const Row& row : kRows) {
      if (row.api != api) continue;
      if (std::find(row.blocks.begin(), row.blocks.end(), block_) == row.blocks.end())
        return outside(row);
      (this->*row.read)(call);
      return;
    }
    problem("the test calls '" + api + "', which is no statement of a principled test");
  }

 private:
  struct Row {
    std::string_view api;
    std::vector<Block> blocks;
    void (CallReader::*read)(const Json& call);
  };
  static const std::vector<Row> kRows;

  void add(DiagnosticKind kind, const std::string& text) {
    problems_.push_back({kind, text, at_, "", {}, {}});
  }
  void problem(const std::string& text) { add(DiagnosticKind::kNotUnderstood, text); }
  void outside(const Row& row) {
    std::string blocks;
    for (size_t i = 0; i < row.blocks.size(); ++i) {
      if (i > 0) blocks += i + 1 == row.blocks.size() ? " or " : ", ";
      blocks += block_name(row.blocks[i]);
    }
    add(DiagnosticKind::kOutsideItsBlock, "'" + api_ + "' is called in the block '" +
                                              std::string(block_name(block_)) +
                                              "'; it belongs to the block " + blocks);
  }

  std::optional<Key> key_of(const Json& json) {
    auto key = read_key(json);
    if (key && readers_.key) {
      if (auto known = readers_.key(&key.value()); !known) key = known.error();
    }
    if (key) return std::move(key).value();
    problem(api_ + ": " + key.error().message);
    return std::nullopt;
  }
  std::optional<Key> key_in(const Json& call) {
    const auto found = call.find("key");
    return key_of(found == call.end() ? Json() : *found);
  }
  bool keys_in(const Json& call, std::vector<Key>* out) {
    const auto found = call.find("keys");
    if (found == call.end() || !found->is_array() || found->empty()) {
      problem(api_ + ": it names no call");
      return false;
    }
    for (const Json& each : *found) {
      auto key = key_of(each);
      if (!key) return false;
      out->push_back(std::move(*key));
    }
    return true;
  }
  static size_t block_in(const Json& call) {
    const auto found = call.find("specification");
    const bool is_number = found != call.end() && found->is_number_integer();
    return is_number && *found >= 0 ? found->get<size_t>() : 0;
  }

  void stub_for(const Json& call) {
    const std::string service = text_of(call, "service");
    const auto given = call.find("stub");
    auto stub = readers_.stub(service, given == call.end() ? Json() : *given);
    if (!stub) return problem("stub_for: " + stub.error().message);
    stub->name = "the stub of '" + service + "' at " + (at_.empty() ? "an unknown line" : at_);
    out_.stubs.push_back({service, std::move(stub).value(), at_});
  }

  void add_specification(const Json& call, SpecificationKind kind) {
    Specification out{kind, {}, "", std::nullopt, block_in(call), at_};
    if (!keys_in(call, &out.keys)) return;
    const bool may_be_composite =
        kind == SpecificationKind::kThrows || kind == SpecificationKind::kOnFault;
    if (out.keys.size() > 1 && !may_be_composite)
      return problem(api_ +
                     ": it is said of one call; several faults together have an impact, or throw");
    if (kind == SpecificationKind::kPropagates && precision(out.keys.front()) != 0)
      return problem(
          "assert_fault_propagates: it is said of a method, without arguments and without a fault");
    if (kind == SpecificationKind::kThrows) {
      auto code = read_code(call);
      if (!code) return problem(api_ + ": " + code.error().message);
      out.code = std::move(code).value();
      if (const auto message = call.find("message"); message != call.end() && message->is_string())
        out.message = message->get<std::string>();
    }
    out_.specifications.push_back(std::move(out));
  }
  void throws(const Json& call) { add_specification(call, SpecificationKind::kThrows); }
  void propagates(const Json& call) { add_specification(call, SpecificationKind::kPropagates); }
  void no_impact(const Json& call) { add_specification(call, SpecificationKind::kNoImpact); }
  void on_fault(const Json& call) { add_specification(call, SpecificationKind::kOnFault); }
  void on_exception(const Json& call) {
    auto code = read_code(call);
    if (!code) return problem(api_ + ": " + code.error().message);
    out_.on_exceptions.push_back({std::move(code).value(), block_in(call), at_});
  }

  // nullopt: the count is not exact.
  std::optional<uint64_t> times_in(const Json& call) {
    const auto found = call.find("times");
    if (found != call.end() && found->is_number_unsigned()) return found->get<uint64_t>();
    if (found != call.end() && found->is_number_integer() && found->get<int64_t>() >= 0)
      return found->get<uint64_t>();
    add(DiagnosticKind::kImpreciseCount,
        api_ + ": a count is the exact number of calls, found " +
            (found == call.end() ? "nothing" : found->dump()) +
            "; what may be called any number of times is read_only_rpc");
    return std::nullopt;
  }
  std::vector<Count>& counts_of_block() {
    return block_ == Block::kAssertStubs ? out_.counts : out_.declared_again;
  }
  void count(const Json& call) {
    auto key = key_in(call);
    const auto times = times_in(call);
    if (!key || !times) return;
    if (!key->fault.empty())
      return problem(api_ + ": a count is of calls, whatever their fault; leave 'fault' out");
    counts_of_block().push_back({std::move(*key), *times, false, at_});
  }
  void read_only(const Json& call) {
    auto key = key_in(call);
    if (key) counts_of_block().push_back({std::move(*key), 0, true, at_});
  }

  const Block block_;
  const Statements::Readers& readers_;
  Statements& out_;
  std::vector<Diagnostic>& problems_;
  std::string api_, at_;
};

const std::vector<CallReader::Row> CallReader::kRows = {
    {"stub_for", {Block::kStub}, &CallReader::stub_for},
    {"verify_that", {Block::kAssertStubs}, &CallReader::count},
    {"assert_fault_throws", {Block::kFailure}, &CallReader::throws},
    {"assert_fault_propagates", {Block::kFailure}, &CallReader::propagates},
    {"assert_fault_has_no_impact", {Block::kFailure}, &CallReader::no_impact},
    {"assert_on_fault", {Block::kFailure}, &CallReader::on_fault},
    {"assert_on_exception", {Block::kFailure}, &CallReader::on_exception},
    {"read_only_rpc",
     {Block::kOnException, Block::kOnFault, Block::kAssertStubs},
     &CallReader::read_only},
    {"side_effecting_rpc", {Block::kOnException, Block::kOnFault}, &CallReader::count},
};

constexpr std::string_view kApiNames[] = {"assert_fault_throws", "assert_fault_propagates",
                                          "assert_fault_has_no_impact", "assert_on_fault"};

bool same_keys(const Specification& one, const Specification& other) {
  return one.keys.size() == other.keys.size() &&
         std::is_permutation(one.keys.begin(), one.keys.end(), other.keys.begin());
}

// Throwing and propagating together has a diagnostic of its own, when the fault comes.
bool may_stand_together(const Specification& one, const Specification& other) {
  if (one.kind != other.kind) {
    const auto throws_or_propagates = [](const Specification& each) {
      return each.kind == SpecificationKind::kThrows || each.kind == SpecificationKind::kPropagates;
    };
    return throws_or_propagates(one) && throws_or_propagates(other);
  }
  if (one.kind == SpecificationKind::kThrows)
    return one.code == other.code && one.message == other.message;
  return one.kind != SpecificationKind::kOnFault;
}

}  // namespace

std::string to_text(const Specification& specification) {
  std::string out = std::string(kApiNames[static_cast<size_t>(specification.kind)]) + " of ";
  for (size_t i = 0; i < specification.keys.size(); ++i)
    out += (i == 0 ? "" : " + ") + to_text(specification.keys[i]);
  if (!specification.at.empty()) out += " (" + specification.at + ")";
  return out;
}

std::vector<Diagnostic> Statements::read(Block block, const std::vector<Json>& calls,
                                         const Readers& readers) {
  std::vector<Diagnostic> problems;
  CallReader reader(block, readers, this, &problems);
  for (const Json& call : calls) reader.read(call);
  return problems;
}

std::optional<Diagnostic> contradiction(const Statements& statements) {
  const std::vector<Specification>& all = statements.specifications;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = i + 1; k < all.size(); ++k) {
      if (!same_keys(all[i], all[k]) || may_stand_together(all[i], all[k])) continue;
      return Diagnostic{DiagnosticKind::kContradiction,
                        to_text(all[i]) + " and " + to_text(all[k]) +
                            " say different things of the same fault: leave one of them out",
                        all[k].at,
                        "",
                        {},
                        {}};
    }
  }
  for (size_t i = 0; i < statements.on_exceptions.size(); ++i) {
    for (size_t k = i + 1; k < statements.on_exceptions.size(); ++k) {
      const ExceptionAssertions& one = statements.on_exceptions[i];
      const ExceptionAssertions& other = statements.on_exceptions[k];
      if (one.code != other.code) continue;
      return Diagnostic{DiagnosticKind::kContradiction,
                        "two blocks say what holds for " + one.code + " (" + one.at + " and " +
                            other.at + "): put them together",
                        other.at,
                        "",
                        {},
                        {}};
    }
  }
  return std::nullopt;
}

}  // namespace filibuster::principled
