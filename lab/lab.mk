# Labs and devstacks, and what is tested on them; the Makefile in the folder above includes this file.
.PHONY: lab-status lab-stop lab-destroy lab-cache devstack devstack-status devstack-stop devstack-destroy \
  kolla kolla-status kolla-stop kolla-destroy test-kolla soak-kolla \
  test-on-lab test-ovn ovn-destroy test-devstack test-beside molecule recordings \
  faults faults-list faults-ovn faults-devstack diagnoses diagnoses-ovn soak-ovn soak-devstack soak-release release-destroy

# Two commands that change a lab at the same time would disturb each other.
alone = @tools/alone
# Not what takes long, and none of the faults of other writers, which are run once
SHORT := -m "not soak and not drawn"
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

lab-status: $(VENV)/ready ## Show whether each service on each host is healthy
	@$(PLAY) stackproof.lab.status

lab-stop: $(VENV)/ready ## Stop the lab; the next make lab finds everything as it was
	$(alone) $(PLAY) stackproof.lab.stop

lab-destroy: $(VENV)/ready ## Remove the lab and everything in it, except the cached root file system
	$(alone) $(PLAY) stackproof.lab.destroy

lab-cache: $(VENV)/ready ## List the root file systems that labs have cached on this machine; LAB_PRUNE=yes removes the unused ones
	@$(PLAY) stackproof.lab.cache

OF_DEVSTACK := devstack devstack-status devstack-stop devstack-destroy test-devstack soak-devstack faults-devstack
$(OF_DEVSTACK): export LAB_NAME := devstack
$(OF_DEVSTACK): export LAB_DIRECTORY := $(CURDIR)/.lab-devstack
# A devstack that is there keeps its variant.
$(OF_DEVSTACK): export LAB_TOPOLOGY = $(or $(addprefix devstack-,$(DEVSTACK_VARIANT)),$(file < .lab-devstack/topology),devstack)
devstack: $(VENV)/ready ## Build a devstack beside the lab, or start it, or do nothing if it runs: DEVSTACK_SOURCES=folder of git bundles
	$(alone) $(PLAY) stackproof.lab.devstack

devstack-status: $(VENV)/ready ## Show whether the devstack is healthy
	@$(PLAY) stackproof.lab.status

devstack-stop: $(VENV)/ready ## Stop the devstack; the next make devstack finds everything as it was
	$(alone) $(PLAY) stackproof.lab.stop

devstack-destroy: $(VENV)/ready ## Remove the devstack, except its cached root file system, repositories and wheels
	$(alone) $(PLAY) stackproof.lab.destroy

OF_KOLLA := kolla kolla-status kolla-stop kolla-destroy test-kolla soak-kolla
$(OF_KOLLA): export LAB_NAME := kolla
$(OF_KOLLA): export LAB_DIRECTORY := $(CURDIR)/.lab-kolla
# A cloud that is there keeps its hosts, its Ceph and its back end.
KOLLA_TOPOLOGY = kolla$(if $(filter yes,$(KOLLA_CEPH)),-ceph)$(if $(filter 2,$(KOLLA_HOSTS)),-two)
$(OF_KOLLA): export LAB_TOPOLOGY := $(if $(KOLLA_CEPH)$(KOLLA_HOSTS),$(KOLLA_TOPOLOGY),$(or $(file < .lab-kolla/topology),kolla))
$(OF_KOLLA): export LAB_NETWORK := $(KOLLA_NETWORK)
# The bundles of a devstack have what is needed.
export KOLLA_SOURCES ?= $(DEVSTACK_SOURCES)
kolla: $(VENV)/ready ## Deploy a cloud with kolla-ansible, or start it, or do nothing if it runs: KOLLA_NETWORK=ovs|ovn, KOLLA_HOSTS=1|2, KOLLA_CEPH=yes, KOLLA_ENGINE=docker|podman, KOLLA_SOURCES=folder
	$(alone) $(PLAY) stackproof.lab.kolla

kolla-status: $(VENV)/ready ## Show whether the cloud of kolla is healthy
	@$(PLAY) stackproof.lab.status

kolla-stop: $(VENV)/ready ## Stop the cloud of kolla; the next make kolla finds everything as it was
	$(alone) $(PLAY) stackproof.lab.stop

kolla-destroy: $(VENV)/ready ## Remove the cloud of kolla, except its cached root file systems and sources
	$(alone) $(PLAY) stackproof.lab.destroy

test-kolla: kolla ## The tests on a cloud of kolla, which is built first and stays
	$(call pytest-on,kolla,tests/kolla) $(SHORT)

soak-kolla: ## A cloud of kolla built, tested, broken and removed
	$(MAKE) test-kolla
	$(call pytest-on,kolla,tests/kolla) -m soak --capture=no
	$(MAKE) kolla-destroy

test-on-lab: ## The tests on a lab that runs, and Molecule's scenario default
	$(ON_LAB) $(SHORT)
	$(ON_LAB_MOLECULE) default

# A devstack takes a slow machine half an hour to build: make soak-devstack tests on it.
test-beside: ## The tests on a lab with OVN, which is removed afterwards, and then those that run long without a lab
	$(MAKE) test-ovn
	$(MAKE) ovn-destroy
	$(MAKE) fuzz newcomers

OF_OVN := test-ovn soak-ovn faults-ovn diagnoses-ovn ovn-destroy
$(OF_OVN): export LAB_NETWORK := ovn
$(OF_OVN): export LAB_DIRECTORY := $(CURDIR)/.lab-ovn
$(OF_OVN): export LAB_NAME := $(LAB_NAME)ovn
test-ovn: ## The tests of what differs with OVN, on a lab of their own that is built first and stays
	$(MAKE) lab
	$(ON_OVN) $(SHORT)

ovn-destroy: ## Remove the lab with OVN that test-ovn and soak-ovn leave
	$(MAKE) lab-destroy

test-devstack: devstack ## The tests on a devstack, which is built first and stays, and Molecule's scenario devstack
	$(ON_DEVSTACK) $(SHORT)
	$(call molecule-on,devstack) --scenario-name devstack

molecule: lab ## The scenarios of Molecule, on the lab
	$(ON_LAB_MOLECULE) default
	$(ON_LAB_MOLECULE) variants

recordings: lab ## Record the evidence of the unit tests again: PART=hosts for a part, RECORDINGS=folder
	PATH="$(BIN):$$PATH" PYTHONPATH=tests:tests/lab:tools:$(VENV)/collections $(BIN)/python -W ignore -m recorder \
	  $(or $(RECORDINGS),tests/recorded) $(PART)

# A slice of one half of the catalogue (HALF=open, kept, fresh, second, third, fourth, fifth, sixth, seventh, eighth or ninth), in the order that a seed gives it, or names of faults
export FAULTS ?= 1:0-10
export HALF ?= open
RECORDS = $(CURDIR)/.cache/catalogue/$(LAB_NAME)-$(HALF)
CATALOGUE := env PATH="$(BIN):$$PATH" \
  PYTHONPATH=$(VENV)/collections:tests:tests/lab:tests/devstack:tests/catalogue python -W ignore
define run-faults
	$(CATALOGUE) tests/catalogue/catalogue_runs.py $(RECORDS) $(HALF) $(FAULTS)
	$(CATALOGUE) tests/catalogue/catalogue_table.py $(RECORDS)
endef
faults: lab ## A slice of the catalogue of faults (FAULTS=seed:from-to, seed:from-to:wrong or names, HALF=open), resumed, and its table
	$(run-faults)

faults-list: $(VENV)/ready ## The faults of the half open for the lab in LAB_DIRECTORY with their truths, and the size of both halves
	@$(CATALOGUE) tests/catalogue/catalogue_list.py

faults-ovn: ## The same on a lab with OVN, which is built first and stays
	$(MAKE) lab
	$(run-faults)

# Servers that faults break, diagnosed by their ids: a seed with their number, or names of faults
export DIAGNOSES ?= 1:10
DIAGNOSED = $(CURDIR)/.cache/diagnoses/$(LAB_NAME)
diagnoses: lab ## Servers broken by faults of the catalogue (DIAGNOSES=seed:count or names), diagnosed live and by reports of sos, resumed
	$(CATALOGUE) tests/catalogue/diagnose_runs.py $(DIAGNOSED) $(DIAGNOSES)
	$(CATALOGUE) tests/catalogue/catalogue_table.py $(DIAGNOSED)/live
	$(CATALOGUE) tests/catalogue/catalogue_table.py $(DIAGNOSED)/bundle

diagnoses-ovn: ## The same on a lab with OVN, which is built first and stays
	$(MAKE) lab
	$(MAKE) diagnoses

faults-devstack: devstack ## The same on a devstack, which is built first and stays
	$(run-faults)

soak-ovn: ## On a lab with OVN: its tests, ten runs in a row, the faults of OVN's parts, and a slice of the catalogue
	$(MAKE) test-ovn
	$(call pytest-on,ovn,$(addprefix tests/lab/test_,ovn.py ovn_faults.py sudo.py)) -m soak --capture=no
	$(run-faults)

soak-devstack: ## Each variant of the devstack built, tested and removed; ten runs in a row and the faults on the first
	$(MAKE) test-devstack
	$(ON_DEVSTACK) -m soak --capture=no
	$(MAKE) faults-devstack
	$(MAKE) devstack-destroy
	$(MAKE) test-devstack DEVSTACK_VARIANT=ceph
	$(MAKE) devstack-destroy
	$(MAKE) test-devstack DEVSTACK_VARIANT=ovs
	$(MAKE) devstack-destroy
	$(MAKE) test-devstack DEVSTACK_VARIANT=two
	$(MAKE) devstack-destroy

OF_RELEASE := soak-release release-destroy
$(OF_RELEASE): export LAB_RELEASE := 2022.2
$(OF_RELEASE): export LAB_DIRECTORY := $(CURDIR)/.lab-release
$(OF_RELEASE): export LAB_NAME := $(LAB_NAME)zed
soak-release: ## The services and the flow on a lab of an older release, which is built first and removed at the end
	$(MAKE) lab
	$(call pytest-on,release,tests/lab/test_services.py tests/lab/test_flow.py) $(SHORT)
	$(MAKE) lab-destroy

release-destroy: ## Remove the lab that a failed soak-release leaves
	$(MAKE) lab-destroy
