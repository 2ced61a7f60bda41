# Benchmarks: ratios with a control in the same run, interleaved rounds. Included by the Makefile.
BENCH_ROUNDS ?= 30
# Node waits for its timeouts in its event loop, where they are not elapsed.
WITHOUT_WAITS_audible := --fault refused --fault 500 --fault 502 --fault 503
$(BUILD)/tests/grpc_bench: tests/bench/grpc_bench.cc $(addprefix $(BUILD)/corpus/purchase/shop,.pb.o .grpc.pb.o)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -isystem $(BUILD)/corpus/purchase -o $@ $^ -lgrpc++ -lgrpc -lgpr -lprotobuf -labsl_synchronization -lpthread
$(BUILD)/tests/search_bench: $(call objects,tests/bench/search_bench.cc) $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(DAEMON_LIBS)
$(BUILD)/tests/coverage_bench: $(call objects,tests/bench/coverage_bench.cc) $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(DAEMON_LIBS)
$(BUILD)/tests/linear_bench: $(call objects,tests/bench/linear_bench.cc) $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ -lpthread
# The preload's objects, hidden: nothing is interposed.
$(BUILD)/tests/libindex_bench.so: $(BUILD)/obj/index_bench.o $(PRELOAD_OBJ)
	@mkdir -p $(@D)
	@printf '{ global: index_bench_*; local: *; };\n' > $(@D)/index_bench.map
	$(CXX) $(OPT) -shared -o $@ $^ -static-libstdc++ -static-libgcc -Wl,--version-script=$(@D)/index_bench.map $(NGHTTP2)
$(BUILD)/obj/index_bench.o: tests/bench/index_bench.cc
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) $(CPPFLAGS) $(CXXFLAGS) -fPIC -c $< -o $@
$(BUILD)/tests/native_index_bench: tests/bench/native_index_bench.cc $(BUILD)/tests/libindex_bench.so
	$(CXX) $(CXXFLAGS) -o $@ $^ -Wl,-rpath,'$$ORIGIN'
$(BUILD)/tests/libjvm_index_bench.so: tests/bench/jvm_index_bench.cc tests/bench/JvmIndexBench.java $(BUILD)/tests/libindex_bench.so
	$(JDK)/bin/javac -nowarn -g:source,lines -d $(@D)/java tests/bench/JvmIndexBench.java
	$(CXX) $(CXXFLAGS) -fPIC -shared -isystem $(JDK)/include -isystem $(JDK)/include/linux -o $@ $< $(BUILD)/tests/libindex_bench.so -Wl,-rpath,'$$ORIGIN'

# The alternatives that are measured beside the library.
BENCH_PACKAGES := mitmproxy
.PHONY: bench bench-run bench-deps
bench-deps:
	$(call install_missing,$(BENCH_PACKAGES))
bench: test-deps bench-deps  ## every figure as a ratio, with its control (about 30 minutes)
	@$(MAKE) --no-print-directory -j$(JOBS) all corpus bench-programs $(BUILD)/tests/search_bench $(BUILD)/tests/coverage_bench $(BUILD)/tests/linear_bench $(BUILD)/tests/tape_probe $(BUILD)/tests/grpc_bench $(BUILD)/tests/native_index_bench $(BUILD)/tests/libjvm_index_bench.so
	@$(MAKE) --no-print-directory bench-run
# A bound that is missed is printed and does not keep the others from being measured. (The exit code of a
# trace is not asked: it also tells of ports that are new in each round.)
bench-run:
	@failed=""; rm -f $(BUILD)/preload_bench.txt $(BUILD)/grpc_bench.txt $(BUILD)/redis_bench.txt $(BUILD)/sidecar_bench.txt; \
	echo "== tight loop in the clear and over TLS, plain / without a session / in a session without faults"; \
	  $(BUILD)/bin/filibuster trace --root $(BUILD)/bench-state -- $(PYTHON) tests/bench/preload_bench.py --session --rounds $(BENCH_ROUNDS) --build $(BUILD) --output "$(CURDIR)/$(BUILD)/preload_bench.txt" >$(BUILD)/preload_trace.txt; \
	  cat $(BUILD)/preload_bench.txt && ! grep -q '^missed' $(BUILD)/preload_bench.txt || failed="$$failed preload"; \
	echo "== a message while its bytes are recorded"; \
	  $(PYTHON) tests/bench/tape_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed tape"; \
	echo "== a service while it is recorded, and its cases replayed"; \
	  $(PYTHON) tests/bench/record_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed record"; \
	echo "== an index, 30 frames, C++ and CPython"; \
	  $(BUILD)/tests/native_index_bench || failed="$$failed native-index"; \
	  $(PYTHON) tests/bench/python_index_bench.py --build $(BUILD) || failed="$$failed python-index"; \
	echo "== an index, 30 frames, JVM"; \
	  $(JDK)/bin/java -cp $(BUILD)/tests/java JvmIndexBench "$(abspath $(BUILD)/tests/libjvm_index_bench.so)" 30 || failed="$$failed jvm-index"; \
	echo "== wrk against a C++ server, preloaded without a session"; \
	  $(PYTHON) tests/bench/load_bench.py wrk --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed wrk"; \
	echo "== h2load against nghttpd, preloaded without a session"; \
	  $(PYTHON) tests/bench/load_bench.py h2load --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed h2load"; \
	echo "== wrk over TLS against nginx and against cpp-httplib, preloaded without a session"; \
	  $(PYTHON) tests/bench/load_bench.py nginx --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed nginx-tls"; \
	  $(PYTHON) tests/bench/load_bench.py httplib --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed httplib-tls"; \
	echo "== a request over TLS, beside sidecars that add a header field"; \
	  BENCH_BUILD=$(BUILD) SIDECAR_BENCH="--rounds $(BENCH_ROUNDS) --build $(BUILD) --output ../../$(BUILD)/sidecar_bench.txt" \
	    $(BUILD)/bin/filibuster trace --root $(BUILD)/bench-state -c tests/bench/sidecar_bench.json >$(BUILD)/sidecar_trace.txt; \
	  cat $(BUILD)/sidecar_bench.txt || failed="$$failed sidecar"; \
	echo "== the start of a native process"; \
	  $(PYTHON) tests/bench/start_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed start"; \
	echo "== what a run costs by itself"; \
	  $(PYTHON) tests/bench/run_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed run"; \
	echo "== a unary gRPC call, plain / without a session / in a session without faults"; \
	  $(BUILD)/bin/filibuster trace --root $(BUILD)/bench-state -- $(PYTHON) tests/bench/grpc_bench.py --session --rounds $(BENCH_ROUNDS) --build $(BUILD) --output "$(CURDIR)/$(BUILD)/grpc_bench.txt" >$(BUILD)/grpc_trace.txt; \
	  cat $(BUILD)/grpc_bench.txt && ! grep -q '^missed' $(BUILD)/grpc_bench.txt || failed="$$failed grpc"; \
	echo "== a command of Redis, plain / without a session / in a session without faults"; \
	  REDIS_BENCH="--rounds $(BENCH_ROUNDS) --build $(BUILD) --output ../../$(BUILD)/redis_bench.txt" \
	    $(BUILD)/bin/filibuster trace --root $(BUILD)/bench-state -c tests/bench/redis_bench.json >$(BUILD)/redis_trace.txt; \
	  cat $(BUILD)/redis_bench.txt && ! grep -q '^missed' $(BUILD)/redis_bench.txt || failed="$$failed redis"; \
	$(foreach application,cinema-1 audible netflix,echo "== an execution of $(application) beside its plain functional test"; \
	  $(PYTHON) tests/bench/execution_bench.py --application $(application) $(WITHOUT_WAITS_$(application)) --executions 60 --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed $(application)"; )\
	echo "== a call site of Node, and its start"; \
	  $(PYTHON) tests/bench/node_index_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed node"; \
	echo "== an exploration beside 1,000 slow connections to the API"; \
	  $(PYTHON) tests/bench/crowd_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed crowd"; \
	echo "== what attaching costs (eBPF)"; \
	  $(PYTHON) tests/bench/attach_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed attach"; \
	echo "== the search alone"; \
	  $(BUILD)/tests/search_bench || failed="$$failed search"; \
	echo "== the plan of a coverage metric"; \
	  $(BUILD)/tests/coverage_bench || failed="$$failed coverage"; \
	echo "== a test of a suite beside the same command alone"; \
	  $(PYTHON) tests/bench/suite_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed suite"; \
	echo "== an execution of principled testing with a stub beside one with a service, and calls to a stub"; \
	  $(PYTHON) tests/bench/principled_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed principled"; \
	echo "== a program of a property-based test beside the same commands without Filibuster"; \
	  $(PYTHON) tests/bench/property_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) || failed="$$failed property"; \
	echo "== checking histories, beside Porcupine where PORCUPINE=DIR names a copy of it"; \
	  $(PYTHON) tests/bench/linear_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) $(if $(PORCUPINE),--porcupine "$(abspath $(PORCUPINE))") || failed="$$failed linear"; \
	if [ -n "$$failed" ]; then echo "bounds missed:$$failed"; exit 1; fi

# What forking the test saves. Apart from `bench`, since it explores for half an hour.
.PHONY: snapshot-bench
snapshot-bench: test-deps  ## executions a second with snapshots beside plain starts, beside the body of its test, and on two lanes (about 70 minutes)
	@$(MAKE) --no-print-directory -j$(JOBS) all corpus
	-@$(PYTHON) tests/bench/reset_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD)
	-@$(PYTHON) tests/bench/lanes_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD)
	@$(PYTHON) tests/bench/snapshot_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD) --whole

# The figures of report.html. Apart from `bench`, since a browser is needed and nothing of the rest.
.PHONY: page-bench
page-bench: test-deps  ## how long report.html takes to show a finding, and its memory (about 5 minutes)
	@$(MAKE) --no-print-directory -j$(JOBS) all $(PAGE_TESTS)/installed $(BUILD)/tests/page_maker
	@$(PYTHON) tests/bench/page_bench.py --rounds $(BENCH_ROUNDS) --build $(BUILD)
