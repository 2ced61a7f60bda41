// The class files of the helper (java.base/, java.net.http/), compiled by the build and contained
// as they are: for each its size, the loader that it belongs to (0: boot, 1: platform), and its
// bytes.
#define FILIBUSTER_CLASS(path, loader)          \
  __asm__(                                      \
      ".pushsection filibuster_classes,\"a\"\n" \
      ".long 2f - 1f\n"                         \
      ".byte " #loader                          \
      "\n"                                      \
      "1: .incbin \"" path                      \
      "\"\n"                                    \
      "2: .popsection\n")
#include "classes.inc"
