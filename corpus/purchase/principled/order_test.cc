// The order service alone, as in order.json: order_test.h has the test in C++.
#include "order_test.h"

FILIBUSTER_PRINCIPLED(Order)
