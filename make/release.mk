# What a release has (packaging/). Included by the Makefile.
RELEASE       := $(BUILD)/release
# The suite of Debian that the container image begins with.
IMAGE_SUITE   ?= $(shell . /etc/os-release && echo $$VERSION_CODENAME)
RELEASE_PACKAGES := dpkg-dev mmdebstrap

# For the tarball (packaging/tarball.sh): static, since the host's libraries are not those of the build.
STATIC        := $(BUILD)/static
$(STATIC)/launcher: packaging/launcher.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -Os -Wall -Wextra -Werror -static -o $@ $<
$(STATIC)/filibuster-bpf: $(BPF_LOADER)
	@mkdir -p $(@D)
	$(LINK) -static -o $@ $(call objects,$(BPF_SRC)) $(BUILD)/lib/libcore.a $(BPF_LIBS)
STATIC_PROGRAMS := $(STATIC)/launcher $(if $(BPF_MISSING),,$(STATIC)/filibuster-bpf)
test-programs: $(STATIC)/launcher

.PHONY: release release-deps release-test
release-deps:
	@mkdir -p $(BUILD)
	-$(call install_missing,$(RELEASE_PACKAGES))
release: all release-deps $(STATIC_PROGRAMS)  ## all that a release has, in build/release: packages, tarball, container image, checksums
	@rm -rf $(RELEASE) && mkdir -p $(RELEASE)
	@BUILD=$(BUILD) packaging/deb.sh $(RELEASE)
	@BUILD=$(BUILD) packaging/tarball.sh $(RELEASE)
	@packaging/image.sh $(RELEASE) $(IMAGE_SUITE)
	@cd $(RELEASE) && sha256sum -- * > SHA256SUMS && cat SHA256SUMS
release-test: all release-deps $(STATIC_PROGRAMS)  ## the tarball in roots of other distributions (RELEASE_ROOTS; some minutes, as root)
	@$(PYTHON) tests/release/roots.py --build $(BUILD) $(RELEASE_ROOTS)
