// The native of JvmIndexBench.java: a hooked system call finds a Java thread in the same state.
#include <jni.h>

extern "C" {
void index_bench_prepare();
double index_bench_median(int rounds, int* frames);

JNIEXPORT jdouble JNICALL Java_JvmIndexBench_median(JNIEnv*, jclass, jint rounds) {
  index_bench_prepare();
  int frames = 0;
  const double nanoseconds = index_bench_median(rounds, &frames);
  return frames * 1e9 + nanoseconds;
}
}
