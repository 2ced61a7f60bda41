# The library under the thread sanitizer, in programs of many threads that are sanitized, too. Included by the Makefile.
# The library of `make SAN=thread` is not: it enters all kinds of programs there (tests/programs.mk).
THREADS     := $(BUILD)/threads
# The sanitizer does not follow fences, and g++ warns of each (-Wtsan). Ours stand in readers that throw away what was
# written meanwhile; a race that it tells of there is none, and so far the tests meet none.
THREADS_SAN := -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan
THREADS_LIB := $(THREADS)/lib/libfilibuster.so
THREADS_OBJ := $(patsubst %.cc,$(THREADS)/obj/%.o,$(PRELOAD_SRC) $(SHARED_SRC))

$(THREADS)/obj/core/%.o: core/%.cc
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) $(CPPFLAGS) $(CXXFLAGS) $(LESS) $(THREADS_SAN) $(PURE) -c $< -o $@
$(THREADS)/obj/preload/%.o: preload/%.cc preload/os/old_glibc.h
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) $(CPPFLAGS) -include preload/os/old_glibc.h $(CXXFLAGS) $(LESS) $(THREADS_SAN) $(PURE) -fno-threadsafe-statics -c $< -o $@
$(patsubst %.cc,$(THREADS)/obj/%.o,$(filter preload/runtimes/jvm/% preload/tls/jvm/% preload/hooks/jvm.cc,$(PRELOAD_SRC))): CPPFLAGS += -isystem $(JDK)/include -isystem $(JDK)/include/linux
$(THREADS)/obj/preload/runtimes/jvm/classes.o: $(BUILD)/gen/jvm/classes.inc
$(THREADS)/obj/preload/runtimes/jvm/classes.o: CPPFLAGS += -I$(BUILD)/gen/jvm
$(THREADS_LIB): $(THREADS_OBJ) $(LLHTTP_OBJ) $(EXPORTS)
	@mkdir -p $(@D)
	$(CXX) $(OPT) -fsanitize=thread -shared -o $@ $(THREADS_OBJ) $(LLHTTP_OBJ) $(NGHTTP2) -Wl,--version-script=$(EXPORTS) -Wl,-z,now -Wl,-z,nodelete \
	  -Wl,-soname,libfilibuster.so -Wl,--gc-sections
$(THREADS)/tls_stress: tests/programs/tls/stress.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(OPT) $(THREADS_SAN) -Wall -Wextra -Werror -o $@ $< -lssl -lcrypto -lpthread

.PHONY: test-threads
test-threads: test-deps  ## many threads with kept connections, in the clear and over TLS: the library has no data race (thread sanitizer)
	@$(MAKE) --no-print-directory $(SUBJOBS) all $(THREADS_LIB) $(THREADS)/tls_stress
	BUILD=$(BUILD) $(PYTHON) -m pytest -q -p no:cacheprovider tests/threads
-include $(shell find $(THREADS) -name '*.d' 2>/dev/null)
