runners.o: daemon/suite/runners.cc core/text/json_depth.h \
  core/text/shell_word.h daemon/suite/runner.h core/result.h

core/text/json_depth.h:

core/text/shell_word.h:

daemon/suite/runner.h:

core/result.h:
