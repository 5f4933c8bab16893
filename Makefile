# Needs Python 3.11+, GNU make and git; everything else goes into .venv.
#   make lab ARGS="--no-browser --port 9999"    options for JupyterLab (bench and lock take ARGS too)
#   make setup PYTHON=python3.13                another interpreter
#   make test TORCH=no                          without PyTorch: what compares with it is skipped
#   make test TORCH_INDEX=URL                   PyTorch from another index, such as one of CPU builds
#   make test TURN=all                          all of the long tests and notebooks, where each commit runs some of them
#                                               (tests/turn.py): an hour more
#   make test TURN=7                            those of the seventh turn
#   make browser TURN=7                         a sixth of the notebooks in a browser, the seventh sixth in turn
#   make site ADDRESS=https://…                 the repository's address on the pages, where git's remote isn't it
#   make site PAGES=https://…                   where the pages will be read, if not at GitHub's address for them: for previews
#   make kernels ONLY=2                         one of the six runs: 1 Prescott, 2 Haswell, 3 SkylakeX with 1 thread,
#                                               4, 5 and 6 the same with 2 threads

ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
PATHS := ;
else
PYTHON ?= python3
BIN := .venv/bin
PATHS := :
endif
RUN := $(BIN)/python -m
WORKERS ?= 2
TORCH ?= 2.13.0
# The kernels of OpenBLAS, where it would not find the best itself: see the file.
ifndef OPENBLAS_CORETYPE
CORETYPE := $(shell $(PYTHON) minitorch/arrays/openblas.py)
ifneq ($(CORETYPE),)
export OPENBLAS_CORETYPE := $(CORETYPE)
endif
endif
# One more than there are cores, since tests wait for processes that they start. A notebook's kernel is always busy.
PYTEST := $(RUN) pytest -n $(shell expr $(WORKERS) + 1) --dist loadfile

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup lab quick test types built kernels browser packages bench gpu format lock environment frames site release clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1: \2/p' $(MAKEFILE_LIST)

setup: .venv/installed ## the environment, where it is missing or out of date

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make setup PYTHON=...")'
	$(PYTHON) -m venv .venv

# Nothing is left to resolve: the lock is complete, and the build backend is in it too.
.venv/installed: .venv/pyvenv.cfg requirements.lock pyproject.toml
	@echo "Installing the pinned packages into .venv: a few minutes the first time."
	$(RUN) pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(RUN) pip install --quiet --no-deps --no-build-isolation -e .
	$(RUN) course.setup
	@touch $@

lab: export PATH := $(abspath $(BIN))$(PATHS)$(PATH)
lab: setup ## JupyterLab on the welcome notebook
	$(RUN) jupyterlab --LabApp.default_url=/lab/tree/notebooks/00_welcome.ipynb $(ARGS)

quick: setup ## what finds most faults of a change, in a minute: ruff, mypy, the architecture, the tests of what changed
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(PYTEST) $(shell $(BIN)/python tests/of_changes.py)

# One thread each: the same numbers on every machine, and the workers don't fight over the cores.
test: export OMP_NUM_THREADS := 1
test: export OPENBLAS_NUM_THREADS := 1
test: export MKL_NUM_THREADS := 1
test: export VECLIB_MAXIMUM_THREADS := 1
test: export MINITORCH_TURN := $(or $(TURN),$(shell git rev-list --count HEAD 2>/dev/null))
test: setup ## everything that must pass, the fast things first
ifneq ($(TORCH),no)
	$(BIN)/python tests/install_torch.py $(TORCH) $(TORCH_INDEX)
endif
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(MAKE) --no-print-directory --jobs=2 types built
	$(PYTEST)
	$(if $(filter-out all,$(MINITORCH_TURN)),$(RUN) course.authoring.kernels --workers $(WORKERS) --turn $(MINITORCH_TURN),$(PYTEST) --nbval notebooks solutions)
ifeq ($(TORCH),no)
	@echo "TORCH=no: where PyTorch is not installed, nothing was compared with it. The tests above that say so were skipped."
endif

# Each keeps one core busy for more than a minute.
types: setup
	$(RUN) mypy

built: setup
	$(RUN) course build --check --stored

kernels: setup ## the notebooks with kernels of OpenBLAS: Prescott, Haswell, SkylakeX (ONLY=1 to 3), with 2 threads (4 to 6)
	$(RUN) course.authoring.kernels --workers $(WORKERS) $(ONLY)

browser: export MINITORCH_TURN := $(TURN)
browser: setup ## every notebook in a browser (TURN=7: a sixth of them); MINITORCH_SCREENSHOTS=FOLDER keeps what it showed
	$(RUN) pytest tests/course/every_notebook.py

packages: setup ## packages that are built on PyTorch, on minitorch, in an environment of their own (ARGS="--turn 7": a third)
	$(RUN) tests.packages $(ARGS)

bench: setup ## minitorch, PyTorch and plain NumPy at the same work
	$(RUN) benchmarks $(ARGS)

gpu: setup ## on a machine with a GPU: every op and kernel there, and the time of a few steps, into benchmarks/gpu.md
	$(RUN) benchmarks.gpu

format: setup ## let ruff rewrite what it can
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

PIN := $(RUN) uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-strip-extras pyproject.toml

lock: setup ## pin what pyproject.toml asks for (ARGS=--upgrade: the newest versions)
	$(PIN) --extra course --extra dev $(ARGS) -o requirements.lock
	$(PIN) --extra site $(ARGS) -o requirements-site.lock

environment: setup ## write environment.yml, and Binder's, anew from pyproject.toml
	$(RUN) course.authoring.environment --write

# The site has an environment of its own, so that a learner's stays small.
SITE := .venv/site/$(notdir $(BIN))/python -m

.venv/site/installed: requirements-site.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make site PYTHON=...")'
	$(PYTHON) -m venv .venv/site
	@echo "Installing the pinned packages of the site into .venv/site: a minute the first time."
	$(SITE) pip install --quiet --no-deps --require-hashes -r requirements-site.lock
	@touch $@

site: export ADDRESS := $(ADDRESS)
site: export PAGES := $(PAGES)
site: .venv/site/installed ## the course as pages, in dist/site/html; no notebook is run
	$(SITE) course.site dist/site/source
	@rm -rf dist/site/html # or pages would stay whose source is gone
	$(SITE) sphinx -q -W --keep-going -b html dist/site/source dist/site/html
	$(SITE) course.site.check dist/site/html

frames: setup ## what moves on the site: runs the lessons whose sliders or graphs changed (needs npm and Chromium)
	$(RUN) course.site.frames

release: setup ## wheels and sdists of minitorch and of minitorch-course, and the students' archive, into dist/
	$(RUN) course.authoring.distributions dist
	$(BIN)/course release dist/course.zip

clean: ## remove caches; .venv and your answers in my/ stay
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache dist
	find . -name .venv -prune -o -name __pycache__ -exec rm -rf {} +
