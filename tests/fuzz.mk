# Fuzz targets: built by clang 14 with libFuzzer and the sanitizers. Included by the Makefile.
FUZZ_SECONDS ?= 30
FUZZ_NAMES   := $(patsubst tests/fuzz/%_fuzz.cc,%,$(sort $(wildcard tests/fuzz/*_fuzz.cc)))
FUZZ_FLAGS   := -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_INCLUDE := -I. -isystem /usr/share/include -isystem /usr/share/include/llhttp -MMD -MP
# What the targets read besides core/: parts of the daemon and the preload without threads and sockets.
FUZZ_DAEMON  := $(wildcard daemon/config/*.cc) $(filter-out daemon/relay/relays.cc,$(wildcard daemon/relay/*.cc)) daemon/coverage/lines.cc daemon/agents/http1_answer.cc daemon/agents/recorder.cc daemon/agents/rpc_memory.cc daemon/agents/unmet_plan.cc daemon/agents/record_text.cc daemon/agents/recorder_record.cc daemon/model/call_name.cc daemon/model/grpc_name.cc daemon/agents/registration.cc daemon/base/descriptors.cc \
                preload/runtimes/jvm/class_editor.cc daemon/suite/junit_xml.cc daemon/suite/runners.cc daemon/suite/failed_tests.cc daemon/suite/failure.cc daemon/stubs/choose.cc $(filter-out %/tls_connection.cc,$(wildcard daemon/stubs/*_connection.cc)) \
                $(wildcard daemon/wire/*.cc) $(filter-out %/case_folder.cc,$(wildcard daemon/cases/*.cc)) \
                $(addprefix daemon/record/,assembled.cc assembler.cc complete_cases.cc connection_tape.cc connection_tape_http2.cc redactor.cc known_secrets.cc redis_secrets.cc token.cc inflate.cc) \
                $(wildcard daemon/redact/*.cc) \
                $(filter-out $(addprefix daemon/property/,program_model.cc program_object.cc),$(wildcard daemon/property/*.cc)) \
                $(addprefix daemon/principled/,block.cc counts.cc diagnostic.cc key.cc ruling.cc statements.cc) \
                $(addprefix daemon/proxy/,address.cc events.cc farewell.cc go_calls.cc go_request.cc stack_texts.cc tasks.cc write_log.cc)
FUZZ_OBJ     := $(patsubst %.cc,$(BUILD)/fuzz/obj/%.o,$(CORE_SRC) $(FUZZ_DAEMON)) \
                $(patsubst %,$(BUILD)/fuzz/obj/llhttp/%.o,api http llhttp)

$(BUILD)/fuzz/obj/%.o: %.cc
	@mkdir -p $(@D)
	$(CCACHE) clang++-14 -std=c++20 $(FUZZ_FLAGS) $(IN_ANY_FOLDER) -fsanitize=fuzzer-no-link $(FUZZ_INCLUDE) -c $< -o $@
$(BUILD)/fuzz/obj/llhttp/%.o: $(LLHTTP)/%.c
	@mkdir -p $(@D)
	$(CCACHE) clang-14 $(FUZZ_FLAGS) $(IN_ANY_FOLDER) -fsanitize=fuzzer-no-link $(FUZZ_INCLUDE) -c $< -o $@
$(BUILD)/fuzz/%_fuzz: $(BUILD)/fuzz/obj/tests/fuzz/%_fuzz.o $(FUZZ_OBJ)
	clang++-14 $(FUZZ_FLAGS) -fsanitize=fuzzer $^ -o $@ $(FUZZ_LIBS) $(NGHTTP2) -l:libpugixml.a -l:libre2.a -lcrypto -lz
$(BUILD)/fuzz/analysis_fuzz: $(patsubst %.cc,$(BUILD)/fuzz/obj/%.o,$(ANALYSIS_SRC))
$(BUILD)/fuzz/analysis_fuzz: FUZZ_LIBS := $(ANALYSIS_LIBS)
$(BUILD)/fuzz/init_fuzz: $(patsubst %.cc,$(BUILD)/fuzz/obj/%.o,$(filter cli/init/%,$(CLI_SRC)))
$(BUILD)/fuzz/init_fuzz: FUZZ_LIBS := $(ANALYSIS_LIBS)

# TLS sessions are driven in a real session, under a library of its own whose coverage the fuzzer sees. The sanitizers are not in
# there: the address sanitizer wants to come before all that is preloaded.
FUZZ_LIB     := $(BUILD)/fuzz/lib/libfilibuster.so
FUZZ_LIB_OBJ := $(patsubst %.cc,$(BUILD)/fuzz/lib/obj/%.o,$(PRELOAD_SRC) $(SHARED_SRC))
FUZZ_COVERED := $(CCACHE) clang++-14 $(CPPFLAGS) $(IN_ANY_FOLDER) -std=c++20 -g1 -O2 -fsanitize=fuzzer-no-link
$(BUILD)/fuzz/lib/obj/core/%.o: core/%.cc
	@mkdir -p $(@D)
	$(FUZZ_COVERED) $(PURE) -c $< -o $@
$(BUILD)/fuzz/lib/obj/preload/%.o: preload/%.cc preload/os/old_glibc.h
	@mkdir -p $(@D)
	$(FUZZ_COVERED) -include preload/os/old_glibc.h -isystem $(JDK)/include -isystem $(JDK)/include/linux -I$(BUILD)/gen/jvm $(PURE) -fno-threadsafe-statics -c $< -o $@
$(BUILD)/fuzz/lib/obj/preload/runtimes/jvm/classes.o: $(BUILD)/gen/jvm/classes.inc
$(FUZZ_LIB): $(FUZZ_LIB_OBJ) $(LLHTTP_OBJ) $(EXPORTS)
	@mkdir -p $(@D)
	clang++-14 -shared -o $@ $(FUZZ_LIB_OBJ) $(LLHTTP_OBJ) $(NGHTTP2) -static-libstdc++ -static-libgcc -Wl,--version-script=$(EXPORTS) -Wl,-z,now \
	  -Wl,-z,nodelete -Wl,-soname,libfilibuster.so -Wl,--gc-sections
$(BUILD)/fuzz/tls_sessions_fuzz: tests/fuzz/tls_sessions_fuzz.cc tests/programs/tls/session_model.cc tests/programs/tls/session_model.h tests/programs/tls/session_end.h $(FUZZ_LIB)
	@mkdir -p $(@D)
	clang++-14 -I. -std=c++20 -g -O1 -fsanitize=fuzzer -rdynamic -o $@ $(filter %.cc,$^) -lssl -lcrypto
FUZZ_IN_SESSION := tls_sessions

.PHONY: fuzz fuzz-run fuzz-programs
fuzz: fuzz-deps  ## run every fuzz target for FUZZ_SECONDS (30) from the seeds in the tree
	@$(MAKE) --no-print-directory -j$(JOBS) fuzz-programs
	@$(MAKE) --no-print-directory fuzz-run
fuzz-programs: $(BINARIES) $(FUZZ_NAMES:%=$(BUILD)/fuzz/%_fuzz)
# libFuzzer writes what it finds into the first folder: never into the seeds.
fuzz-run:
	@set -e; for n in $(FUZZ_NAMES); do echo "== $$n"; mkdir -p $(BUILD)/fuzz/found/$$n; \
	  case " $(FUZZ_IN_SESSION) " in *" $$n "*) in="$(PYTHON) tests/fuzz/in_session.py $(BUILD)/bin/filibuster $(FUZZ_LIB)";; *) in=;; esac; \
	  $$in $(BUILD)/fuzz/$${n}_fuzz -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -print_final_stats=0 -verbosity=0 \
	    -artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/found/$$n tests/fuzz/corpus/$$n; done
-include $(shell find $(BUILD)/fuzz -name '*.d' 2>/dev/null)
