# Needs Python (3.10 or newer) and make; everything else is installed into .venv.
PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test test-all check lint types golden bench bench-envs bench-peers house dump fuzz same
.SECONDARY:

demo: $(VENV)/installed-plain  ## the gradient of the first Cell, as source and as numbers
	$(RUN) examples/seed_net.py

test: $(VENV)/installed-test  ## tests and doctests
	$(RUN) -m pytest -q

test-all: $(VENV)/installed-test  ## and every program of the corpus at every level
	TEST_ALL=1 $(RUN) -m pytest -q

check: lint types test

lint: $(VENV)/installed-dev
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

types: $(VENV)/installed-dev
	$(RUN) -m mypy

golden: $(VENV)/installed-test  ## writes the expected texts anew; read the diff
	REWRITE_GOLDEN=1 $(RUN) -m pytest -q tests/golden tests/errors tests/test_shown_examples.py

bench: $(VENV)/installed-plain  ## ours beside gradients written by hand
	$(RUN) -m benchmarks

bench-envs: $(RUN)  ## an environment for each system that is measured beside ours
	$(RUN) -m benchmarks.peers.environments

bench-peers: $(VENV)/installed-bench bench-envs  ## all of them, in turn: writes benchmarks/results
	$(RUN) -m benchmarks.peers --write

house: $(VENV)/installed-test  ## floors, sizes, documentation
	$(RUN) -m pytest -q tests/house

same: $(VENV)/installed-test  ## make same [FILE=digests.txt]: a digest of every generated text
	$(RUN) -W ignore -m tests.same $(FILE)

fuzz: $(VENV)/installed-test  ## make fuzz N=1000 [SEED=0] [KIND=arrays]: random programs against plain Python
	$(RUN) -m tests.fuzz $(or $(N),200) $(or $(SEED),0) $(KIND)

dump: $(VENV)/installed-plain  ## make dump CELL=model.py:Net
	@test -n "$(CELL)" || { echo "say which: make dump CELL=model.py:Net" >&2; exit 2; }
	$(VENV)/bin/autodiff-compiler dump $(CELL)

$(RUN):
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of packages: plain, test, dev, bench.
$(VENV)/installed-%: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.$(if $(filter plain,$*),,[$*])'
	touch $@
