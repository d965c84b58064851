# stackproof.provision: type make alone for what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test check lab lab-status lab-stop lab-destroy unit lint clean

# The lab's name gives its hosts, wires and addresses theirs; two labs with two names do not meet.
export LAB_NAME ?= lab
export LAB_DIRECTORY ?= $(CURDIR)/.lab$(if $(filter-out lab,$(LAB_NAME)),-$(LAB_NAME))
export LAB_TOPOLOGY ?= five
export LAB_PREFIX ?=
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
PLAY := env PATH="$(BIN):$$PATH" ansible-playbook
# Two commands that change one lab at a time would work against each other.
define alone
	@mkdir -p -m 0700 $(LAB_DIRECTORY)
	@flock --close --nonblock --conflict-exit-code 9 $(LAB_DIRECTORY)/lock $(1) || { status=$$?; \
	  [ $$status != 9 ] || echo "Another command works on the lab $(LAB_NAME): wait until it ends." >&2; exit $$status; }
endef

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/ready: pyproject.toml tools/make-venv
	tools/make-venv $(VENV)

demo: lab ## From nothing to a booted instance: lab, boot, and what was seen
	$(BIN)/python tools/demo $(LAB_DIRECTORY)/clouds.yaml

lab: export STACKPROOF_TIMINGS := $(LAB_DIRECTORY)/timings.json
lab: $(VENV)/ready ## Build the lab, or start it, or find that there is nothing to do
	$(call alone,$(PLAY) stackproof.provision.lab)

lab-status: $(VENV)/ready ## Say whether each service on each host is well
	@$(PLAY) stackproof.provision.lab_status

lab-stop: $(VENV)/ready ## Stop the lab; the next make lab finds everything as it was
	$(call alone,$(PLAY) stackproof.provision.lab_stop)

lab-destroy: $(VENV)/ready ## Remove the lab and all it holds, but for the download cache
	$(call alone,$(PLAY) stackproof.provision.lab_destroy)

test: check lab ## Every test, on a lab that is built first
	PATH="$(BIN):$$PATH" pytest tests/lab -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

check: lint unit ## The fast part of the tests, without a lab

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(BIN):$$PATH" $(BIN)/ansible-lint --offline

unit: $(VENV)/ready
	$(BIN)/pytest tests/unit

clean: ## Remove what was made here, except a lab
	rm -rf $(VENV) .pytest_cache .ruff_cache .ansible
