// Review ML: reviews by relevance, the most relevant first.
#include "review_service.h"

int main(int argc, char** argv) {
  return expedia::serve_reviews(argc, argv, "relevance", [](const auto& a, const auto& b) {
    return a.relevance > b.relevance;
  });
}
