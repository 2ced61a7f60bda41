# eBPF programs (bpf/*.bpf.c) and their loader (bpf/loader/). Included by the Makefile. Without clang, bpftool,
# libbpf or BTF of this kernel everything else is built, and the build says so.
BPF_PACKAGES := clang-14 bpftool libbpf-dev libcapstone-dev
BPF_CLANG    := $(shell command -v clang-14)
BPFTOOL      := $(firstword $(shell PATH="$$PATH:/usr/sbin" command -v bpftool))
# The types of the kernel. Programs find the places of their fields in the kernel where they are loaded.
VMLINUX_BTF  ?= /sys/kernel/btf/vmlinux
BPF_MISSING  := $(strip $(if $(BPF_CLANG),,clang-14) $(if $(BPFTOOL),,bpftool) \
  $(if $(wildcard /usr/include/bpf/libbpf.h),,libbpf-dev) $(if $(wildcard /usr/include/capstone/capstone.h),,libcapstone-dev) $(if $(wildcard $(VMLINUX_BTF)),,$(VMLINUX_BTF)))

BPF_GEN      := $(BUILD)/gen/bpf
BPF_OBJECTS  := $(patsubst bpf/%.bpf.c,%,$(wildcard bpf/*.bpf.c))
BPF_LIBS     := -lbpf -lelf -lz -lcapstone -lpthread
BPF_LOADER   := $(BUILD)/lib/filibuster/filibuster-bpf

$(BPF_GEN)/vmlinux.h: $(VMLINUX_BTF)
	@mkdir -p $(@D)
	@$(BPFTOOL) btf dump file $< format c > $@.new && { cmp -s $@.new $@ || cp $@.new $@; } && rm $@.new && touch $@
$(BPF_GEN)/%.bpf.o: bpf/%.bpf.c $(BPF_GEN)/vmlinux.h
	$(BPF_CLANG) -target bpf -D__TARGET_ARCH_x86 -O2 -g -Wall -Werror -MMD -MP -MF $(@:.o=.d) -I$(BPF_GEN) -Ibpf -c $< -o $@
$(BPF_GEN)/%.skel.h: $(BPF_GEN)/%.bpf.o
	@$(BPFTOOL) gen skeleton $< name fb_$* > $@.new && mv $@.new $@
.SECONDARY: $(BPF_OBJECTS:%=$(BPF_GEN)/%.bpf.o)
-include $(wildcard $(BPF_GEN)/*.d)

$(BUILD)/obj/bpf/loader/objects.o: $(BPF_OBJECTS:%=$(BPF_GEN)/%.skel.h)
$(BUILD)/obj/bpf/loader/objects.o: CPPFLAGS += -isystem $(BPF_GEN)
$(BPF_LOADER): $(call objects,$(BPF_SRC)) $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(BPF_LIBS)

.PHONY: attach
ifeq ($(BPF_MISSING),)
attach: $(BPF_LOADER)
else
attach:
	@echo "WARNING: services cannot be attached: filibuster-bpf is not built, since this is missing: $(BPF_MISSING)" >&2
endif
