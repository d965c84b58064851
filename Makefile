# stackproof.provision and stackproof.lab: type make alone for what there is.
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help help-check help-lab help-measure help-release demo test check lab docs clean

# The names of hosts and wires, and the addresses, follow from the lab's name. So labs with different names do not meet.
export LAB_NAME ?= lab
export LAB_DIRECTORY ?= $(CURDIR)/.lab$(if $(filter-out lab,$(LAB_NAME)),-$(LAB_NAME))
export LAB_TOPOLOGY ?=
export LAB_NETWORK ?=
export LAB_RELEASE ?=
export LAB_PREFIX ?=
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
# Empty is off: where Python may keep nothing, each start of pytest and of Ansible compiles everything again.
export PYTHONDONTWRITEBYTECODE :=

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
# Environments of their own: for the oldest ansible-core and Python that the collection works with, for Galaxy's own
# check, for the documentation site, and for third-party programs
OLD := $(CURDIR)/.venv-2.19
IMPORTER := $(CURDIR)/.venv-importer
SITE := $(CURDIR)/.venv-docs
STRANGERS := $(CURDIR)/.venv-strangers
PLAY := env PATH="$(BIN):$$PATH" ansible-playbook
PROMETHEUS := $(CURDIR)/.cache/prometheus
export PROMETHEUS_PROGRAMS := $(PROMETHEUS)/usr/bin
# The SDK and its dependencies print many warnings for their own developers.
pytest-on = mkdir -p $(CURDIR)/.cache && env PATH="$(BIN):$$PATH" pytest --basetemp=$(CURDIR)/.cache/tests-on-$(1) \
  --durations=15 -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning $(2)
list-targets = @awk -F ':.*\#\# ' '/^[a-z0-9.-]+:.*\#\# / {printf "  make %-17s %s\n", $$1, $$2}'

help:
	@echo "Everyday targets:"
	$(list-targets) Makefile
	@echo "The others: make help-check (single checks), help-lab (labs), help-measure (long tests), help-release (tarballs)"

help-check:
	$(list-targets) tools/check.mk

help-lab:
	$(list-targets) lab/lab.mk

help-measure:
	$(list-targets) tools/measure.mk

help-release:
	$(list-targets) tools/release.mk

demo: export OS_CLIENT_CONFIG_FILE := $(LAB_DIRECTORY)/clouds.yaml
demo: lab ## From nothing to a verdict: build the lab, and verify it
	$(PLAY) -i $(LAB_DIRECTORY)/inventory.yml stackproof.provision.verify -e stackproof_cloud=lab -e stackproof_runs=$(CURDIR)/runs \
	  -e stackproof_floating_ip=true -e stackproof_tcp_port=80

test: without-lab browser alerts lab ## All tests except those of soak and matrix, on a lab that is built first and stays
	tools/test-on-clouds $(CURDIR)/.cache/test-beside.log $(MAKE)

CHECK := unit sanity lint types docs-lint
check: ## The fast part of the tests, without a lab
	$(call side-by-side,2,2) $(CHECK)

lab: export STACKPROOF_TIMINGS := $(LAB_DIRECTORY)/timings.json
lab: $(VENV)/ready ## Build the lab, or start it, or do nothing if it runs
	$(alone) $(PLAY) stackproof.lab.up

docs: $(SITE)/ready ## The documentation site, in .cache/docs; a broken link fails it
	tools/docs-site $(SITE) $(CURDIR)/.cache/docs

clean: ## Remove everything that was built here, except a lab and the records of runs
	rm -rf $(foreach venv,$(VENV) $(OLD) $(IMPORTER) $(SITE) $(STRANGERS),$(venv) $(venv).lock) .cache .pytest_cache .ruff_cache .ansible

include tools/check.mk
include lab/lab.mk
include tools/measure.mk
include tools/release.mk

$(VENV)/ready: pyproject.toml tools/make-venv
	tools/make-venv $(VENV) newest test lint

$(OLD)/ready: pyproject.toml tools/make-venv
	tools/make-venv $(OLD) oldest test 'ansible-core==2.19.*'

$(IMPORTER)/ready: pyproject.toml tools/make-venv
	tools/make-venv $(IMPORTER) newest importer

$(STRANGERS)/ready: pyproject.toml tools/make-venv
	tools/make-venv $(STRANGERS) newest strangers

$(SITE)/ready: pyproject.toml tools/make-venv
	tools/make-venv $(SITE) newest docs
