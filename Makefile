# SPDX-License-Identifier: Apache-2.0
# The words people type; CMake does the work.

JOBS ?= $(shell nproc)
SECONDS ?= 30
PREFIX ?= /usr/local
CLUSTER ?= 1

.DEFAULT_GOAL := build
.PHONY: build demo test soak cluster-up cluster-down lint fuzz bench install clean

# $(call built,PRESET)
built = cmake --preset $(1) && cmake --build --preset $(1) -j $(JOBS)

# Release binary: build/release/aicr-run
build:
	@spec/support/need_packages build
	$(call built,release)

# The deployment phase of the GKE TCPXO suite on two recorded clusters
demo: build
	@spec/support/demo build/release/aicr-run

# All tests, with sanitizers and warnings as errors; CLUSTER=0 leaves out those
# that need the test cluster
ifeq ($(CLUSTER),0)
test:
	@spec/support/need_packages test
	$(call built,asan)
	@spec/support/run_tests build/asan --without cluster -j $(JOBS)
else
test:
	@spec/support/need_packages test cluster
	$(call built,asan)
	-@spec/cluster/build
	@spec/support/run_tests build/asan -j $(JOBS)
endif

# What the tests take a sample of, whole, and what disturbs the cluster for long
soak:
	@spec/support/need_packages test cluster
	$(call built,asan)
	@spec/cluster/up
	@AICR_SOAK=1 spec/support/busted build/asan \
	  spec/cluster/training_interrupt_spec.lua \
	  spec/cluster/nccl_interrupt_spec.lua \
	  spec/cluster/training_signal_spec.lua \
	  spec/check/recorded_loss_spec.lua

# The test cluster, for people
cluster-up:
	@spec/support/need_packages cluster
	@spec/cluster/up

cluster-down:
	@spec/cluster/down

# House rules, clang-tidy, luacheck
lint:
	@spec/support/need_packages test
	cmake --preset asan
	@spec/lint build/asan

# Every fuzz target for SECONDS seconds
fuzz:
	@spec/support/need_packages fuzz
	$(call built,fuzz)
	@spec/support/fuzz build/fuzz $(SECONDS)

# Ratios and numbers beside their targets, from a release build
bench:
	@spec/support/need_packages test
	cmake --preset release -DAICR_BENCH=ON
	cmake --build --preset release -j $(JOBS)
	@bench/run build/release

install: build
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

clean:
	rm -rf build
