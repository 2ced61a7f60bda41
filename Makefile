# The one door. `make help` lists the targets.
BUILD    ?= build
PREFIX   ?= /usr/local
CXX      ?= g++
CC       ?= gcc
OPT      ?= -O2 -g
SAN      ?=
PYTHON   := /usr/bin/python3

WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
CPPFLAGS += -I. -isystem /usr/share/include -MMD -MP
CXXFLAGS += -std=c++20 $(OPT) $(WARN)
CFLAGS   += -std=c11 $(OPT)
ifneq ($(SAN),)
  BUILD    := $(BUILD)-san
  SANFLAGS := -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all
endif

LLHTTP   := /usr/share/llhttp
# No exceptions in what lives in other processes, and hidden symbols only.
PURE     := -fno-exceptions -fno-rtti -fPIC -fvisibility=hidden -fvisibility-inlines-hidden

find_cc   = $(sort $(shell find $(1) -name '*.cc' 2>/dev/null))
CORE_SRC    := $(call find_cc,core)
PRELOAD_SRC := $(call find_cc,preload)
DAEMON_SRC  := $(filter-out daemon/main.cc,$(call find_cc,daemon))
CLI_SRC     := $(filter-out cli/main.cc,$(call find_cc,cli))
UNIT_SRC    := $(call find_cc,tests/unit)
objects      = $(patsubst %.cc,$(BUILD)/obj/%.o,$(1))
LLHTTP_OBJ  := $(BUILD)/obj/llhttp/api.o $(BUILD)/obj/llhttp/http.o $(BUILD)/obj/llhttp/llhttp.o

DAEMON_LIBS := -lcpp-httplib -lsqlite3 -ldw -lelf -lpthread
CLI_LIBS    := -lcpp-httplib -lpthread

BINARIES := $(BUILD)/bin/filibuster $(BUILD)/bin/filibusterd $(BUILD)/lib/libfilibuster.so

.PHONY: all
all: $(BINARIES) compile_commands.json  ## build everything

$(BUILD)/obj/core/%.o: core/%.cc
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(SANFLAGS) $(PURE) -c $< -o $@
# The preload is never sanitized: it enters programs that are not.
$(BUILD)/obj/preload/%.o: preload/%.cc
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(PURE) -fno-threadsafe-statics -c $< -o $@
$(BUILD)/obj/pic/%.o: core/%.cc
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(PURE) -c $< -o $@
$(BUILD)/obj/%.o: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(SANFLAGS) -c $< -o $@
$(BUILD)/obj/llhttp/%.o: $(LLHTTP)/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c $< -o $@

PRELOAD_OBJ := $(call objects,$(PRELOAD_SRC)) $(patsubst core/%.cc,$(BUILD)/obj/pic/%.o,$(CORE_SRC)) $(LLHTTP_OBJ)
$(BUILD)/lib/libfilibuster.so: $(PRELOAD_OBJ) preload/exports.map
	@mkdir -p $(@D)
	$(CXX) $(OPT) -shared -o $@ $(PRELOAD_OBJ) -static-libstdc++ -static-libgcc \
	  -Wl,--version-script=preload/exports.map -Wl,-z,now -Wl,-z,nodelete -Wl,--no-undefined -Wl,-soname,libfilibuster.so

$(BUILD)/lib/libcore.a: $(call objects,$(CORE_SRC)) $(LLHTTP_OBJ)
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^
$(BUILD)/lib/libdaemon.a: $(call objects,$(DAEMON_SRC))
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^
$(BUILD)/lib/libcli.a: $(call objects,$(CLI_SRC))
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^
$(BUILD)/bin/filibusterd: $(call objects,daemon/main.cc) $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(CXX) $(OPT) $(SANFLAGS) -o $@ $^ $(DAEMON_LIBS)
$(BUILD)/bin/filibuster: $(call objects,cli/main.cc) $(BUILD)/lib/libcli.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(CXX) $(OPT) $(SANFLAGS) -o $@ $^ $(CLI_LIBS)

# One unit test program for each folder of tests/unit.
UNIT_DIRS := $(sort $(foreach f,$(UNIT_SRC),$(word 3,$(subst /, ,$(f)))))
UNIT_BIN  := $(UNIT_DIRS:%=$(BUILD)/tests/unit_%)
define unit_rule
$(BUILD)/tests/unit_$(1): $$(call objects,$$(filter tests/unit/$(1)/%,$$(UNIT_SRC))) $$(BUILD)/lib/libdaemon.a $$(BUILD)/lib/libcli.a $$(BUILD)/lib/libcore.a
	@mkdir -p $$(@D)
	$$(CXX) $$(OPT) $$(SANFLAGS) -o $$@ $$^ -lgtest -lgtest_main $$(DAEMON_LIBS)
endef
$(foreach d,$(UNIT_DIRS),$(eval $(call unit_rule,$(d))))

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# --- corpus -----------------------------------------------------------------------------------
EXPEDIA := $(patsubst %,$(BUILD)/corpus/expedia/%,review_ml review_time api_gateway)
$(BUILD)/corpus/expedia/%: corpus/expedia/%.cc corpus/expedia/review_service.h
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(OPT) -Wall -Wextra -Werror $< -o $@ -lcpp-httplib -lpthread
$(BUILD)/tests/unit_expedia: corpus/expedia/review_service_test.cc corpus/expedia/review_service.h
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(OPT) -Wall -Wextra -Werror $< -o $@ -lgtest -lgtest_main -lcpp-httplib -lpthread
.PHONY: corpus
corpus: $(EXPEDIA)  ## build the example applications that need it
