# What the papers measured, measured again. Included by the Makefile.
REPRODUCE_ROUNDS ?= 100
.PHONY: reproduce-dei
reproduce-dei: test-deps  ## Table 7.1 and the permutation experiment beside the published figures
	@$(MAKE) --no-print-directory -s -j$(JOBS) all corpus
	@BUILD=$(BUILD) $(PYTHON) tests/reproduce/dei.py --rounds $(REPRODUCE_ROUNDS)
$(BUILD)/tests/netflix_search: $(call objects,tests/reproduce/netflix_search.cc) $(BUILD)/lib/libdaemon.a $(BUILD)/lib/libcore.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(DAEMON_LIBS)
.PHONY: reproduce-sfit
reproduce-sfit: test-deps  ## Table 7.2 and the counts with four statuses beside the published figures (about 15 minutes)
	@$(MAKE) --no-print-directory -s -j$(JOBS) all corpus $(BUILD)/tests/netflix_search $(EXPEDIA_COVERAGE) $(NETFLIX_COVERAGE)
	@BUILD=$(BUILD) $(PYTHON) tests/reproduce/sfit.py
.PHONY: reproduce-rainmaker
reproduce-rainmaker: test-deps  ## Tables 5, 7 and 8 of Rainmaker, its coverage metrics and savings beside the published figures (10 to 25 minutes)
	@$(MAKE) --no-print-directory -s -j$(JOBS) all cloud-corpus
	@BUILD=$(BUILD) $(PYTHON) tests/reproduce/rainmaker.py
.PHONY: reproduce-principled
reproduce-principled: test-deps  ## Appendix A of the dissertation, step by step, in JSON, pytest, JUnit and GoogleTest (5 to 10 minutes)
	@$(MAKE) --no-print-directory -s -j$(JOBS) all corpus
	@BUILD=$(BUILD) $(PYTHON) tests/reproduce/principled.py
.PHONY: reproduce-property
reproduce-property: test-deps  ## each seeded bug of the property-based corpus with 20 seeds, and the repaired ones silent under 1,000 programs (30 to 60 minutes; SEEDS=3 PROGRAMS=50)
	@$(MAKE) --no-print-directory -s -j$(JOBS) all corpus
	@BUILD=$(BUILD) $(PYTHON) tests/reproduce/property.py
.PHONY: reproduce-record
reproduce-record: test-deps  ## requests to corpus/tickets recorded and replayed, and what recording costs, beside the published figures (10 to 30 minutes; REQUESTS=1000 ROUNDS=3)
	@$(MAKE) --no-print-directory -s -j$(JOBS) all corpus
	@BUILD=$(BUILD) $(PYTHON) tests/reproduce/record.py
# What a refactoring must not change: what is written about the corpus by another built checkout and by this one. With WITH, what is
# the same in two ways: with these options of 'run' and without them.
.PHONY: same-reports
same-reports: test-deps  ## all documents about the corpus beside those of the checkout BEFORE=FOLDER, which is built, or of WITH=--no-snapshot (15 to 30 minutes; ONLY=cinema-1,desk ALSO='--reduce published')
	@test -n '$(BEFORE)$(WITH)' || { echo "make same-reports BEFORE=FOLDER or WITH=OPTIONS: which built checkout, or which options, are to be compared?" >&2; exit 2; }
	@$(MAKE) --no-print-directory -s -j$(JOBS) all corpus cloud-corpus
	@$(PYTHON) tests/reproduce/same_reports.py $(if $(BEFORE),--before '$(BEFORE)') $(if $(WITH),--with='$(WITH)') $(if $(ONLY),--only '$(ONLY)') $(if $(ALSO),--also='$(ALSO)')
