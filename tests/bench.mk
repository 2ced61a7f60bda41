# Benchmarks: ratios with a control in the same run, interleaved rounds. Included by the Makefile.
BENCH_ROUNDS ?= 30
$(BUILD)/tests/search_bench: $(call objects,tests/bench/search_bench.cc) $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(CXX) $(OPT) $(SANFLAGS) -o $@ $^ $(DAEMON_LIBS)

.PHONY: bench bench-run
bench: test-deps  ## every figure as a ratio, with its control (about 20 minutes)
	@$(MAKE) --no-print-directory -j$(JOBS) all corpus bench-programs $(BUILD)/tests/search_bench
	@$(MAKE) --no-print-directory bench-run
# A bound that is missed is printed and does not keep the others from being measured.
bench-run:
	@failed=""; \
	echo "== tight loop, plain / without a session / in a session without faults"; \
	  $(BUILD)/bin/filibuster trace --root $(BUILD)/bench-state -- $(PYTHON) tests/bench/preload_bench.py --session --rounds $(BENCH_ROUNDS) --build $(BUILD) --output $(CURDIR)/$(BUILD)/preload_bench.txt >$(BUILD)/preload_trace.txt || failed="$$failed preload"; \
	  cat $(BUILD)/preload_bench.txt; \
	echo "== wrk against a C++ server, preloaded without a session"; \
	  $(PYTHON) tests/bench/wrk_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed wrk"; \
	echo "== an execution of cinema-1 beside its plain functional test"; \
	  $(PYTHON) tests/bench/execution_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed execution"; \
	echo "== a call site of Node, and its start"; \
	  $(PYTHON) tests/bench/node_index_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed node"; \
	echo "== the search alone"; \
	  $(BUILD)/tests/search_bench || failed="$$failed search"; \
	if [ -n "$$failed" ]; then echo "bounds missed:$$failed"; exit 1; fi
