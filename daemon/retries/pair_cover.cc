#include "daemon/retries/pair_cover.h"

#include <coin/Clp_C_Interface.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace filibuster::retries {
namespace {

constexpr double kWhole = 1e-6;  // how far from a whole number the solver's numbers may be

// CLP, loaded when a plan is made: it brings LAPACK and the runtime of Fortran with it, and their start would be paid by
// every run. It stays loaded.
struct Solver {
  decltype(&Clp_newModel) new_model;
  decltype(&Clp_deleteModel) delete_model;
  decltype(&Clp_setLogLevel) set_log_level;
  decltype(&Clp_loadProblem) load_problem;
  decltype(&Clp_setMaximumSeconds) set_maximum_seconds;
  decltype(&Clp_initialDualSolve) initial_dual_solve;
  decltype(&Clp_status) status;
  decltype(&Clp_primalColumnSolution) primal_column_solution;
  decltype(&Clp_dualRowSolution) dual_row_solution;
};

template <typename Function>
bool look_up(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

Result<Solver> load_solver() {
  constexpr char kLibrary[] = "libClp.so.1";
  const auto failed = [&] {
    const char* const why = dlerror();
    return Error{std::string("the linear program's solver cannot be loaded (") +
                 (why == nullptr ? kLibrary : why) + "); install coinor-libclp1"};
  };
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return failed();
  Solver out;
  const bool whole = look_up(library, "Clp_newModel", &out.new_model) &&
                     look_up(library, "Clp_deleteModel", &out.delete_model) &&
                     look_up(library, "Clp_setLogLevel", &out.set_log_level) &&
                     look_up(library, "Clp_loadProblem", &out.load_problem) &&
                     look_up(library, "Clp_setMaximumSeconds", &out.set_maximum_seconds) &&
                     look_up(library, "Clp_initialDualSolve", &out.initial_dual_solve) &&
                     look_up(library, "Clp_status", &out.status) &&
                     look_up(library, "Clp_primalColumnSolution", &out.primal_column_solution) &&
                     look_up(library, "Clp_dualRowSolution", &out.dual_row_solution);
  if (!whole) return failed();
  return out;
}

// Drops what is not needed: an edge both of whose vertices others cover, the most expensive first. Needed where the
// time was over before a cover was found, and where a cover of equal cost has edges too many.
void make_minimal(uint32_t left, uint32_t right, const std::vector<CoverEdge>& edges,
                  std::vector<size_t>* chosen) {
  std::vector<uint32_t> at_left(left), at_right(right);
  for (const size_t e : *chosen) {
    ++at_left[edges[e].left];
    ++at_right[edges[e].right];
  }
  std::sort(chosen->begin(), chosen->end(), [&](size_t a, size_t b) {
    return edges[a].cost != edges[b].cost ? edges[a].cost > edges[b].cost : a > b;
  });
  std::erase_if(*chosen, [&](size_t e) {
    if (at_left[edges[e].left] < 2 || at_right[edges[e].right] < 2) return false;
    --at_left[edges[e].left];
    --at_right[edges[e].right];
    return true;
  });
  std::sort(chosen->begin(), chosen->end());
}

// Adds the cheapest edge of each vertex that is not covered.
void complete(uint32_t left, uint32_t right, const std::vector<CoverEdge>& edges,
              std::vector<size_t>* chosen) {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> of_left(left, kNone), of_right(right, kNone);
  std::vector<bool> left_is(left), right_is(right);
  for (const size_t e : *chosen) left_is[edges[e].left] = right_is[edges[e].right] = true;
  for (size_t e = 0; e < edges.size(); ++e) {
    const auto better = [&](size_t old) { return old == kNone || edges[e].cost < edges[old].cost; };
    if (better(of_left[edges[e].left])) of_left[edges[e].left] = e;
    if (better(of_right[edges[e].right])) of_right[edges[e].right] = e;
  }
  const auto take = [&](size_t e) {
    chosen->push_back(e);
    left_is[edges[e].left] = right_is[edges[e].right] = true;
  };
  for (uint32_t v = 0; v < right; ++v) {
    if (!right_is[v]) take(of_right[v]);
  }
  for (uint32_t v = 0; v < left; ++v) {
    if (!left_is[v]) take(of_left[v]);
  }
}

// A bound from prices of the vertices: no edge may cost less than the prices of its ends. Prices that are too high, by
// the solver's tolerance or because it was stopped, are lowered first.
double bound_of(const double* prices, uint32_t left, uint32_t right,
                const std::vector<CoverEdge>& edges) {
  std::vector<double> of_left(left), of_right(right);
  for (uint32_t v = 0; v < left; ++v) of_left[v] = std::max(0.0, prices[v]);
  for (uint32_t v = 0; v < right; ++v) of_right[v] = std::max(0.0, prices[left + v]);
  for (const CoverEdge& edge : edges) of_left[edge.left] = std::min(of_left[edge.left], edge.cost);
  for (const CoverEdge& edge : edges)
    of_right[edge.right] = std::min(of_right[edge.right], edge.cost - of_left[edge.left]);
  double bound = 0;
  for (const double price : of_left) bound += price;
  for (const double price : of_right) bound += price;
  return bound;
}

}  // namespace

Result<Cover> cheapest_cover(uint32_t left, uint32_t right, const std::vector<CoverEdge>& edges,
                             double seconds) {
  std::vector<bool> left_is(left), right_is(right);
  for (const CoverEdge& edge : edges) {
    if (edge.left >= left || edge.right >= right) return Error{"a pair names what is not there"};
    if (!(edge.cost > 0) || !std::isfinite(edge.cost))
      return Error{"the cost of a pair is not above 0"};
    left_is[edge.left] = right_is[edge.right] = true;
  }
  if (std::find(left_is.begin(), left_is.end(), false) != left_is.end() ||
      std::find(right_is.begin(), right_is.end(), false) != right_is.end())
    return Error{"something is in no pair, so that no set of pairs covers it"};
  Cover cover;
  if (edges.empty()) return cover;

  std::vector<CoinBigIndex> starts;
  std::vector<int> rows;
  std::vector<double> ones(2 * edges.size(), 1.0), costs, low(edges.size(), 0.0),
      high(edges.size(), std::numeric_limits<double>::max()), row_low(left + right, 1.0),
      row_high(left + right, std::numeric_limits<double>::max());
  for (const CoverEdge& edge : edges) {
    starts.push_back(static_cast<CoinBigIndex>(rows.size()));
    rows.push_back(static_cast<int>(edge.left));
    rows.push_back(static_cast<int>(left + edge.right));
    costs.push_back(edge.cost);
  }
  starts.push_back(static_cast<CoinBigIndex>(rows.size()));

  static const Result<Solver> solver = load_solver();
  if (!solver) return solver.error();
  const std::unique_ptr<Clp_Simplex, decltype(solver->delete_model)> model(solver->new_model(),
                                                                           solver->delete_model);
  solver->set_log_level(model.get(), 0);
  solver->load_problem(model.get(), static_cast<int>(edges.size()), static_cast<int>(left + right),
                       starts.data(), rows.data(), ones.data(), low.data(), high.data(),
                       costs.data(), row_low.data(), row_high.data());
  solver->set_maximum_seconds(model.get(), seconds);
  solver->initial_dual_solve(model.get());
  const int status = solver->status(model.get());
  constexpr int kOptimal = 0, kStopped = 3;
  if (status != kOptimal && status != kStopped)
    return Error{"the solver ended with status " + std::to_string(status)};
  cover.stopped = status == kStopped;
  const double* x = solver->primal_column_solution(model.get());
  for (size_t e = 0; e < edges.size(); ++e) {
    const bool whole = std::abs(x[e] - std::round(x[e])) < kWhole;
    if (!cover.stopped && !whole)
      return Error{"the solver's answer is not integral, which a vertex of this program is"};
    if (whole && x[e] > 0.5) cover.edges.push_back(e);
  }
  // Without effect on an answer of the solver, but for edges that cost nothing more than others.
  complete(left, right, edges, &cover.edges);
  make_minimal(left, right, edges, &cover.edges);
  for (const size_t e : cover.edges) cover.cost += edges[e].cost;
  cover.lower_bound =
      std::min(cover.cost, bound_of(solver->dual_row_solution(model.get()), left, right, edges));
  return cover;
}

}  // namespace filibuster::retries
