# What the integration tests and benchmarks execute. Included by the Makefile.
# The programs are never sanitized: the preload must come first in them.
PROGRAM_SRC := $(sort $(wildcard tests/programs/*.cc))
PROGRAM_BIN := $(PROGRAM_SRC:tests/programs/%.cc=$(BUILD)/tests/programs/%)

# Compiled apart from linking, which ccache does not remember. PROGRAM_FLAGS are those of one program.
PROGRAM_FLAGS = $(CXXFLAGS)
PLAIN_FLAGS  := -std=c++20 $(OPT) -Wall -Wextra -Werror $(IN_ANY_FOLDER)
compile_program = $(CCACHE) $(CXX) $(CPPFLAGS) $(PROGRAM_FLAGS) -c $< -o $@
$(BUILD)/obj/tests/programs/%.o: tests/programs/%.cc
	@mkdir -p $(@D)
	$(compile_program)
$(PROGRAM_BIN): $(BUILD)/tests/programs/%: $(BUILD)/obj/tests/programs/%.o
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -o $@ $< $(PROGRAM_LIBS) -lpthread
.SECONDARY: $(PROGRAM_SRC:%.cc=$(BUILD)/obj/%.o)
# The service and the client of tests whose subject is no runtime. Calls that are made at different lines stay at
# different addresses (-O1 merges none), and only libc is loaded: starting them is what many tests do most.
NATIVE_HELPERS := $(addprefix $(BUILD)/tests/programs/,relay probe)
$(NATIVE_HELPERS:$(BUILD)/%=$(BUILD)/obj/%.o): PROGRAM_FLAGS = $(PLAIN_FLAGS) -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls
$(NATIVE_HELPERS): PROGRAM_LIBS := -static-libstdc++ -static-libgcc
$(BUILD)/tests/programs/drawn_numbers: PROGRAM_LIBS := -lcrypto -l:libuuid.so.1
# As the preload compiles it, with others in the place of what it calls.
$(BUILD)/tests/inject_probe: $(BUILD)/obj/tests/integration/preload/inject_probe.o $(call objects,$(filter preload/inject/%,$(PRELOAD_SRC))) $(addprefix $(BUILD)/obj/preload/os/,clock.o own_stack.o) $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ -lpthread
# Stands between real clients and servers and a hub with its relay.
$(BUILD)/tests/relay_proxy: $(BUILD)/obj/tests/integration/relay/relay_proxy.o $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ -lgtest $(DAEMON_LIBS)
# A hub with a recording, in the place of a daemon.
$(BUILD)/tests/tape_probe: $(BUILD)/obj/tests/integration/preload/tape_probe.o $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(DAEMON_LIBS)
$(BUILD)/tests/preload_bench: tests/bench/preload_bench.cc tests/bench/loops.h
	@mkdir -p $(@D)
	$(CXX) -I. $(CXXFLAGS) -o $@ $< -lpthread
$(BUILD)/tests/tls_bench: tests/bench/tls_bench.cc tests/bench/loops.h
	@mkdir -p $(@D)
	$(CXX) -I. $(CXXFLAGS) -o $@ $< -lssl -lcrypto -lpthread
# Static, with frame pointers: what cannot be preloaded.
$(BUILD)/tests/attach_client: tests/bench/attach_client.cc tests/bench/loops.h tests/programs/http_text.h
	@mkdir -p $(@D)
	$(CXX) -I. $(CXXFLAGS) -static -fno-omit-frame-pointer -o $@ $<
$(BUILD)/tests/tls_server: tests/bench/tls_server.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(OPT) $(HTTPLIB) -Wall -Wextra -Werror -o $@ $< -lcpp-httplib -lssl -lcrypto -lpthread
$(BUILD)/lib/libtorture.so: tests/torture/torture.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Wall -Wextra -Werror -fPIC -shared -o $@ $<

$(addprefix $(BUILD)/obj/tests/programs/,grpc/matrix.o tls/stress.o tls/stack_depth.o tls/sessions.o tls/session_model.o): PROGRAM_FLAGS = $(PLAIN_FLAGS)
$(BUILD)/tests/programs/grpc_matrix: $(BUILD)/obj/tests/programs/grpc/matrix.o
	@mkdir -p $(@D)
	$(CXX) $(OPT) -o $@ $< -lgrpc++ -lgrpc -lgpr -labsl_synchronization -lpthread
$(BUILD)/tests/programs/tls_stress: $(BUILD)/obj/tests/programs/tls/stress.o
	@mkdir -p $(@D)
	$(CXX) $(OPT) -o $@ $< -lssl -lcrypto -lpthread
# Its functions are bound before they are called: the dynamic linker needs stack, too.
$(BUILD)/tests/programs/stack_depth: $(BUILD)/obj/tests/programs/tls/stack_depth.o
	@mkdir -p $(@D)
	$(CXX) $(OPT) -Wl,-z,now -o $@ $< -lssl -lcrypto -lgnutls -lpthread
$(BUILD)/tests/programs/tls_sessions: $(BUILD)/obj/tests/programs/tls/sessions.o $(BUILD)/obj/tests/programs/tls/session_model.o
	@mkdir -p $(@D)
	$(CXX) $(OPT) -o $@ $^ -lssl -lcrypto
# What a test leaves behind (test_resets.py), with a library of its own.
LEAKS := $(BUILD)/tests/programs/leaks
LEAKS_OBJ := $(patsubst %.cc,$(BUILD)/obj/%.o,$(wildcard tests/programs/resets/*.cc))
LEAKS_LIBRARY_OBJ := $(BUILD)/obj/tests/programs/resets/library.o
$(LEAKS_OBJ): PROGRAM_FLAGS = $(PLAIN_FLAGS) -O1 -g1 -fPIC
$(BUILD)/tests/programs/libleaks.so: $(LEAKS_LIBRARY_OBJ)
	@mkdir -p $(@D)
	$(CXX) -shared -Wl,-soname,$(@F) -o $@ $<
$(LEAKS): $(filter-out $(LEAKS_LIBRARY_OBJ),$(LEAKS_OBJ)) $(BUILD)/tests/programs/libleaks.so
	$(CXX) -o $@ $^ '-Wl,-rpath,$$ORIGIN' -lpthread
test-programs: $(LEAKS)
# Static, so that nothing can be preloaded into it; with frame pointers, by which eBPF reads its call stacks.
$(BUILD)/tests/programs/two_sites: $(BUILD)/obj/tests/programs/attach/two_sites.o
	@mkdir -p $(@D)
	$(CXX) $(OPT) -static -o $@ $< -lpthread
# Static, with frame pointers: what cannot be preloaded.
$(addprefix $(BUILD)/obj/tests/programs/attach/,two_sites.o front.o): PROGRAM_FLAGS = $(CXXFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls
$(BUILD)/obj/tests/programs/attach/caller.o: PROGRAM_FLAGS = $(PLAIN_FLAGS) -O1 -g -fno-omit-frame-pointer
$(BUILD)/tests/programs/attach_caller: $(BUILD)/obj/tests/programs/attach/caller.o
	@mkdir -p $(@D)
	$(CXX) -static -o $@ $<
ATTACH_PROGRAMS := $(BUILD)/tests/programs/two_sites $(BUILD)/tests/programs/attach_caller
TLS_PROGRAMS := $(BUILD)/tests/programs/tls_sessions $(BUILD)/tests/programs/tls_stress $(BUILD)/tests/programs/stack_depth
GRPC_PROGRAMS := $(BUILD)/tests/programs/grpc_matrix

$(BUILD)/tests/java/%.class: tests/programs/java/%.java
	@mkdir -p $(@D)
	$(JDK)/bin/javac -nowarn -g:source,lines -cp $(@D) -d $(@D) $<
$(addprefix $(BUILD)/tests/java/,Ask.class Bytes.class Front.class GetClient.class Many.class): $(BUILD)/tests/java/Certificates.class
JAVA_PROGRAMS := $(patsubst tests/programs/java/%.java,$(BUILD)/tests/java/%.class,$(wildcard tests/programs/java/*.java)) $(BUILD)/tests/java/early_agent.jar
$(BUILD)/tests/java/early_agent.jar: $(BUILD)/tests/java/EarlyAgent.class
	printf 'Premain-Class: EarlyAgent\n' > $(@D)/early_agent.mf
	$(JDK)/bin/jar cfm $@ $(@D)/early_agent.mf -C $(@D) EarlyAgent.class

# gRPC in C++ and Python, from one interface.
CALLS := $(BUILD)/tests/http2
CALLS_STUBS := $(addprefix $(CALLS)/calls,.pb.cc .pb.h .grpc.pb.cc .grpc.pb.h _pb2.py _pb2_grpc.py)
$(CALLS_STUBS) &: tests/programs/http2/calls.proto
	@mkdir -p $(CALLS)
	protoc -I$(<D) --cpp_out=$(CALLS) --grpc_out=$(CALLS) --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin $(<F)
	protoc -I$(<D) --python_out=$(CALLS) --grpc_out=$(CALLS) --plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin $(<F)
$(CALLS)/calls.%.o: $(CALLS)/calls.%.cc $(CALLS_STUBS)
	$(CCACHE) $(CXX) -std=c++20 $(OPT) $(IN_ANY_FOLDER) -I$(CALLS) -c $< -o $@
CALLS_LIBS := -lgrpc++ -lgrpc -lgpr -lprotobuf -labsl_synchronization -lpthread
$(BUILD)/obj/tests/programs/http2/%.o: PROGRAM_FLAGS = $(PLAIN_FLAGS) -isystem $(CALLS)
$(addprefix $(BUILD)/obj/tests/programs/http2/,calls_server.o calls_client.o front.o): $(CALLS_STUBS)
$(addprefix $(CALLS)/,calls_server calls_client front): $(CALLS)/%: $(BUILD)/obj/tests/programs/http2/%.o $(CALLS)/calls.pb.o $(CALLS)/calls.grpc.pb.o
	$(CXX) $(OPT) -o $@ $^ $(CALLS_LIBS)
# The same with server reflection, which registers itself.
$(CALLS)/calls_server_reflection: $(BUILD)/obj/tests/programs/http2/calls_server.o $(CALLS)/calls.pb.o $(CALLS)/calls.grpc.pb.o
	$(CXX) $(OPT) -o $@ $^ -Wl,--no-as-needed -lgrpc++_reflection -Wl,--as-needed $(CALLS_LIBS)
CALLS_PROGRAMS := $(CALLS)/calls_server $(CALLS)/calls_server_reflection $(CALLS)/calls_client $(CALLS)/front

# The same in Java, on Debian's packages. What the compiler of stubs annotates is gone from the JDK.
GRPC_JAVA := $(BUILD)/tests/grpc_java
GRPC_JARS := $(patsubst %,/usr/share/java/%.jar,grpc-api grpc-context grpc-core grpc-netty grpc-protobuf grpc-protobuf-lite grpc-stub \
  protobuf guava perfmark-api $(addprefix netty-,buffer codec codec-http codec-http2 common handler resolver transport))
GRPC_JAVA_SRC := $(wildcard tests/programs/grpc_java/*.java) tests/programs/java/Certificates.java
empty :=
$(GRPC_JAVA)/classpath: tests/programs/http2/calls.proto $(GRPC_JAVA_SRC) tests/programs.mk
	@rm -rf $(@D) && mkdir -p $(@D)/stubs
	protoc -I$(<D) --java_out=$(@D)/stubs --grpc_out=$(@D)/stubs --plugin=protoc-gen-grpc=/usr/bin/grpc_java_plugin $(<F)
	@sed -i '/@javax.annotation.Generated(/,/comments =/d' $$(find $(@D)/stubs -name '*Grpc.java')
	$(JDK)/bin/javac -nowarn -proc:none -g:source,lines -cp $(subst $(empty) $(empty),:,$(GRPC_JARS)) -d $(@D) $(GRPC_JAVA_SRC) $$(find $(@D)/stubs -name '*.java')
	@echo "$(CURDIR)/$(@D):$(subst $(empty) $(empty),:,$(GRPC_JARS))" > $@

# Netty on the JDK's TLS.
NETTY := $(BUILD)/tests/netty
NETTY_JARS := $(patsubst %,/usr/share/java/netty-%.jar,buffer codec codec-http common handler resolver transport)
NETTY_SRC := $(wildcard tests/programs/netty/*.java)
$(NETTY)/classpath: $(NETTY_SRC) tests/programs.mk
	@rm -rf $(@D) && mkdir -p $(@D)
	$(JDK)/bin/javac -nowarn -proc:none -g:source,lines -cp $(subst $(empty) $(empty),:,$(NETTY_JARS)) -d $(@D) $(NETTY_SRC)
	@echo "$(CURDIR)/$(@D):$(subst $(empty) $(empty),:,$(NETTY_JARS))" > $@

# Servlets in Jetty and Tomcat.
SERVLETS := $(BUILD)/tests/servlets
SERVLET_JARS := $(patsubst %,/usr/share/java/%.jar,servlet-api $(addprefix jetty9-,server servlet security http io util) \
  $(addprefix tomcat9-,catalina coyote util util-scan juli api jni annotations-api jaspic-api))
SERVLET_SRC := tests/programs/servlets/Servlets.java tests/programs/java/Kept.java
$(SERVLETS)/classpath: $(SERVLET_SRC) tests/programs.mk
	@rm -rf $(@D) && mkdir -p $(@D)
	$(JDK)/bin/javac -nowarn -proc:none -g:source,lines -cp $(subst $(empty) $(empty),:,$(SERVLET_JARS)) -d $(@D) $(SERVLET_SRC)
	@echo "$(CURDIR)/$(@D):$(subst $(empty) $(empty),:,$(SERVLET_JARS))" > $@

# And for Node: grpc-js is not packaged by Debian. Its versions and their digests are in package-lock.json. Without the
# registry its tests are skipped, with what npm said.
GRPC_NODE := $(BUILD)/tests/grpc_node
$(GRPC_NODE)/installed: tests/programs/grpc_node/package-lock.json tests/programs/grpc_node/package.json
	$(call npm_ci,grpc-js)

# Runners of JavaScript tests (test_suites.py).
RUNNERS := $(BUILD)/tests/suites
$(RUNNERS)/installed: tests/programs/suites/package-lock.json tests/programs/suites/package.json
	$(call npm_ci,suites of jest and mocha)
test-programs: $(RUNNERS)/installed

# Clients of HTTP/1.1, each with the faults of docs/http-faults.md (test_http_faults.py).
CLIENTS := $(BUILD)/tests/clients
$(CLIENTS)/installed: tests/programs/clients/package-lock.json tests/programs/clients/package.json
	$(call npm_ci,axios)
$(BUILD)/tests/programs/get_client: $(BUILD)/obj/tests/programs/http1/get_client.o
	@mkdir -p $(@D)
	$(CXX) $(OPT) -o $@ $< -lcpp-httplib -lssl -lcrypto -lpthread
$(BUILD)/obj/tests/programs/http1/get_client.o: PROGRAM_FLAGS = $(PLAIN_FLAGS) $(HTTPLIB)
test-programs: $(CLIENTS)/installed $(BUILD)/tests/programs/get_client

# The test of fast-check in docs/property-libraries.md.
FAST_CHECK := $(BUILD)/tests/fast_check
$(FAST_CHECK)/installed: tests/programs/fast_check/package-lock.json tests/programs/fast_check/package.json
	$(call npm_ci,fast-check)
test-programs: $(FAST_CHECK)/installed

# The page (tests/integration/page): a browser's driver, what judges accessibility, the compiler's checks, and
# made-up reports.
PAGE_TESTS := $(BUILD)/tests/page
$(PAGE_TESTS)/installed: tests/programs/page/package-lock.json tests/programs/page/package.json
	$(call npm_ci,the page)
$(BUILD)/tests/page_maker: $(BUILD)/obj/tests/integration/page/page_maker.o $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(DAEMON_LIBS)
test-programs: $(PAGE_TESTS)/installed $(BUILD)/tests/page_maker
.PHONY: picture
picture: all $(PAGE_TESTS)/installed  ## the README's picture anew, from the finding of the demonstration (docs/finding.png)
	@BUILD=$(BUILD) $(PYTHON) tests/integration/page/picture.py docs/finding.png

# Services that run already (tests/integration/attach): with frame pointers; in Go, see go.mk.
$(BUILD)/tests/programs/attached_front: $(BUILD)/obj/tests/programs/attach/front.o
	@mkdir -p $(@D)
	$(CXX) $(OPT) -static -o $@ $< -lpthread
test-programs: $(BUILD)/tests/programs/attached_front

.PHONY: test-programs bench-programs
test-programs: $(NETTY)/classpath $(SERVLETS)/classpath $(GRPC_JAVA)/classpath $(GRPC_NODE)/installed $(CALLS_PROGRAMS) $(GRPC_PROGRAMS) $(TLS_PROGRAMS) $(ATTACH_PROGRAMS) $(JAVA_PROGRAMS) $(PROGRAM_BIN) $(BUILD)/tests/inject_probe $(BUILD)/tests/relay_proxy $(BUILD)/tests/tape_probe $(BUILD)/lib/libtorture.so
bench-programs: $(PROGRAM_BIN) $(addprefix $(BUILD)/tests/,preload_bench tls_bench tls_server attach_client)

# Measured by `run --coverage`.
$(BUILD)/tests/coverage/%: tests/programs/coverage/%.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O0 -g --coverage -Wall -Wextra -Werror "$(abspath $<)" -o $@
test-programs: $(BUILD)/tests/coverage/prefork
