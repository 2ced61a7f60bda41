# What the papers measured, measured again. Included by the Makefile.
REPRODUCE_ROUNDS ?= 100
.PHONY: reproduce-dei
reproduce-dei: test-deps  ## Table 7.1 and the permutation experiment beside the published figures
	@$(MAKE) --no-print-directory -s -j$(JOBS) all corpus
	@BUILD=$(BUILD) $(PYTHON) tests/reproduce/dei.py --rounds $(REPRODUCE_ROUNDS)
