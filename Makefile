# stackproof.provision and stackproof.lab: type make alone for what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test molecule soak soak-part fuzz newcomers alerts faults faults-ovn faults-devstack bench recordings strangers check oldest without-lab lab lab-status \
  lab-cache lab-stop lab-destroy devstack devstack-status devstack-stop devstack-destroy test-ovn soak-ovn ovn-destroy soak-release release-destroy test-beside test-devstack soak-devstack \
  lint types docs docs-lint sanity sanity-2.19 unit unit-2.19 matrix browser importer clean

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
# check, for the documentation site, and for programs of others
OLD := $(CURDIR)/.venv-2.19
IMPORTER := $(CURDIR)/.venv-importer
SITE := $(CURDIR)/.venv-docs
STRANGERS := $(CURDIR)/.venv-strangers
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
PLAY := env PATH="$(BIN):$$PATH" ansible-playbook
# The SDK and its dependencies print many warnings for their own developers.
export PROMETHEUS_PROGRAMS := $(CURDIR)/.cache/prometheus/usr/bin
pytest-on = mkdir -p $(CURDIR)/.cache && env PATH="$(BIN):$$PATH" pytest --basetemp=$(CURDIR)/.cache/tests-on-$(1) \
  --durations=15 -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning $(2)
ON_LAB := $(call pytest-on,lab,tests/lab)
ON_OVN := $(call pytest-on,ovn,$(addprefix tests/lab/test_,ovn.py services.py sudo.py))
ON_DEVSTACK := $(call pytest-on,devstack,tests/devstack)
# The lab stays, whatever the environment says. By default Molecule would share the folder of its state with other
# clones, and here a lab and a devstack may be tested at the same time.
molecule-on = env PATH="$(BIN):$$PATH" LAB_DESTROY= MOLECULE_EPHEMERAL_DIRECTORY=$(CURDIR)/.cache/molecule/state-$(1) \
  molecule test --no-command-borders
ON_LAB_MOLECULE := $(call molecule-on,lab) --scenario-name
# A folder of devstack's repositories that lies beside this clone need not be named.
export DEVSTACK_SOURCES ?= $(abspath $(wildcard ../shared/devstack))
# Two commands that change a lab at the same time would disturb each other.
define alone
	@mkdir -p -m 0700 $(LAB_DIRECTORY)
	@flock --close --nonblock --conflict-exit-code 9 $(LAB_DIRECTORY)/lock $(1) || { status=$$?; \
	  [ $$status != 9 ] || echo "Another command works on the lab $(LAB_NAME): wait until it ends." >&2; exit $$status; }
endef

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

demo: export OS_CLIENT_CONFIG_FILE := $(LAB_DIRECTORY)/clouds.yaml
demo: lab ## From nothing to a verdict: builds the lab, and verifies it
	$(PLAY) -i $(LAB_DIRECTORY)/inventory.yml stackproof.provision.verify -e stackproof_cloud=lab -e stackproof_runs=$(CURDIR)/runs \
	  -e stackproof_floating_ip=true -e stackproof_tcp_port=80

lab: export STACKPROOF_TIMINGS := $(LAB_DIRECTORY)/timings.json
lab: $(VENV)/ready ## Build the lab, or start it, or do nothing if it runs
	$(call alone,$(PLAY) stackproof.lab.up)

lab-status: $(VENV)/ready ## Say whether each service on each host is well
	@$(PLAY) stackproof.lab.status

lab-stop: $(VENV)/ready ## Stop the lab; the next make lab finds everything as it was
	$(call alone,$(PLAY) stackproof.lab.stop)

lab-destroy: $(VENV)/ready ## Remove the lab and all that it holds, except the cached root file system
	$(call alone,$(PLAY) stackproof.lab.destroy)

lab-cache: $(VENV)/ready ## List the root file systems that labs have cached on this machine; LAB_PRUNE=yes removes what none needs
	@$(PLAY) stackproof.lab.cache

OF_DEVSTACK := devstack devstack-status devstack-stop devstack-destroy test-devstack soak-devstack faults-devstack
$(OF_DEVSTACK): export LAB_NAME := devstack
$(OF_DEVSTACK): export LAB_DIRECTORY := $(CURDIR)/.lab-devstack
# A devstack that is there keeps its variant.
$(OF_DEVSTACK): export LAB_TOPOLOGY = $(or $(addprefix devstack-,$(DEVSTACK_VARIANT)),$(file < .lab-devstack/topology),devstack)
devstack: $(VENV)/ready ## Build a devstack beside the lab, or start it, or do nothing if it runs: DEVSTACK_SOURCES=folder of git bundles
	$(call alone,$(PLAY) stackproof.lab.devstack)

devstack-status: $(VENV)/ready ## Say whether the devstack is well
	@$(PLAY) stackproof.lab.status

devstack-stop: $(VENV)/ready ## Stop the devstack; the next make devstack finds everything as it was
	$(call alone,$(PLAY) stackproof.lab.stop)

devstack-destroy: $(VENV)/ready ## Remove the devstack, except its cached root file system, repositories and wheels
	$(call alone,$(PLAY) stackproof.lab.destroy)

BESIDE := $(CURDIR)/.cache/test-beside.log
test: without-lab browser alerts lab ## All tests except those of soak and matrix, on a lab that is built first and stays
	@mkdir -p $(CURDIR)/.cache; echo "The tests of test-beside run at the same time; see $(BESIDE)"; \
	  $(MAKE) --no-print-directory test-beside > $(BESIDE) 2>&1 & beside=$$!; \
	  trap 'kill $$beside; wait $$beside' INT TERM; \
	  status=0; { $(ON_LAB) -m "not soak" && $(ON_LAB_MOLECULE) default; } || status=$$?; \
	  wait $$beside || status=$$?; cat $(BESIDE); exit $$status

test-beside: ## The tests on a lab with OVN and on a devstack, which are removed afterwards
	$(MAKE) --no-print-directory test-ovn
	$(MAKE) --no-print-directory ovn-destroy
	@if [ -n "$(DEVSTACK_SOURCES)" ]; then $(MAKE) --no-print-directory test-devstack && \
	  $(MAKE) --no-print-directory devstack-destroy; else \
	  echo "The tests on a devstack were left out: DEVSTACK_SOURCES names no folder of its repositories."; fi

OF_OVN := test-ovn soak-ovn faults-ovn ovn-destroy
$(OF_OVN): export LAB_NETWORK := ovn
$(OF_OVN): export LAB_DIRECTORY := $(CURDIR)/.lab-ovn
$(OF_OVN): export LAB_NAME := $(LAB_NAME)ovn
test-ovn: ## The tests of what differs with OVN, on a lab of their own that is built first and stays
	$(MAKE) --no-print-directory lab
	$(ON_OVN) -m "not soak"

soak-ovn: ## Ten runs in a row on a lab with OVN, the faults of OVN's parts, and a slice of the catalogue
	$(MAKE) --no-print-directory lab
	$(call pytest-on,ovn,tests/lab/test_ovn.py tests/lab/test_ovn_faults.py) -m soak --capture=no
	$(run-faults)

ovn-destroy: ## Remove the lab with OVN that test-ovn and soak-ovn leave
	$(MAKE) --no-print-directory lab-destroy

OF_RELEASE := soak-release release-destroy
$(OF_RELEASE): export LAB_RELEASE := 2022.2
$(OF_RELEASE): export LAB_DIRECTORY := $(CURDIR)/.lab-release
$(OF_RELEASE): export LAB_NAME := $(LAB_NAME)zed
soak-release: ## The services and the flow on a lab of an older release, which is built first and removed at the end
	$(MAKE) --no-print-directory lab
	$(call pytest-on,release,tests/lab/test_services.py tests/lab/test_flow.py) -m "not soak"
	$(MAKE) --no-print-directory lab-destroy

release-destroy: ## Remove the lab that soak-release leaves where it has failed
	$(MAKE) --no-print-directory lab-destroy

test-devstack: devstack ## The tests on a devstack, which is built first and stays; a part of make test where it has sources
	$(ON_DEVSTACK) -m "not soak"
	$(call molecule-on,devstack) --scenario-name devstack

soak-devstack: ## Each variant of the devstack built, tested and removed; ten runs in a row and the faults on the first
	$(MAKE) test-devstack
	$(ON_DEVSTACK) -m soak --capture=no
	$(MAKE) faults-devstack
	$(MAKE) devstack-destroy
	$(MAKE) test-devstack DEVSTACK_VARIANT=ceph
	$(MAKE) devstack-destroy
	$(MAKE) test-devstack DEVSTACK_VARIANT=ovs
	$(MAKE) devstack-destroy

molecule: lab ## The scenarios of Molecule, on the lab
	$(ON_LAB_MOLECULE) default
	$(ON_LAB_MOLECULE) variants

soak: $(VENV)/ready ## All that takes long or is repeated often, in parts, where it was broken off: SOAK="fuzz bench" for some
	$(BIN)/python tools/soak.py docs/measured.md $(SOAK)

soak-part: lab $(PROMETHEUS_PROGRAMS)/promtool
	$(call pytest-on,lab,tests/lab/$(PART)) -m soak --capture=no

fuzz: $(VENV)/ready ## Hostile input, made by chance: FUZZ_SEED=1 for others, FUZZ_SECONDS=3600 for longer
	$(BIN)/pytest tests/fuzz

newcomers: $(VENV)/ready ## The commonest mistakes of a newcomer: each is named in one line, and leaves nothing behind
	$(BIN)/pytest tests/newcomers

# A slice of one half of the catalogue, in the order that a seed gives it
export FAULTS ?= 1:0-10
export HALF ?= open
RECORDS = $(CURDIR)/.cache/catalogue/$(LAB_NAME)-$(HALF)
CATALOGUE := env PATH="$(BIN):$$PATH" \
  PYTHONPATH=$(VENV)/collections:tests:tests/lab:tests/devstack:tests/catalogue python -W ignore
define run-faults
	$(CATALOGUE) tests/catalogue/catalogue_runs.py $(RECORDS) $(HALF) $(FAULTS)
	$(CATALOGUE) tests/catalogue/catalogue_table.py $(RECORDS)
endef
faults: lab ## A slice of the catalogue of faults (FAULTS=seed:from-to HALF=open), where it was broken off, and its table
	$(run-faults)

faults-ovn: ## The same on a lab with OVN, which is built first and stays
	$(MAKE) --no-print-directory lab
	$(run-faults)

faults-devstack: devstack ## The same on a devstack, which is built first and stays
	$(run-faults)

strangers: export OS_CLIENT_CONFIG_FILE := $(LAB_DIRECTORY)/clouds.yaml
strangers: lab $(STRANGERS)/ready ## What users of the lab bring: the openstack client, openstack.cloud, Rally, Tempest; SUITES="client rally" for some
	PATH="$(STRANGERS)/bin:$$PATH" $(STRANGERS)/bin/python tests/strangers/strangers.py $(CURDIR)/.cache/strangers-$(LAB_NAME) $(SUITES)

BENCH := env PATH="$(BIN):$$PATH" PYTHONPATH=$(VENV)/collections:tests python tests/bench
bench: export OS_CLIENT_CONFIG_FILE := $(LAB_DIRECTORY)/clouds.yaml
bench: lab ## How much longer verify takes than a bare script, its own time, and what log lines, recording, sweeps and history cost
	$(BENCH)/pairs.py lab
	$(BENCH)/own_time.py lab
	$(BENCH)/log_lines.py
	$(BENCH)/firehose.py lab $(LAB_DIRECTORY)/inventory.yml controller1 10
	$(BENCH)/sweep.py
	$(BENCH)/slices.py
	$(BENCH)/history.py tests/recorded/removed/run.json
	$(BENCH)/merge.py tests/recorded/runs/20261121-065105-bdb5f5/run.json

recordings: lab ## Make the recorded evidence of the unit tests anew: PART=hosts for a part, RECORDINGS=folder
	PATH="$(BIN):$$PATH" PYTHONPATH=tests:tests/lab:tools:$(VENV)/collections $(BIN)/python -W ignore -m recorder \
	  $(or $(RECORDINGS),tests/recorded) $(PART)

CHECK := unit sanity importer lint types docs-lint
OLDEST := unit-2.19 sanity-2.19
side-by-side = @$(MAKE) --no-print-directory --jobs=3 --output-sync --keep-going
check: ## The fast part of the tests, without a lab
	$(side-by-side) $(CHECK)

oldest: ## The unit and sanity tests with the oldest ansible-core and Python
	$(side-by-side) $(OLDEST)

# The longest ones begin first.
without-lab: ## All that make test does without a lab, but for what installs packages
	$(side-by-side) unit sanity-2.19 $(CHECK) $(OLDEST) docs fuzz newcomers

lint: $(VENV)/ready ## Style of the code, and Ansible's rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(BIN):$$PATH" $(BIN)/ansible-lint --offline

types: $(VENV)/ready ## Types of the code, where it has them
	$(BIN)/mypy --package ansible_collections.stackproof.provision.plugins --package ansible_collections.stackproof.lab.plugins
	$(BIN)/mypy --scripts-are-modules tools/*.py tools/ansible-test tools/check-tarball tools/flow-pages tools/variables-page tests/guard.py

docs-lint: $(VENV)/ready ## Documentation of the plugins and roles
	PATH="$(BIN):$$PATH" antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self .
	PATH="$(BIN):$$PATH" antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self lab

docs: $(SITE)/ready ## The documentation site, in .cache/docs; a link that leads nowhere fails it
	tools/docs-site $(SITE) $(CURDIR)/.cache/docs

sanity: $(VENV)/ready ## Sanity tests of the newest ansible-core, of all but our own tests
	$(BIN)/python tools/ansible-test sanity --without-tests

sanity-2.19: $(OLD)/ready ## Sanity tests of the oldest ansible-core, of all files
	$(OLD)/bin/python tools/ansible-test sanity

unit: $(VENV)/ready ## Unit tests with the newest ansible-core
	$(BIN)/pytest tests/unit

# Of the unit tests those that meet Ansible itself; make matrix runs all of them.
unit-2.19: $(OLD)/ready ## Unit tests of playbooks and plugins with the oldest ansible-core
	$(OLD)/bin/pytest tests/unit/playbooks tests/unit/plugins tests/unit/test_routing.py --ignore=tests/unit/plugins/module_utils

matrix: ## Unit tests with each supported ansible-core, Python and SDK
	tools/matrix $(CURDIR)/.cache/matrix

browser: $(VENV)/ready ## The page in a real browser, and the diagrams by Mermaid's own parser
	@missing=$$(for program in chromium npm; do command -v $$program >/dev/null || echo $$program; done); [ -z "$$missing" ] || \
	  { $(SUDO) apt-get --quiet update && $(SUDO) apt-get --quiet --yes install $$missing; }
	$(BIN)/pytest tests/browser

$(PROMETHEUS_PROGRAMS)/promtool: PACKAGES := prometheus prometheus-node-exporter
$(PROMETHEUS_PROGRAMS)/promtool:
	@mkdir -p $(CURDIR)/.cache/prometheus
	cd $(CURDIR)/.cache/prometheus && { apt-get --quiet download $(PACKAGES) || \
	  { $(SUDO) apt-get --quiet update && apt-get --quiet download $(PACKAGES); }; }
	cd $(CURDIR)/.cache/prometheus && for package in *.deb; do dpkg --extract $$package . || exit; done

alerts: $(VENV)/ready $(PROMETHEUS_PROGRAMS)/promtool ## The alerts of the canary, by a real Prometheus and node_exporter (not installed)
	$(BIN)/pytest tests/alerts

importer: $(IMPORTER)/ready ## The tarballs: their content, Galaxy's own check, and whether they work when installed
	$(IMPORTER)/bin/python tools/check-tarball

clean: ## Remove all that was made here, except a lab and the records of runs
	rm -rf $(foreach venv,$(VENV) $(OLD) $(IMPORTER) $(SITE) $(STRANGERS),$(venv) $(venv).lock) .cache .pytest_cache .ruff_cache .ansible
