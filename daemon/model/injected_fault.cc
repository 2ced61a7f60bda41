#include "daemon/model/injected_fault.h"

namespace filibuster {

void InjectedFault::set_fault(const FaultSpec& spec) {
  fault = to_text(spec);
  key = fault_key(spec);
  if (key == fault) key.clear();
  message = spec.message;
}

}  // namespace filibuster
