# Files of one folder are compiled together, since most of a compilation is reading headers, and files of a folder share
# them. A batch is so small that it is soon compiled again after a change of one of its files. UNITY=off compiles each file
# alone: `make check` does so, since each file includes what it needs. Included by the Makefile; see docs/building.md.
UNITY       ?= on
UNITY_FILES := 8
# Compiled alone: what has flags of its own (cpp-httplib's, the JDK's, eBPF's), what contains other files as they stand
# (.incbin), what the unit tests or the preload leave out, and hooks (what one stands for may be looked up in several files).
UNITY_ALONE := core/linear/% preload/hooks/% daemon/api/server.cc daemon/api/http_server.cc cli/daemon_client.cc cli/property_client.cc bpf/loader/objects.cc \
  preload/runtimes/jvm/classes.cc $(addprefix preload/runtimes/cpython/,helper.cc leave.cc) preload/runtimes/ruby/helper.cc \
  preload/os/standard_library.cc
# What the unit tests link of a folder of which they do not link the rest.
UNITY_APART := $(UNIT_bpf)

ifeq ($(UNITY),on)
UNITED := $(shell printf '%s\n' $(filter-out $(UNITY_ALONE) %/main.cc,$(CORE_SRC) $(PRELOAD_SRC) $(DAEMON_SRC) $(ANALYSIS_SRC) $(CLI_SRC) $(BPF_SRC) $(UNIT_SRC)) \
  | awk -v dir='$(BUILD)/gen/unity' -v most=$(UNITY_FILES) -v apart='$(UNITY_APART)' -f make/unity.awk)
define united
UNITED_$(2) := $(1)
$(BUILD)/obj/$(1).o: $(2)
endef
$(foreach pair,$(UNITED),$(eval $(call united,$(word 1,$(subst =, ,$(pair))),$(word 2,$(subst =, ,$(pair))))))
endif
# The objects of source files: a batch instead of its files.
objects = $(patsubst %,$(BUILD)/obj/%.o,$(sort $(foreach file,$(1),$(or $(UNITED_$(file)),$(file:.cc=)))))

# $(call write_list,name,files) keeps their names in gen/lists: what is made of them is made anew when others are among them.
# The list is the same however BUILD is written. Who only asks (`make help`, `make -n`) writes nothing.
ASKS_ONLY := $(filter help,$(MAKECMDGOALS))$(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
define write_list
$(BUILD)/gen/lists/$(1): ;
ifneq ($(ASKS_ONLY),)
else ifneq ($$(strip $$(file < $(BUILD)/gen/lists/$(1))),$(patsubst $(BUILD)/%,%,$(strip $(2))))
$$(shell mkdir -p $(BUILD)/gen/lists)
$$(file > $(BUILD)/gen/lists/$(1),$(patsubst $(BUILD)/%,%,$(strip $(2))))
endif
endef
