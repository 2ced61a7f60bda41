# Fuzz targets: built by clang 14 with libFuzzer and the sanitizers. Included by the Makefile.
FUZZ_SECONDS ?= 30
FUZZ_NAMES   := $(patsubst tests/fuzz/%_fuzz.cc,%,$(sort $(wildcard tests/fuzz/*_fuzz.cc)))
FUZZ_FLAGS   := -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_INCLUDE := -I. -isystem /usr/share/include -isystem /usr/share/include/llhttp -MMD -MP
# What the targets read besides core/: parts of the daemon and the preload without threads and sockets.
FUZZ_DAEMON  := $(wildcard daemon/config/*.cc) $(filter-out daemon/relay/relays.cc,$(wildcard daemon/relay/*.cc)) daemon/coverage/lines.cc daemon/agents/http1_answer.cc daemon/agents/recorder.cc daemon/agents/rpc_memory.cc daemon/agents/unmet_plan.cc daemon/agents/call_name.cc daemon/agents/registration.cc daemon/base/descriptors.cc \
                preload/runtimes/jvm/class_editor.cc daemon/suite/junit_xml.cc daemon/suite/runners.cc \
                $(addprefix daemon/proxy/,address.cc events.cc farewell.cc stack_texts.cc tasks.cc write_log.cc)
FUZZ_OBJ     := $(patsubst %.cc,$(BUILD)/fuzz/obj/%.o,$(CORE_SRC) $(FUZZ_DAEMON)) \
                $(patsubst %,$(BUILD)/fuzz/obj/llhttp/%.o,api http llhttp)

$(BUILD)/fuzz/obj/%.o: %.cc
	@mkdir -p $(@D)
	clang++-14 -std=c++20 $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link $(FUZZ_INCLUDE) -c $< -o $@
$(BUILD)/fuzz/obj/llhttp/%.o: $(LLHTTP)/%.c
	@mkdir -p $(@D)
	clang-14 $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link $(FUZZ_INCLUDE) -c $< -o $@
$(BUILD)/fuzz/%_fuzz: $(BUILD)/fuzz/obj/tests/fuzz/%_fuzz.o $(FUZZ_OBJ)
	clang++-14 $(FUZZ_FLAGS) -fsanitize=fuzzer $^ -o $@ $(FUZZ_LIBS) $(NGHTTP2) -l:libpugixml.a
$(BUILD)/fuzz/analysis_fuzz: $(patsubst %.cc,$(BUILD)/fuzz/obj/%.o,$(ANALYSIS_SRC))
$(BUILD)/fuzz/analysis_fuzz: FUZZ_LIBS := $(ANALYSIS_LIBS)
$(BUILD)/fuzz/init_fuzz: $(patsubst %.cc,$(BUILD)/fuzz/obj/%.o,$(filter cli/init/%,$(CLI_SRC)))
$(BUILD)/fuzz/init_fuzz: FUZZ_LIBS := $(ANALYSIS_LIBS)

.PHONY: fuzz fuzz-run fuzz-programs
fuzz: fuzz-deps  ## run every fuzz target for FUZZ_SECONDS (30) from the seeds in the tree
	@$(MAKE) --no-print-directory -j$(JOBS) fuzz-programs
	@$(MAKE) --no-print-directory fuzz-run
fuzz-programs: $(FUZZ_NAMES:%=$(BUILD)/fuzz/%_fuzz)
# libFuzzer writes what it finds into the first folder: never into the seeds.
fuzz-run:
	@set -e; for n in $(FUZZ_NAMES); do echo "== $$n"; mkdir -p $(BUILD)/fuzz/found/$$n; \
	  $(BUILD)/fuzz/$${n}_fuzz -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -print_final_stats=0 -verbosity=0 \
	    -artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/found/$$n tests/fuzz/corpus/$$n; done
-include $(shell find $(BUILD)/fuzz -name '*.d' 2>/dev/null)
