# eBPF on the kernels of users: Debian's own, in a virtual machine. Included by the Makefile.
VM_PACKAGES := qemu-system-x86 busybox-static cpio kmod
# Not all of attach/: clients that wait for two seconds at most give up in a machine that is made of software.
VM_TESTS ?= tests/vm $(addprefix tests/integration/attach/,test_loader.py test_ending.py \
  test_go_tls.py::test_each_request_on_a_kept_connection_is_an_rpc_with_its_status_and_call_site \
  test_attach.py::test_a_service_of_another_language_is_explored_while_it_runs test_attach.py::test_the_planted_bug_is_found_in_services_that_run_already_with_the_counts_of_preloaded_ones)
.PHONY: test-bpf-vm
test-bpf-vm: test-deps  ## what attaches runs on Debian's own kernel too, in a virtual machine without hardware support (VM_TESTS; some minutes)
	-$(call install_missing,$(VM_PACKAGES))
	@$(MAKE) --no-print-directory $(SUBJOBS) all test-programs go-corpus
	@$(PYTHON) tests/vm/boot.py --build $(BUILD) env BUILD=$(BUILD) REQUIRE_BPF=1 $(PYTHON) -m pytest -v --color=no -p no:cacheprovider $(VM_TESTS)
