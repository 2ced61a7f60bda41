// Review Time: reviews by date, the newest first.
#include "review_service.h"

int main(int argc, char** argv) {
  return expedia::serve_reviews(argc, argv, "time",
                                [](const auto& a, const auto& b) { return a.date > b.date; });
}
