# The integration tests on a busy machine. Included by the Makefile.
BUSY ?= 12
BUSY_TESTS ?= tests/integration
.PHONY: test-busy
test-busy: test-deps  ## the integration tests with 12 busy loops beside them (BUSY, BUSY_TESTS)
	@$(MAKE) --no-print-directory -j$(JOBS) all corpus test-programs
	BUILD=$(BUILD) $(PYTHON) tests/beside_load.py $(BUSY) $(PYTHON) -m pytest -q -p no:cacheprovider -n $(JOBS) --dist loadfile \
	  -m 'not alone' $(BUSY_TESTS)
	BUILD=$(BUILD) $(PYTHON) tests/beside_load.py $(BUSY) $(PYTHON) -m pytest -q -p no:cacheprovider -m alone $(BUSY_TESTS)
