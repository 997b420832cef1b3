# Needs Python (3.10 or newer) and make; everything else is installed into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
RUN := $(BIN)/python$(if $(filter Windows_NT,$(OS)),.exe)
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo help setup test test-all check lint types golden bench bench-envs bench-peers architecture dump fuzz same passes-page call-rules-page docs docs-serve
.SECONDARY:

demo: $(VENV)/installed-plain  ## print the gradient of the first Cell, as source and as numbers (the default)
	$(RUN) examples/seed_net.py

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/installed-dev  ## install what development needs, and the hooks of git
	$(BIN)/pre-commit install

test: $(VENV)/installed-test  ## run every test and doctest, of large tables a sample
	TEST_SAMPLE=1 $(RUN) -m pytest -q -n auto

test-all: $(VENV)/installed-test  ## run them with all rows of all tables
	$(RUN) -m pytest -q -n auto

check: lint types test  ## lint, types and tests: what must pass before a change is taken

lint: $(VENV)/installed-dev  ## check style and layout (ruff)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

types: $(VENV)/installed-dev  ## check the type hints (mypy), some packages and a user's program strictly
	$(RUN) -m mypy
	MYPYPATH=tests/typed/stubs $(RUN) -m mypy --strict --config-file= --follow-imports=silent \
		--python-version 3.10 --cache-dir=.mypy_cache/strict -p autodiff_compiler.frontend.syntax \
		-p autodiff_compiler.frontend.abstract -p autodiff_compiler.frontend.core
	MYPYPATH=. $(RUN) -m mypy --strict --config-file= --explicit-package-bases \
		--follow-imports=silent --cache-dir=.mypy_cache/strict tests/typed

golden: $(VENV)/installed-test  ## rewrite the expected texts; read the diff before you commit it
	REWRITE_GOLDEN=1 $(RUN) -m pytest -q tests/golden tests/errors tests/test_shown_examples.py tests/docs

bench: $(VENV)/installed-plain  ## time gradients beside those written by hand
	$(RUN) -m benchmarks

bench-envs: $(RUN)  ## make an environment for each system that bench-peers measures
	$(RUN) -m benchmarks.peers.environments

bench-peers: $(VENV)/installed-bench bench-envs  ## time every system in turn; writes benchmarks/results
	$(RUN) -m benchmarks.peers --write

architecture: $(VENV)/installed-test  ## check the layers, limits and documents of the source
	$(RUN) -m pytest -q tests/architecture
same: $(VENV)/installed-test  ## print one digest of every generated text; FILE=digests.txt lists them
	$(RUN) -W ignore -m tests.same $(FILE)

passes-page: $(VENV)/installed-plain  ## rewrite docs/passes.md from the table of passes
	$(BIN)/autodiff-compiler passes --markdown > docs/passes.md

call-rules-page: $(VENV)/installed-test  ## rewrite docs/call-rules.md from the table of callees
	$(RUN) -m tests.frontend.call_rules_page > docs/call-rules.md

# Without the announcement of another tool, which is printed as a warning.
docs docs-serve: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/installed-docs  ## build the site of the documentation into site/; a warning is an error
	$(RUN) -m mkdocs build --strict

docs-serve: $(VENV)/installed-docs  ## show the site in a browser, and build it again when a page changes
	$(RUN) -m mkdocs serve

fuzz: $(VENV)/installed-test  ## compare random programs with plain Python: N=1000 SEED=0 KIND=arrays
	$(RUN) -m tests.fuzz $(or $(N),200) $(or $(SEED),0) $(KIND)

dump: $(VENV)/installed-plain  ## print a gradient: CELL=model.py:Net
	@test -n "$(CELL)" || { echo "say which: make dump CELL=model.py:Net" >&2; exit 2; }
	$(BIN)/autodiff-compiler dump $(CELL)

$(RUN):
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of packages: plain, test, dev, bench, docs.
$(VENV)/installed-%: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.$(if $(filter plain,$*),,[$*])'
	touch $@
