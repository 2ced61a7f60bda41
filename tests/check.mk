# What a change must pass beside its tests. Included by the Makefile.
CHECK_PACKAGES := clang-14 clang-format-14 clang-tidy-14
# What a branch has changed: since it left main, or by its last commit where it is main.
BASE ?= $(shell tests/check/base.sh)
# Once the whole tree was formatted (the commit that did it stands in that file), all of it stays so.
FORMATTED := $(wildcard .git-blame-ignore-revs)
CXX_FILES := git ls-files '*.cc' '*.h'

.PHONY: check check-deps check-format check-tidy check-alone check-folders check-exports check-clang check-scripts format
check: test-deps check-deps  ## format, clang-tidy on changed files, the folders' includes, the library's exports, clang 14
	@$(MAKE) --no-print-directory $(SUBJOBS) all
	@$(MAKE) --no-print-directory $(SUBJOBS) check-format check-folders check-exports check-scripts check-clang check-tidy check-alone
check-deps: deps
	$(call install_missing,$(CHECK_PACKAGES))

ifneq ($(FORMATTED),)
check-format:
	@$(CXX_FILES) | xargs clang-format-14 --dry-run --Werror || { echo "not formatted: run 'make format'" >&2; exit 1; }
else
check-format:
	@if git clang-format-14 --binary clang-format-14 --extensions cc,h --diff $(BASE) | grep '^[-+@d]' >&2; then \
	  echo "changed lines are not formatted: run 'git clang-format-14 $(BASE)'" >&2; exit 1; fi
endif
format:  ## clang-format everything in place
	$(CXX_FILES) | xargs clang-format-14 -i

check-folders:
	@$(PYTHON) tests/check/include_graph.py --quiet
check-exports: $(BUILD)/lib/libfilibuster.so
	@$(PYTHON) tests/check/exports.py $< tests/check/exports.txt
check-scripts:
	@$(PYTHON) -m pytest -q -p no:cacheprovider tests/check
# What lives in other processes is compiled by both compilers: with clang's warnings, and as the fuzz targets need it.
check-clang:
	@{ $(MAKE) --no-print-directory BUILD=$(BUILD)/clang CXX=clang++-14 CC=clang-14 OPT=-O0 UNITY=off \
	    $(patsubst %.cc,$(BUILD)/clang/obj/%.o,$(CORE_SRC) $(PRELOAD_SRC)) $(LLHTTP_OBJ:$(BUILD)/%=$(BUILD)/clang/%) || echo FAILED; } \
	  | awk '/ -c /{sub(/.* -c /, "  clang "); sub(/ -o .*/, ""); print} /^FAILED$$/{bad = 1} END{exit bad}'
check-tidy: compile_commands.json
	@tests/check/tidy.sh $(BASE) $(JOBS)
# A whole build compiles files of a folder together (make/unity.mk). Each of them compiles by itself, too.
check-alone: compile_commands.json
	@$(PYTHON) tests/check/alone.py $(BASE) $(JOBS)
