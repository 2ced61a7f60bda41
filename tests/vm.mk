# eBPF on the kernels of users: Debian's own, in a virtual machine. Included by the Makefile.
VM_PACKAGES := qemu-system-x86 busybox-static cpio kmod
VM_TESTS ?= tests/vm tests/integration/attach/test_loader.py tests/integration/attach/test_attach.py
.PHONY: test-bpf-vm
test-bpf-vm: test-deps  ## what attaches runs on Debian's own kernel too, in a virtual machine without hardware support (VM_TESTS; some minutes)
	-$(call install_missing,$(VM_PACKAGES))
	@$(MAKE) --no-print-directory $(SUBJOBS) all test-programs go-corpus
	@$(PYTHON) tests/vm/boot.py --build $(BUILD) env BUILD=$(BUILD) REQUIRE_BPF=1 $(PYTHON) -m pytest -v --color=no -p no:cacheprovider $(VM_TESTS)
