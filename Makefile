# Sledsim's commands. `make` alone lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

VENV ?= .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
CARGO ?= cargo
# Cargo and maturin must use the same interpreter, or PyO3 is compiled twice.
export PYO3_PYTHON := $(abspath $(BIN))/python

# Sources of the extension. A change of a test or of the C interface does not rebuild it.
extension_crates := crates/sledsim $(addprefix crates/sledsim-,disksim nbd plugin python)
rust_sources := Cargo.toml Cargo.lock $(shell find $(extension_crates) -name '*.rs' -o -name '*.toml' -o -name '*.txt')
# Modules declared by the macros `registry!` and `formats!`, which rustfmt does not find by itself.
listed_rust := $(shell grep -rlE '^(registry|format::formats)! \{' crates/sledsim/src | xargs -n1 dirname | sed 's|$$|/*.rs|')
python_code := python papers tests tools examples docs $(wildcard bench)
pip_install := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes

.PHONY: help
help:
	@sed -n 's/^#: //p' $(MAKEFILE_LIST)

#: make run               set up, then show how three generations of MEMS storage serve a random workload
#: make run TRACE=file    the same for a trace of real requests (ARGS="--fit scale" if it exceeds the devices' capacity)
.PHONY: run
run: $(STAMPS)/release
	@$(BIN)/python examples/generations.py $(if $(TRACE),--trace "$(TRACE)") $(ARGS)

#: make test              set up, then the test suite of the core and of the package, at quick sizes (minutes)
#: make test-all          the same at full size: full-size properties, every claim, the site, machines, the wheel
.PHONY: test test-all
# The same random cases on every machine, so that failures can be reproduced.
test test-all: export PROPTEST_RNG_SEED := 1
# With this variable set, each pytest worker would compile the tests again.
test test-all: export PYTHONDONTWRITEBYTECODE :=
test-all: export SLEDSIM_TESTS := all
test: $(STAMPS)/extension $(STAMPS)/dev
	CARGO="$(CARGO)" BIN="$(BIN)" tools/run-tests
test-all: $(STAMPS)/release $(STAMPS)/dev
	CARGO="$(CARGO)" BIN="$(BIN)" tools/run-tests

#: make test-versions     some tests with the lowest versions of the dependencies (OTHER=python3.13 PINS=requirements/dev.txt: with that Python)
.PHONY: test-versions
PINS ?= requirements/lowest.txt
OTHER ?= $(BIN)/python
test-versions: $(STAMPS)/extension $(STAMPS)/dev
	BIN="$(BIN)" tools/test-versions $(PINS) $(OTHER)

#: make fuzz              fuzz all readers for an hour and save failing cases (SECONDS=3600 SEED=1 WORKERS=2)
.PHONY: fuzz
SECONDS ?= 3600
SEED ?= 1
WORKERS ?= 2
fuzz: $(STAMPS)/extension $(STAMPS)/dev
	$(BIN)/python tools/fuzz.py --seconds $(SECONDS) --seed $(SEED) --workers $(WORKERS)

#: make mutants           change a share of the core's operators and results, and list the changes that no test notices (hours)
.PHONY: mutants
# Every 400th change from the one of this number on: MUTANTS=0/1 tries all, which takes weeks.
MUTANTS ?= 0/400
mutants: export PROPTEST_RNG_SEED := 1
mutants: export CARGO_INCREMENTAL := 1
mutants:
	$(CARGO) mutants --shard $(MUTANTS) --sharding round-robin --output out

#: make check             formatting, lints and types of both languages; the stub against the built extension
.PHONY: check check-rust check-python
check: check-rust check-python
check-rust: $(STAMPS)/base
	$(CARGO) fmt --all --check -- bench/baseline.rs $(listed_rust)
	$(CARGO) fmt --manifest-path examples/rust-plugins/Cargo.toml --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
check-python: $(STAMPS)/extension $(STAMPS)/dev
	$(BIN)/ruff check $(python_code)
	$(BIN)/lint-imports
	$(BIN)/ruff format --check $(python_code)
	$(BIN)/mypy $(python_code)
	$(BIN)/python -m mypy.stubtest sledsim._core

#: make bench             speed and memory: the benchmarks of the core, then whole runs (ARGS=--write for docs/reference/validation.md)
.PHONY: bench
bench: $(STAMPS)/release $(STAMPS)/dev
	$(CARGO) bench --locked --package sledsim-testing
	$(BIN)/python bench/run.py $(ARGS)

#: make docs              build the documentation site, with its tutorials run, in out/site (ARGS=--no-claims: no tables of claims)
.PHONY: docs
docs: $(STAMPS)/release $(STAMPS)/dev
	$(BIN)/python tools/site_build.py out/site $(ARGS)

#: make notebooks         build the tutorials as notebooks that run in a browser, in out/site/lite (after `make pyodide`)
.PHONY: notebooks
notebooks: $(STAMPS)/release $(STAMPS)/dev $(STAMPS)/lite
	$(BIN)/python tools/notebooks_build.py out/site/lite

#: make explorer          build the page of `sledsim explore`: the core for WebAssembly, and the page around it (needs Node.js)
.PHONY: explorer
explorer_page := python/sledsim/show/templates/explorer.html
wasm := wasm32-unknown-unknown
# Without the target of rustup, the standard library is built for it: Debian has its source in rust-web-src, beside rustc-web.
explorer: explorer/node_modules
	if [ -d "$$(rustc --print target-libdir --target $(wasm) 2>/dev/null)" ]; then \
		$(CARGO) build --locked --profile page --package sledsim-wasm --target $(wasm); \
	else \
		RUSTC_BOOTSTRAP=1 $(CARGO) build --locked --profile page --package sledsim-wasm \
			--target $(wasm) -Z build-std=std,panic_abort; \
	fi
	cd explorer && npm run --silent check
	node explorer/build.mjs $(or $(CARGO_TARGET_DIR),target)/$(wasm)/page/sledsim_wasm.wasm $(explorer_page)
explorer/node_modules: explorer/package-lock.json
	cd explorer && npm ci --no-audit --no-fund
	@touch $@

#: make machine           assemble the virtual machine of `sledsim machine` from Debian packages in out/machine
.PHONY: machine
# A statically linked program, built as in docs/how-to/serve.md.
static := x86_64-unknown-linux-gnu
machine: $(STAMPS)/release $(STAMPS)/dev
	RUSTFLAGS="-C target-feature=+crt-static" CARGO_TARGET_DIR=target/static $(CARGO) build --locked --release --package sledsim-nbd --target $(static)
	$(BIN)/python tools/machine_build.py --server target/static/$(static)/release/sledsim-nbd

#: make applications      run the programs of claims on virtual machines (after `make machine`; keeps finished runs; an hour)
.PHONY: applications
applications: $(STAMPS)/release $(STAMPS)/dev
	$(BIN)/python papers/tools/applications.py $(ARGS)

#: make repeats           run each program on a machine five times, and compare (after `make machine`; half an hour; ARGS=--small)
.PHONY: repeats
repeats: $(STAMPS)/release $(STAMPS)/dev
	$(BIN)/python tools/machine_repeats.py $(ARGS)

#: make wheel             a wheel for Linux since 2014 (on other systems, for this system) and a source distribution (PGO=no: half the time)
.PHONY: wheel
profdata := $(firstword $(wildcard $(shell rustc --print sysroot 2>/dev/null)/lib/rustlib/*/bin/llvm-profdata))
PGO := $(if $(profdata),yes,no)
profile := $(abspath out/profile)
# On Linux, Zig links with an old C library, so that the wheel runs on old distributions; it names the target, as the profile requires.
host := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
wheel_options := --release --locked --strip --out dist $(if $(filter Linux,$(shell uname)),--zig --compatibility manylinux2014,--target $(host))
wheel: $(STAMPS)/dev
	rm -f dist/sledsim*
	CARGO="$(CARGO)" $(BIN)/python tools/third_party_notices.py THIRD-PARTY-NOTICES.txt
ifeq ($(PGO),yes)
	VIRTUAL_ENV=$(abspath $(VENV)) PYTHON=$(BIN)/python tools/record-profile $(profile)
else
	@echo "make: the wheel is built without profile-guided optimisation (it needs: rustup component add llvm-tools)"
endif
	PATH="$(abspath $(BIN)):$$PATH" VIRTUAL_ENV=$(abspath $(VENV)) $(if $(filter yes,$(PGO)),RUSTFLAGS="-C profile-use=$(profile)/merged.profdata") \
		$(BIN)/maturin build $(wheel_options)
	$(BIN)/maturin sdist --out dist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./papers

#: make pyodide           a wheel for Python in a browser (Pyodide), in dist/; needs `rustup target add wasm32-unknown-emscripten`
.PHONY: pyodide
pyodide: export CARGO_TARGET_WASM32_UNKNOWN_EMSCRIPTEN_LINKER := $(abspath tools/pyodide/link.py)
# The platform of Pyodide 314, whose Python is 3.14 (PEP 783).
pyodide: export MATURIN_PYEMSCRIPTEN_PLATFORM_VERSION := 2026_0
pyodide: $(STAMPS)/dev
	rm -f dist/sledsim-*-pyemscripten_*.whl
	CARGO="$(CARGO)" $(BIN)/python tools/third_party_notices.py THIRD-PARTY-NOTICES.txt
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin build --release --locked --strip --out dist \
		--target wasm32-unknown-emscripten --interpreter python3.14

#: make lib               libsledsim for programs in C and C++: .so, .a, headers, pkg-config, into out/c (PREFIX=folder)
.PHONY: lib
PREFIX ?= out/c
# Tests use the profile `dev`, whose simulator is already built; a release is much faster at run time.
PROFILE ?= release
library := $(or $(CARGO_TARGET_DIR),target)/$(if $(filter release,$(PROFILE)),release,debug)/libsledsim_c
version := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
lib:
	$(CARGO) build --locked --profile $(PROFILE) --package sledsim-c
	mkdir -p "$(PREFIX)/lib/pkgconfig" "$(PREFIX)/include/diskmodel"
	for ending in so dylib a; do \
		[ ! -f $(library).$$ending ] || install -m 755 $(library).$$ending "$(PREFIX)/lib/libsledsim.$$ending"; \
	done
	install -m 644 crates/sledsim-c/include/*.h "$(PREFIX)/include"
	install -m 644 crates/sledsim-c/include/diskmodel/*.h "$(PREFIX)/include/diskmodel"
	sed 's/@VERSION@/$(version)/' crates/sledsim-c/sledsim.pc.in > "$(PREFIX)/lib/pkgconfig/sledsim.pc"

#: make generate          refresh generated files: typed scenarios, the README's outputs and picture
.PHONY: generate
generate: $(STAMPS)/release $(STAMPS)/dev
	$(BIN)/python tools/generate_scenario.py
	$(BIN)/python tools/readme_outputs.py
	$(BIN)/python tools/readme_picture.py docs/images/overview.svg

#: make reproduce         check the papers' claims and write the report (ARGS=--full for the papers' sample sizes)
.PHONY: reproduce
reproduce: $(STAMPS)/release $(STAMPS)/dev
	$(BIN)/sledsim reproduce --report out/report $(ARGS)

#: make claims            check every claim, record the outcomes and refresh docs/papers; needs SLEDSIM_REFERENCE
.PHONY: claims
claims: $(STAMPS)/release $(STAMPS)/dev
	$(BIN)/python papers/tools/claims_page.py

#: make lock              pin the Python packages of pyproject.toml (ARGS=--upgrade for the newest of all)
.PHONY: lock
lock: $(STAMPS)/venv
	tools/lock-requirements $(BIN)/python $(ARGS)

#: make clean             remove everything that the commands above made
.PHONY: clean
clean:
	rm -rf $(VENV) target out dist explorer/node_modules tools/pyodide/node_modules THIRD-PARTY-NOTICES.txt .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/sledsim/_core*.so $(explorer_page)
	find python papers tests tools examples -name __pycache__ -type d -exec rm -rf {} +

# Set-up, in steps that run again only if their inputs have changed.
$(STAMPS)/venv:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "make: Python 3.11 or later is needed; name it with PYTHON=path" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/base: requirements/base.txt $(STAMPS)/venv
	$(pip_install) -r requirements/base.txt
	@touch $@

# The command `sledsim reproduce`, a separate distribution.
$(STAMPS)/papers: papers/pyproject.toml $(STAMPS)/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable papers
	@touch $@

$(STAMPS)/dev: requirements/dev.txt $(STAMPS)/base
	$(pip_install) -r requirements/dev.txt
	@touch $@

$(STAMPS)/lite: requirements/lite.txt $(STAMPS)/base
	$(pip_install) -r requirements/lite.txt
	@touch $@

# The extension as a release build, for everything except tests; or built like the Rust tests, so that the core is compiled once for
# the tests of both languages. Results are the same.
as_in_tests := $(foreach crate,sledsim sledsim-disksim,--config profile.dev.package.$(crate).opt-level=2)
$(STAMPS)/release: $(rust_sources) pyproject.toml $(STAMPS)/papers
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --release --locked
	# If Python must not write bytecode, every command would compile the package again.
	$(BIN)/python -m compileall -q python papers/src
	@touch $(STAMPS)/extension $@

$(STAMPS)/extension: $(rust_sources) pyproject.toml $(STAMPS)/papers
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --locked $(as_in_tests)
	$(BIN)/python -m compileall -q python papers/src
	@rm -f $(STAMPS)/release
	@touch $@
