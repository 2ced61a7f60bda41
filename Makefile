# The one door. `make help` lists the targets.
.DEFAULT_GOAL := all
BUILD    ?= build
PREFIX   ?= /usr/local
CXX      ?= g++
CC       ?= gcc
# Of all that is compiled. Unless it is given (OPT='-O0 -g' for a debugger), our own objects have line numbers without
# variables, and RARE ones are optimised less: both together take a third off the time of a build.
OPT      ?= -O2 -g
LESS     := $(if $(filter file,$(origin OPT)),-g1)
SAN      ?=
PYTHON   := /usr/bin/python3
JOBS     ?= $(shell nproc)

# Compilers are asked through ccache where it is there. The folder of this clone stands in nothing that is compiled, so that a
# clone in another folder finds the same. Only the commands below use it, and not what tests compile. CCACHE= turns it off.
CCACHE   := $(if $(findstring ccache,$(CXX)),,$(shell command -v ccache))
IN_ANY_FOLDER := -fdebug-prefix-map='$(CURDIR)=.'
# lld links several times as fast as bfd. What enters other processes is linked by the same linker everywhere: LLD is not for the library.
# Tables that are sections of their own (FILIBUSTER_HOOK) are kept by whoever asks for their ends, with lld as with bfd.
LLD      := $(if $(shell command -v ld.lld),-fuse-ld=lld)
LINK      = $(CXX) $(OPT) $(SANFLAGS) $(LLD) -Wl,--gc-sections -Wl,-z,nostart-stop-gc

WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
# Debian's cpp-httplib is built with these; they change the layout of its classes.
HTTPLIB  := -DCPPHTTPLIB_OPENSSL_SUPPORT -DCPPHTTPLIB_ZLIB_SUPPORT -DCPPHTTPLIB_BROTLI_SUPPORT
CPPFLAGS += -I. -isystem /usr/share/include -isystem /usr/share/include/llhttp -MMD -MP
CXXFLAGS += -std=c++20 $(OPT) $(WARN) $(IN_ANY_FOLDER)
CFLAGS   += -std=c11 $(OPT) $(IN_ANY_FOLDER)
ifneq ($(SAN),)
  BUILD    := $(BUILD)-san
  # core/ and preload/ are built without RTTI, which the check of virtual tables needs in whoever uses them.
  # What a sanitizer finds, it finds at -O1, which compiles in half of the time. Warnings of gcc about the flow of values are often
  # wrong in code that is sanitized (gcc(1), -fsanitize), and the other builds have them.
  OPT := $(if $(LESS),-O1 -g1,$(OPT))
  SANFLAGS := -Wno-error -fsanitize=$(SAN) -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all
endif

LLHTTP   := /usr/share/llhttp
# HPACK. Static everywhere: the preload must need only libc (its objects are position independent).
NGHTTP2  := -l:libnghttp2.a
# The headers of JNI, and the compiler of the helper that runs inside a JVM.
JDK      ?= $(firstword $(wildcard /usr/lib/jvm/java-17-openjdk-*))
# No exceptions in what lives in other processes, and hidden symbols only.
PURE     := -fno-exceptions -fno-rtti -fPIC -fvisibility=hidden -fvisibility-inlines-hidden

find_cc   = $(sort $(shell find $(1) -name '*.cc' 2>/dev/null))
CORE_SRC    := $(call find_cc,core)
# What the preload links of it: checking histories is the daemon's, and needs the C++ library.
SHARED_SRC  := $(filter-out core/linear/%,$(CORE_SRC))
PRELOAD_SRC := $(call find_cc,preload)
DAEMON_SRC  := $(filter-out daemon/main.cc daemon/proxy/main.cc,$(call find_cc,daemon))
ANALYSIS_SRC := $(call find_cc,cli/analysis)
CLI_SRC     := $(filter-out cli/main.cc $(ANALYSIS_SRC),$(call find_cc,cli))
UNIT_SRC    := $(call find_cc,tests/unit)
BPF_SRC     := $(call find_cc,bpf)
# What the unit tests link besides the archives. What lives in other processes is linked into one of them without its
# hooks (and without preload/os/standard_library.cc, which traps operator new); of eBPF's loader, what calls no eBPF.
UNIT_preload_agent := $(filter-out preload/hooks/% preload/os/standard_library.cc,$(PRELOAD_SRC))
UNIT_bpf := $(addprefix bpf/loader/,capabilities.cc channel.cc failure.cc kernel.cc go/instructions.cc go/sites.cc)
include make/unity.mk
LLHTTP_OBJ  := $(BUILD)/obj/llhttp/api.o $(BUILD)/obj/llhttp/http.o $(BUILD)/obj/llhttp/llhttp.o

# Static what is: each shared library costs every start of the daemon. CLP is loaded when it is needed (daemon/retries/pair_cover.cc). libprotobuf is
# shared: of the static one only what is called is linked, and descriptor sets may import any of the types that it knows. OpenSSL comes with cpp-httplib anyway.
DAEMON_LIBS := $(NGHTTP2) -l:libpugixml.a -l:libre2.a -lprotobuf -lcpp-httplib -lssl -lcrypto -l:libsqlite3.a -l:libdw.a -l:libelf.a -l:liblzma.a -l:libbz2.a -lz -liberty -lpthread
# Of the analysis static: `filibuster was-fault-injected` starts often, and loading them takes longer than it.
ANALYSIS_LIBS := -l:libyaml-cpp.a -l:libprotobuf.a
CLI_LIBS    := $(ANALYSIS_LIBS) $(NGHTTP2) -l:libre2.a -lcpp-httplib -lcrypto -lz -lpthread

# What `run --coverage` brings into services, and what reads their data at the end.
COVERAGE_DIR   := $(BUILD)/lib/filibuster/coverage
COVERAGE_FILES := $(addprefix $(COVERAGE_DIR)/,python/sitecustomize.py python_report.py node_flush.cjs node_report.cjs gcov_flush.so jacoco_report.jar)
BINARIES := $(BUILD)/bin/filibuster $(BUILD)/bin/filibusterd $(BUILD)/lib/libfilibuster.so $(BUILD)/lib/filibuster/node.cjs $(addprefix $(BUILD)/lib/filibuster/,filibuster-proxy filibuster-host) $(COVERAGE_FILES)

.PHONY: all
all: $(BINARIES) attach $(BUILD)/lib/filibuster/report.html compile_commands.json  ## build everything

# A batch of files stands in gen/unity, and is compiled as each of its files is.
UNITED_SRC := $(BUILD)/gen/unity
# Other sections than those that are reached are left out of a program, and what a batch has besides needs no library.
SECTIONS := -ffunction-sections -fdata-sections
compile   = $(CCACHE) $(CXX) $(CPPFLAGS) $(1) $(CXXFLAGS) $(LESS) $(2) $(if $(filter $(UNITED_SRC)/%,$<),$(AS_UNITED)) -c $< -o $@
# A type that is used in one file only may have members of an anonymous namespace; included by a batch it looks like a header's.
# Of clang, a local name that another file of the batch has in its anonymous namespace is a shadow.
AS_UNITED := $(if $(findstring clang,$(CXX)),-Wno-shadow,-Wno-subobject-linkage)
compile_core    = $(call compile,,$(PURE) $(SECTIONS) $(1))
compile_preload = $(call compile,-include preload/os/old_glibc.h,$(PURE) -fno-threadsafe-statics)
$(BUILD)/obj/core/%.o: core/%.cc
	@mkdir -p $(@D)
	$(call compile_core,$(SANFLAGS))
$(BUILD)/obj/core/%.o: $(UNITED_SRC)/core/%.cc
	@mkdir -p $(@D)
	$(call compile_core,$(SANFLAGS))
# The preload is never sanitized: it enters programs that are not. Then core/ is compiled for it once more.
CORE_OBJ := $(call objects,$(CORE_SRC))
ifeq ($(SAN),)
  PRELOAD_CORE := $(call objects,$(SHARED_SRC))
else
  PRELOAD_CORE := $(patsubst $(BUILD)/obj/core/%,$(BUILD)/obj/pic/%,$(call objects,$(SHARED_SRC)))
endif
$(BUILD)/obj/pic/%.o: core/%.cc
	@mkdir -p $(@D)
	$(compile_core)
$(BUILD)/obj/pic/%.o: $(UNITED_SRC)/core/%.cc
	@mkdir -p $(@D)
	$(compile_core)
$(BUILD)/obj/preload/%.o: preload/%.cc preload/os/old_glibc.h
	@mkdir -p $(@D)
	$(compile_preload)
$(BUILD)/obj/preload/%.o: $(UNITED_SRC)/preload/%.cc preload/os/old_glibc.h
	@mkdir -p $(@D)
	$(compile_preload)
# Contains the helper as it stands (.incbin).
$(BUILD)/obj/preload/runtimes/cpython/helper.o: $(addprefix preload/runtimes/cpython/,helper.py helper_grpc.py helper_install.py)
$(BUILD)/obj/preload/runtimes/ruby/helper.o: preload/runtimes/ruby/helper.rb
$(BUILD)/obj/preload/runtimes/cpython/leave.o: preload/runtimes/cpython/leave.py
$(call objects,$(filter preload/runtimes/jvm/% preload/tls/jvm/% preload/hooks/jvm.cc,$(PRELOAD_SRC))): CPPFLAGS += -isystem $(JDK)/include -isystem $(JDK)/include/linux
# The helper inside a JVM: a class of no module, and parts of two modules of the JDK.
JAVAC    := $(JDK)/bin/javac -nowarn -Xlint:-options -g:source,lines -source 17 -target 17
patched   = --patch-module $(1)=preload/runtimes/jvm/$(1) -d $(@D)/$(1) $(filter preload/runtimes/jvm/$(1)/%,$(JVM_HELPER))
JVM_HELPER := $(shell find preload/runtimes/jvm -name '*.java' | LC_ALL=C sort)
$(BUILD)/gen/jvm/classes.inc: $(JVM_HELPER)
	@[ -x $(JDK)/bin/javac ] || { echo "no JDK 17: make deps, or apt-get install openjdk-17-jdk-headless, or JDK=its directory" >&2; exit 3; }
	@rm -rf $(@D) && mkdir -p $(@D)
	@$(JAVAC) -d $(@D)/boot $(filter preload/runtimes/jvm/boot/%,$(JVM_HELPER)) \
	  && $(JAVAC) --add-reads java.base=ALL-UNNAMED -cp $(@D)/boot $(call patched,java.base) \
	  && $(JAVAC) --patch-module java.base=$(@D)/java.base --add-reads java.base=ALL-UNNAMED -cp $(@D)/boot $(call patched,java.net.http)
	@find $(@D) -name '*.class' | LC_ALL=C sort | sed '/java.net.http/s/.*/FILIBUSTER_CLASS("&", 1);/; s/^[^F].*/FILIBUSTER_CLASS("&", 0);/' > $@
$(BUILD)/obj/preload/runtimes/jvm/classes.o: $(BUILD)/gen/jvm/classes.inc
$(BUILD)/obj/preload/runtimes/jvm/classes.o: CPPFLAGS += -I$(BUILD)/gen/jvm
$(BUILD)/obj/daemon/api/server.o $(BUILD)/obj/daemon/api/http_server.o $(BUILD)/obj/cli/daemon_client.o $(BUILD)/obj/cli/property_client.o: CPPFLAGS += $(HTTPLIB)
# What runs a few times for each execution of a test, or once for each command.
RARE := $(filter $(foreach f,api config coverage descriptors explore lane lint observe page process report session suite,daemon/$f/%) cli/% tests/unit/%,\
          $(DAEMON_SRC) $(CLI_SRC) cli/main.cc daemon/main.cc $(UNIT_SRC))
$(call objects,$(RARE)): LESS := $(if $(LESS),-O1 -g1)
$(BUILD)/obj/%.o: %.cc
	@mkdir -p $(@D)
	$(call compile,,$(SANFLAGS) $(SECTIONS))
$(BUILD)/obj/%.o: $(UNITED_SRC)/%.cc
	@mkdir -p $(@D)
	$(call compile,,$(SANFLAGS) $(SECTIONS))
$(BUILD)/obj/llhttp/%.o: $(LLHTTP)/%.c
	@mkdir -p $(@D)
	$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -ffunction-sections -c $< -o $@

PRELOAD_OBJ := $(call objects,$(PRELOAD_SRC)) $(PRELOAD_CORE) $(LLHTTP_OBJ)
# What the library shows is what its sources mark so (FILIBUSTER_HOOK and the like), and nothing of what is linked into it.
EXPORTS := $(BUILD)/gen/exports.map
$(EXPORTS): $(call objects,$(PRELOAD_SRC))
	@mkdir -p $(@D)
	readelf -sW $^ | awk '$$5 == "GLOBAL" && $$6 == "DEFAULT" && $$7 != "UND" && ($$8 !~ /^_Z/ || $$8 == "_ZNSt13random_device9_M_getvalEv") {shown[$$8]} \
	  END {print "{ global:"; for (name in shown) print "  " name ";"; print "  local: *; };"}' > $@
$(BUILD)/lib/libfilibuster.so: $(PRELOAD_OBJ) $(EXPORTS)
	@mkdir -p $(@D)
	$(CXX) $(OPT) -shared -o $@ $(PRELOAD_OBJ) $(NGHTTP2) -static-libstdc++ -static-libgcc -Wl,--no-as-needed -l:libdl.so.2 -Wl,--as-needed \
	  -Wl,--version-script=$(EXPORTS) -Wl,-z,now -Wl,-z,nodelete -Wl,--no-undefined -Wl,-soname,libfilibuster.so -Wl,--gc-sections

# Node's helper is found beside the library (preload/runtimes/node/environment.cc).
$(BUILD)/lib/filibuster/node.cjs: $(addprefix preload/runtimes/node/,helper.cjs draws.cjs)
	@mkdir -p $(@D)
	cat $^ > $@

# The template of report.html, found beside the library, too (daemon/page/file.cc). Without npm
# everything else is built, and `run` says that it writes no page.
PAGE := $(BUILD)/page
$(PAGE)/installed: daemon/page/package.json daemon/page/package-lock.json
	$(call npm_ci,report.html,report.html is not built)
$(BUILD)/lib/filibuster/report.html: $(PAGE)/installed daemon/page/build.mjs daemon/page/template.html $(wildcard daemon/page/src/*) $(wildcard daemon/page/src/*/*)
	@mkdir -p $(@D)
	@[ ! -e $(PAGE)/installed ] || (cd $(PAGE) && node "$(abspath daemon/page/build.mjs)" "$(abspath daemon/page)" "$(abspath $@)")

$(COVERAGE_DIR)/%.so: daemon/coverage/helpers/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -Wextra -Werror -fPIC -shared -o $@ $< -Wl,--no-as-needed -l:libpthread.so.0
$(COVERAGE_DIR)/jacoco_report.jar: daemon/coverage/helpers/JacocoReport.java
	@mkdir -p $(BUILD)/gen/jacoco
	$(JDK)/bin/javac -nowarn -Xlint:-options -source 11 -target 11 -cp /usr/share/java/org.jacoco.core.jar -d $(BUILD)/gen/jacoco $<
	$(JDK)/bin/jar cf $@ -C $(BUILD)/gen/jacoco .
$(COVERAGE_DIR)/%: daemon/coverage/helpers/%
	@mkdir -p $(@D)
	cp $< $@

# An archive contains what its list names: a source file that is gone leaves nothing behind.
define archive
$(eval $(call write_list,lib$(1).a,$(2)))
$(BUILD)/lib/lib$(1).a: $(2) $(BUILD)/gen/lists/lib$(1).a
	@mkdir -p $$(@D)
	rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
endef
$(eval $(call archive,core,$(CORE_OBJ) $(LLHTTP_OBJ)))
$(eval $(call archive,daemon,$(call objects,$(DAEMON_SRC))))
$(eval $(call archive,cli,$(call objects,$(CLI_SRC))))
$(eval $(call archive,analysis,$(call objects,$(ANALYSIS_SRC))))
$(BUILD)/bin/filibusterd: $(call objects,daemon/main.cc) $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(DAEMON_LIBS)
$(BUILD)/bin/filibuster: $(call objects,cli/main.cc) $(BUILD)/lib/libcli.a $(BUILD)/lib/libanalysis.a $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(CLI_LIBS)

# What is preloaded into it is the agent of an attached service.
$(BUILD)/lib/filibuster/filibuster-proxy: $(call objects,daemon/proxy/main.cc) $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(NGHTTP2)

# Without the C library's own start of programs: see there.
$(BUILD)/lib/filibuster/filibuster-host: cli/host.c preload/os/old_glibc.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -I. -Wall -Wextra -Werror -nostartfiles -o $@ $< -Wl,--no-as-needed -l:libdl.so.2

# One unit test program for each folder of tests/unit. Sanitizers keep all that is linked, 200 MB a program: there most folders share one.
UNIT_LIBS_bpf := -lcapstone
UNIT_DIRS := $(sort $(foreach f,$(UNIT_SRC),$(word 3,$(subst /, ,$(f)))))
UNIT_APART := $(if $(SAN),agents bpf core preload_agent report search,$(UNIT_DIRS))
UNIT_PROGRAMS := $(UNIT_APART) $(if $(SAN),others)
UNIT_BIN  := $(UNIT_PROGRAMS:%=$(BUILD)/tests/unit_%)
# The folders of a program.
unit_folders = $(if $(filter others,$(1)),$(filter-out $(UNIT_APART),$(UNIT_DIRS)),$(1))
define unit_rule
$(BUILD)/tests/unit_$(1): $$(call objects,$$(filter $$(addprefix tests/unit/,$$(addsuffix /%,$$(call unit_folders,$(1)))),$$(UNIT_SRC)) $$(UNIT_$(1))) $$(BUILD)/lib/libcli.a $$(BUILD)/lib/libanalysis.a $$(BUILD)/lib/libdaemon.a $$(BUILD)/lib/libcore.a
	@mkdir -p $$(@D)
	$$(LINK) -o $$@ $$^ -lgtest -lgtest_main -l:libyaml-cpp.a $$(DAEMON_LIBS) $$(UNIT_LIBS_$(1))
endef
$(foreach program,$(UNIT_PROGRAMS),$(eval $(call unit_rule,$(program))))

# --- one door ---------------------------------------------------------------------------------
# What the demonstration runs needs no eBPF. The JDK compiles the helper that the library contains.
# (The packages of bpf/build.mk, which is included further down, are among the others: no `:=`.)
DEMO_PACKAGES := g++ gcc make git pkg-config libunwind-dev libdw-dev libelf-dev liblzma-dev libbz2-dev zlib1g-dev libiberty-dev libcli11-dev \
  nlohmann-json3-dev libsqlite3-dev coinor-libclp-dev node-llhttp libnghttp2-dev libprotobuf-dev libprotoc-dev libyaml-cpp-dev libcpp-httplib-dev libssl-dev libpugixml-dev libre2-dev libxxhash-dev \
  python3 python3-flask python3-requests openjdk-17-jdk-headless
PACKAGES = $(DEMO_PACKAGES) libjacoco-java $(BPF_PACKAGES)
TEST_PACKAGES := libgtest-dev junit5 dpkg-dev python3-pytest python3-pytest-xdist python3-jsonschema chromium gunicorn nginx-light curl wrk redis-server redis-tools procps \
  python3-aiohttp python3-uvicorn python3-fastapi python3-httpx python3-uvloop python3-gevent python3-eventlet rustc binutils \
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libhiredis-dev python3-grpcio \
  python3-protobuf python3-redis python3-h2 nghttp2-client nghttp2-server python3-coverage python3-hypothesis \
  libgrpc-java protobuf-compiler-grpc-java-plugin libprotobuf-java libgoogle-gson-java libnetty-java libperfmark-java libguava-java \
  libjetty9-java libtomcat9-java libservlet-api-java ruby perl php-cli php-curl php-fpm wget openssl libssl-dev libgnutls28-dev haproxy apache2-bin \
  wget2 liblwp-protocol-https-perl puma ruby-async rsync openssh-client openssh-server postgresql-15 mariadb-server-core mariadb-client-core rabbitmq-server amqp-tools \
  golang-go golang-google-grpc-dev golang-golang-x-net-dev protoc-gen-go-1-3 musl-tools ccache lld \
  libjemalloc2 libtcmalloc-minimal4 libeatmydata1 libfaketime libproxychains4 torsocks libasan8 libtsan2 libubsan1
# A Node that is there and recent enough is kept, wherever it comes from.
NODE_PACKAGE = $(if $(shell node -p 'process.versions.node.split(".")[0] >= 18 || ""' 2>/dev/null),,nodejs) $(if $(shell command -v npm),,npm)
FUZZ_PACKAGES := clang-14 libclang-rt-14-dev

# Looks first at what is there; installs by package name; without root prints the command.
define install_missing
	@missing=""; for p in $(1); do \
	  dpkg -s $$p 2>/dev/null | grep -q '^Status: install ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ]; then \
	    echo "installing:$$missing"; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } >$(DEPS_LOG) 2>&1 \
	      || { tail -n 20 $(DEPS_LOG) >&2; echo "could not install:$$missing (see $(DEPS_LOG))" >&2; exit 3; }; \
	  else \
	    echo "missing packages. Run this, then make again:" >&2; \
	    echo "  sudo apt-get install -y --no-install-recommends$$missing" >&2; exit 3; \
	  fi; fi
endef
DEPS_LOG := $(BUILD)/deps.log
# The packages that the prerequisites (package.json and package-lock.json) name, beside the target; $(1): what needs
# them; $(2): what is missing without them ("": its tests are skipped).
define npm_ci
	@rm -rf $(@D)/node_modules $@ && mkdir -p $(@D) && cp $^ $(@D)
	@if (cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund) > $(@D)/npm.log 2>&1; then touch $@; else \
	  echo "WARNING: $(or $(2),the tests of $(1) will be skipped): npm ci failed ($(@D)/npm.log):" >&2; grep -m3 -i -e err -e 'not found' $(@D)/npm.log >&2 || :; fi
endef

.PHONY: demo-deps deps test-deps fuzz-deps
demo-deps:
	@mkdir -p $(BUILD)
	$(call install_missing,$(DEMO_PACKAGES) $(NODE_PACKAGE))
deps:  ## install what the build needs (Debian 12 packages)
	@mkdir -p $(BUILD)
	$(call install_missing,$(PACKAGES) $(NODE_PACKAGE))
test-deps: deps  ## install what the tests need besides
	$(call install_missing,$(TEST_PACKAGES))
fuzz-deps: deps
	$(call install_missing,$(FUZZ_PACKAGES))

# Under `make -jN` the sub-makes share its jobs.
SUBJOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
# Sub-makes, so that what deps just installed is seen from the start.
.PHONY: demo demo-built test
demo: demo-deps  ## explore an example that has a bug; shows the finding and its replay
	@[ -x $(BUILD)/bin/filibuster ] || echo "building (some minutes the first time) ..."
	@{ $(MAKE) --no-print-directory $(SUBJOBS) demo-built || echo FAILED; } | awk -v most=$(words $(DEMO_OBJ)) \
	  '/ -c /{if (++n % 10 == 0) print "  " n " of " most " compilations"} /^FAILED$$/{bad = 1} END{exit bad}'
	@BUILD=$(BUILD) sh corpus/demo.sh
# No more than the demonstration runs. The page comes first: its packages come from the network while others compile.
DEMO_OBJ := $(PRELOAD_OBJ) $(call objects,$(DAEMON_SRC) $(CLI_SRC) $(ANALYSIS_SRC) daemon/main.cc cli/main.cc)
demo-built: $(BUILD)/lib/filibuster/report.html $(BUILD)/bin/filibusterd $(BUILD)/lib/libfilibuster.so $(BUILD)/lib/filibuster/node.cjs $(BUILD)/lib/filibuster/filibuster-host $(BUILD)/bin/filibuster
test: test-deps  ## install what is missing, build, run the tests: every behaviour once
	@$(MAKE) --no-print-directory $(SUBJOBS) all run-unit corpus test-programs
	@$(MAKE) --no-print-directory run-tests
.PHONY: test-all
test-all: test-deps  ## the same with the whole products of cases, and what is long or busy (hours)
	@$(MAKE) --no-print-directory $(SUBJOBS) all run-unit corpus test-programs WHOLE=--whole
	@$(MAKE) --no-print-directory run-tests WHOLE=--whole

.PHONY: unit-tests run-tests test-native
unit-tests: $(UNIT_BIN) $(BUILD)/tests/unit_expedia $(BUILD)/tests/unit_netflix
# First what may run side by side, a file in one process (they share what they prepare), then what may not.
# Half as many again as processors: a worker waits for its programs half of the time.
WORKERS ?= $(shell expr $(JOBS) \* 3 / 2)
INTEGRATION = BUILD=$(BUILD) $(PYTHON) -m pytest -q -p no:cacheprovider $(WHOLE)
run-tests:
	$(PYTHON) -m pytest -q -p no:cacheprovider --import-mode=importlib $(wildcard corpus/*/test_units.py)
	$(INTEGRATION) -n $(WORKERS) --dist loadfile -m 'not alone' tests/integration
	$(INTEGRATION) -m alone tests/integration
# Each program runs as soon as it is linked, while others are compiled.
UNIT_RUN := $(patsubst $(BUILD)/tests/%,run-%,$(UNIT_BIN) $(BUILD)/tests/unit_expedia $(BUILD)/tests/unit_netflix)
.PHONY: run-unit $(UNIT_RUN)
run-unit: $(UNIT_RUN)  ## the unit tests alone
$(UNIT_RUN): run-%: $(BUILD)/tests/%
	@said=$$($< --gtest_brief=1 2>&1); status=$$?; printf '== %s\n%s\n' "$<" "$$said"; exit $$status
test-native: run-unit  ## unit tests only; with SAN=address,undefined (or thread) under sanitizers

include bpf/build.mk
include tests/programs.mk
include make/release.mk
include tests/go.mk
include tests/check.mk
include tests/vm.mk
include tests/torture.mk
include tests/threads.mk
include tests/fuzz.mk
include tests/bench.mk
include tests/busy.mk
include tests/reproduce.mk
include tests/conformance.mk

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# --- corpus -----------------------------------------------------------------------------------
EXPEDIA := $(patsubst %,$(BUILD)/corpus/expedia/%,review_ml review_time api_gateway)
$(BUILD)/corpus/expedia/%.o: corpus/expedia/%.cc corpus/expedia/review_service.h
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) -std=c++20 $(OPT) $(HTTPLIB) -Wall -Wextra -Werror -c $< -o $@
.SECONDARY: $(EXPEDIA:=.o)
$(EXPEDIA): %: %.o
	$(CXX) $(OPT) $< -o $@ -lcpp-httplib -lssl -lcrypto -lpthread
# The same programs, for the tests of `run --coverage`.
EXPEDIA_COVERAGE := $(EXPEDIA:$(BUILD)/corpus/expedia/%=$(BUILD)/corpus/expedia-coverage/%)
test-programs: $(EXPEDIA_COVERAGE)
$(BUILD)/corpus/expedia-coverage/%: corpus/expedia/%.cc corpus/expedia/review_service.h
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O0 -g --coverage $(HTTPLIB) -Wall -Wextra -Werror "$(abspath $<)" -o $@ -lcpp-httplib -lssl -lcrypto -lpthread
$(BUILD)/tests/unit_expedia: $(BUILD)/corpus/expedia/review_service_test.o
	@mkdir -p $(@D)
	$(CXX) $(OPT) $< -o $@ -lgtest -lgtest_main -lcpp-httplib -lssl -lcrypto -lpthread
NETFLIX := $(BUILD)/corpus/netflix
NETFLIX_PROGRAMS := $(addprefix $(NETFLIX)/,mobile_client api_gateway user_profile telemetry content test_functional)
$(NETFLIX)/%.o: corpus/netflix/%.cc corpus/netflix/http.h corpus/netflix/homepage.h
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) -std=c++20 $(OPT) $(HTTPLIB) -Wall -Wextra -Werror -c $< -o $@
$(NETFLIX_PROGRAMS): %: %.o $(NETFLIX)/http.o
	$(CXX) $(OPT) $^ -o $@ -lcpp-httplib -lpthread
# The same services, for the coverage of reproduce-sfit.
NETFLIX_COVERAGE := $(addprefix $(NETFLIX)-coverage/,mobile_client api_gateway user_profile telemetry content)
$(NETFLIX)-coverage/%: corpus/netflix/%.cc corpus/netflix/http.cc corpus/netflix/http.h corpus/netflix/homepage.h
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O0 -g --coverage $(HTTPLIB) -Wall -Wextra -Werror $(foreach f,$(filter %.cc,$^),"$(abspath $f)") -o $@ -lcpp-httplib -lpthread
$(BUILD)/tests/unit_netflix: $(NETFLIX)/homepage_test.o $(NETFLIX)/http.o
	@mkdir -p $(@D)
	$(CXX) $(OPT) $^ -o $@ -lgtest -lgtest_main -lcpp-httplib -lpthread
HELLO_JAVA := $(wildcard corpus/hello-world/*.java)
$(BUILD)/corpus/hello-world/Hello.class: $(HELLO_JAVA)
	@mkdir -p $(@D)
	$(JDK)/bin/javac -d $(@D) $^
MAILCHIMP_JAVA := $(wildcard corpus/mailchimp/*.java)
$(BUILD)/corpus/mailchimp/UnitTests.class: $(MAILCHIMP_JAVA)
	@mkdir -p $(@D)
	$(JDK)/bin/javac -d $(@D) $^
PURCHASE := $(BUILD)/corpus/purchase
PURCHASE_STUBS := $(addprefix $(PURCHASE)/shop,.pb.cc .pb.h .grpc.pb.cc .grpc.pb.h _pb2.py _pb2_grpc.py .pb)
$(PURCHASE_STUBS) &: corpus/purchase/shop.proto
	@mkdir -p $(PURCHASE)
	protoc -Icorpus/purchase --cpp_out=$(PURCHASE) --grpc_out=$(PURCHASE) --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin shop.proto
	protoc -Icorpus/purchase --python_out=$(PURCHASE) --grpc_out=$(PURCHASE) --plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin \
	  --descriptor_set_out=$(PURCHASE)/shop.pb shop.proto
$(PURCHASE)/shop%.o: $(PURCHASE)/shop%.cc $(PURCHASE_STUBS)
	$(CCACHE) $(CXX) -std=c++20 $(OPT) -I$(PURCHASE) -c $< -o $@
$(PURCHASE)/%.o: corpus/purchase/%.cc corpus/purchase/service.h $(PURCHASE_STUBS)
	$(CCACHE) $(CXX) -std=c++20 $(OPT) -I. -isystem $(PURCHASE) -Wall -Wextra -Werror -c $< -o $@
$(addprefix $(PURCHASE)/,gateway order pricing): %: %.o $(PURCHASE)/shop.pb.o $(PURCHASE)/shop.grpc.pb.o
	$(CXX) $(OPT) -o $@ $^ -lgrpc++ -lgrpc -lgpr -lprotobuf -labsl_synchronization -lhiredis -lpthread
CACHE_ASIDE := $(BUILD)/corpus/cache-aside
$(CACHE_ASIDE)/hiredis: corpus/cache-aside/hiredis.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Wall -Wextra -Werror $< -o $@ -lhiredis
$(CACHE_ASIDE)/installed: corpus/cache-aside/package-lock.json corpus/cache-aside/package.json
	$(call npm_ci,cache-aside in Node)
JOB_QUEUE := $(BUILD)/corpus/job-queue
$(JOB_QUEUE)/%.o: corpus/job-queue/%.cc corpus/job-queue/tickets.h
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) -std=c++20 $(OPT) $(HTTPLIB) -Wall -Wextra -Werror -c $< -o $@
$(JOB_QUEUE)/web: $(JOB_QUEUE)/web.o $(JOB_QUEUE)/tickets.o
	$(CXX) $(OPT) $^ -o $@ -lcpp-httplib -lsqlite3 -lpthread
LEDGER := $(BUILD)/corpus/ledger
$(LEDGER)/%.o: corpus/ledger/%.cc corpus/ledger/serving.h
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) -std=c++20 $(OPT) $(HTTPLIB) -Wall -Wextra -Werror -c $< -o $@
$(addprefix $(LEDGER)/,accounts teller): %: %.o
	$(CXX) $(OPT) $< -o $@ -lcpp-httplib -lpthread
TICKETS := $(BUILD)/corpus/tickets
$(TICKETS)/tickets.o: corpus/tickets/tickets.cc corpus/tickets/pool.h
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) -std=c++20 $(OPT) $(HTTPLIB) -Wall -Wextra -Werror -c $< -o $@
$(TICKETS)/tickets: $(TICKETS)/tickets.o
	$(CXX) $(OPT) $< -o $@ -lcpp-httplib -lhiredis -lssl -lcrypto -lpthread
$(TICKETS)/Tickets.class: corpus/tickets/Tickets.java corpus/tickets/Cache.java
	@mkdir -p $(@D)
	$(JDK)/bin/javac -nowarn -g:source,lines -d $(@D) $^
# The SDKs of the albums, and what stands for the clouds of albums and desk.
CLOUDS := $(BUILD)/corpus/albums
$(CLOUDS)/installed: corpus/albums/package-lock.json corpus/albums/package.json
	$(call npm_ci,albums and desk)
.PHONY: cloud-corpus
cloud-corpus: $(CLOUDS)/installed  ## the packages of npm that the examples in the cloud need (270 MB)
test-programs: $(CLOUDS)/installed
.PHONY: corpus
corpus: $(EXPEDIA) $(NETFLIX_PROGRAMS) $(BUILD)/corpus/hello-world/Hello.class $(BUILD)/corpus/mailchimp/UnitTests.class $(addprefix $(PURCHASE)/,gateway order pricing) $(CACHE_ASIDE)/hiredis $(CACHE_ASIDE)/installed $(JOB_QUEUE)/web $(addprefix $(LEDGER)/,accounts teller) $(addprefix $(TICKETS)/,tickets Tickets.class)  ## build the example applications that need it

# --- the rest ---------------------------------------------------------------------------------
TEST_SRC  := $(UNIT_SRC) tests/bench/search_bench.cc tests/bench/coverage_bench.cc tests/bench/linear_bench.cc tests/reproduce/netflix_search.cc
COMPILED  := $(patsubst %.cc,$(BUILD)/obj/%.o,$(CORE_SRC) $(PRELOAD_SRC) $(DAEMON_SRC) daemon/main.cc daemon/proxy/main.cc $(ANALYSIS_SRC) $(CLI_SRC) cli/main.cc $(BPF_SRC) $(TEST_SRC)) \
             $(FUZZ_NAMES:%=$(BUILD)/fuzz/obj/tests/fuzz/%_fuzz.o)
$(eval $(call write_list,compiled,$(COMPILED)))
compile_commands.json: Makefile $(wildcard tests/*.mk) tests/check/compile_commands.py $(BUILD)/gen/lists/compiled
	@$(MAKE) --no-print-directory -n -B UNITY=off CCACHE= $(COMPILED) | $(PYTHON) tests/check/compile_commands.py > $@.tmp && mv $@.tmp $@

.PHONY: install uninstall deb clean help
install: all  ## install under PREFIX (/usr/local), DESTDIR respected
	@BUILD=$(BUILD) packaging/install.sh "$(DESTDIR)" "$(PREFIX)"
uninstall:  ## remove what `make install` has installed under PREFIX, DESTDIR respected
	@packaging/uninstall.sh "$(DESTDIR)" "$(PREFIX)"
deb: all  ## Debian packages in build/deb: filibuster, and filibuster-preload for the containers of services
	$(call install_missing,dpkg-dev)
	@BUILD=$(BUILD) packaging/deb.sh $(BUILD)/deb
clean:  ## remove what was built
	rm -rf build build-san build-clang compile_commands.json
help:  ## this list
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16
