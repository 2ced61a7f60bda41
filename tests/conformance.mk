# The suites of other projects, with the library and without it. Included by the Makefile.
CONFORMANCE_PACKAGES := libpython3.11-testsuite libevent-dev libssl-dev cmake dpkg-dev zlib1g-dev
CONFORMANCE := $(BUILD)/conformance
.PHONY: conformance conformance-histories
conformance: test-deps  ## the suites of CPython (ssl, asyncio, http) and libevent end in the same way in a session as without it (20 minutes)
	$(call install_missing,$(CONFORMANCE_PACKAGES))
	@$(MAKE) --no-print-directory $(SUBJOBS) all $(CONFORMANCE)/libevent/build/bin/regress
	BUILD=$(BUILD) $(PYTHON) tests/conformance/conformance.py $(SUITES)
	@$(MAKE) --no-print-directory conformance-histories
# Their data stay where the user has them: PORCUPINE and KNOSSOS are folders.
conformance-histories: $(BUILD)/bin/filibuster  ## the histories of Porcupine (PORCUPINE=DIR) and Knossos (KNOSSOS=DIR) have the verdicts that these give them
	BUILD=$(BUILD) $(PYTHON) tests/conformance/histories.py $(if $(PORCUPINE),--porcupine "$(abspath $(PORCUPINE))") $(if $(KNOSSOS),--knossos "$(abspath $(KNOSSOS))")
# The source package of the version that is installed, by lists of sources of our own. The system's lists stay as they are.
$(CONFORMANCE)/sources:
	@mkdir -p $@
	@for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do \
	  [ ! -f $$f ] || sed -n -E 's/^deb( |\t)/deb-src\1/p' $$f > $@/$$(basename $$f .list).list; done
	@for f in /etc/apt/sources.list.d/*.sources; do \
	  [ ! -f $$f ] || sed -E 's/^Types:.*/Types: deb-src/' $$f > $@/$$(basename $$f); done
$(CONFORMANCE)/libevent/build/bin/regress: $(CONFORMANCE)/sources
	@rm -rf $(@D) $(CONFORMANCE)/libevent && mkdir -p $(CONFORMANCE)/libevent $(CONFORMANCE)/lists/partial
	cd $(CONFORMANCE)/libevent && set -- -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$(abspath $<)" -o "Dir::State::lists=$(abspath $(CONFORMANCE)/lists)" && \
	  apt-get "$$@" update > apt.log 2>&1 && apt-get "$$@" source libevent >> apt.log 2>&1 || { tail -5 apt.log >&2; exit 1; }
	cd $(CONFORMANCE)/libevent && cmake -S libevent-*/ -B build -DCMAKE_BUILD_TYPE=Release -DEVENT__DISABLE_MBEDTLS=ON \
	  -DEVENT__LIBRARY_TYPE=STATIC -DEVENT__DISABLE_SAMPLES=ON -DEVENT__DISABLE_BENCHMARK=ON > cmake.log 2>&1 && \
	  cmake --build build -j$(JOBS) --target regress >> cmake.log 2>&1 || { tail -20 cmake.log >&2; exit 1; }
