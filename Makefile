# SPDX-License-Identifier: MIT
# The front door. Everything real is in CMake, tests/run and lab/; `make help` lists what there is.
# On a fresh Debian 12, as root, any of these may be the first command.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
PYTHON := /usr/bin/python3

.PHONY: build test live-long demo bench asan tsan tidy format fuzz clean help dependencies build-dependencies
.DEFAULT_GOAL := build

build: build/release/build.ninja  ## compile: the program is build/release/fairlead
	@cmake --build --preset release -j $(JOBS)

test: dependencies  ## everything that must hold; STAGES="unit house" for a part, STAGES=all with asan, tsan, tidy
	@$(PYTHON) tests/run $(STAGES)

live-long: dependencies build  ## tests/live with 100 MB each way and 50,000 connections at once
	@LONG=1 $(PYTHON) -m pytest -q -p no:cacheprovider tests/live

demo: dependencies build  ## the main job, live, in network namespaces; ENGINE=xdp|user, HOLD=1 keeps it up
	@ENGINE="$(ENGINE)" HOLD="$(HOLD)" lab/demo

bench: build  ## every benchmark as one table, on a machine that does nothing else
	@bench/run

asan: dependencies  ## unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(PYTHON) tests/run asan

tsan: dependencies  ## unit tests under ThreadSanitizer
	@$(PYTHON) tests/run tsan

tidy: dependencies  ## compile with clang-19, and clang-tidy over src/
	@$(PYTHON) tests/run tidy

format: build-dependencies  ## lay out the source with clang-format-19
	@git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' | xargs clang-format-19 -i

TIME ?= 60
fuzz: build/fuzz/build.ninja  ## every fuzzer for TIME seconds (default 60), from the seeds beside its source
	@cmake --build --preset fuzz -j $(JOBS)
	@for fuzzer in build/fuzz/fuzz/*; do \
	  name=$${fuzzer##*/}; found=build/fuzz/corpus/$$name; mkdir -p $$found; echo "fuzzing: $$name"; \
	  find src -name "$${name}_seeds.py" -exec $(PYTHON) {} $$found \; || exit; \
	  $$fuzzer -max_total_time=$(TIME) -verbosity=0 -print_funcs=0 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/$$name- $$found $$(find src -type d -path "*/corpus/$$name") || exit; \
	done

clean:  ## remove build/
	@rm -rf build

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

build/%/build.ninja: | build-dependencies
	@cmake --preset $*

dependencies:
	@packaging/install-dependencies.sh

build-dependencies:
	@packaging/install-dependencies.sh build
