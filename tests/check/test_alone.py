"""Which files are compiled by themselves when a header includes something else."""

import alone

DIFFERENCE = """diff --git a/core/wide.h b/core/wide.h
--- a/core/wide.h
+++ b/core/wide.h
@@ -3 +2,0 @@
-#include <vector>
diff --git a/core/other.h b/core/other.h
--- a/core/other.h
+++ b/core/other.h
@@ -9 +9 @@
-int old_name();  // see #include
+int new_name();
"""


def test_only_headers_with_other_includes_count():
    assert alone.headers_with_other_includes(DIFFERENCE) == {"core/wide.h"}


def test_files_lean_on_a_header_through_others():
    includes = {"core/wide.h": set(), "core/between.h": {"core/wide.h"}, "daemon/a.cc": {"core/between.h"},
                "daemon/b.cc": {"core/other.h"}, "core/other.h": set()}
    assert alone.leaning({"core/wide.h"}, includes) == {"core/wide.h", "core/between.h", "daemon/a.cc"}
