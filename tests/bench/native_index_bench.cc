// native_index_bench [BOUND in microseconds]: an index, 30 frames deep in C++.
#include <cstdio>
#include <cstdlib>

extern "C" {
void index_bench_prepare();
double index_bench_median(int rounds, int* frames);
}

// 30 frames with main and the one that measures.
__attribute__((noinline)) double descend(int depth, int* frames) {
  if (depth == 0) return index_bench_median(20000, frames);
  const double found = descend(depth - 1, frames);
  asm volatile("" ::: "memory");  // no tail call
  return found;
}

int main(int count, char** words) {
  const double bound = count > 1 ? std::atof(words[1]) : 2.0;
  index_bench_prepare();
  int frames = 0;
  const double microseconds = descend(27, &frames) / 1000;
  std::printf("index, %d native frames: %.2f us (bound %.1f)\n", frames, microseconds, bound);
  return microseconds <= bound ? 0 : 1;
}
