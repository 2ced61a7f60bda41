# Attacks, at their full length; a short form of each is in `make test`. TORTURE=1 says how much more. Included by the Makefile.
TORTURE_TESTS := tests/integration/torture tests/integration/preload/test_small_limits.py tests/integration/test_hostile_peers.py tests/integration/http2/test_bad_http2.py \
  tests/integration/http2/test_floods.py tests/integration/http2/test_killed_relay.py tests/integration/preload/test_bytes.py
.PHONY: torture
torture: test-deps  ## kill -9 of the daemon, other users, sent counterexamples, forged fields, 100,000 connections, small limits, forks, descriptors that change hands, hostile peers, floods, garbage on the agents' socket and in rings: many more of each
	@$(MAKE) --no-print-directory $(SUBJOBS) all test-programs $(BUILD)/tests/unit_agents
	TORTURE=1 $(BUILD)/tests/unit_agents --gtest_brief=1 --gtest_filter='Garbage*'
	TORTURE=1 BUILD=$(BUILD) $(PYTHON) -m pytest -q -p no:cacheprovider --whole $(TORTURE_TESTS)
