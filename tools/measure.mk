# Long tests, and measurements for measurements/; the Makefile includes this file.
.PHONY: soak soak-part bench strangers matrix

soak: $(VENV)/ready ## All long or repeated tests, in parts, resumed where they were interrupted: SOAK="fuzz bench" for some
	$(BIN)/python tools/soak.py measurements/soak.md $(SOAK)

soak-part: lab $(PROMETHEUS_PROGRAMS)/promtool
	$(call pytest-on,lab,tests/lab/$(PART)) -m soak --capture=no

BENCH := env PATH="$(BIN):$$PATH" PYTHONPATH=$(VENV)/collections:tests python tests/bench
bench: export OS_CLIENT_CONFIG_FILE := $(LAB_DIRECTORY)/clouds.yaml
bench: lab ## verify beside a bare script, its own time, and the cost of log lines, recording, sweeps and history
	$(BENCH)/pairs.py lab
	$(BENCH)/own_time.py lab
	$(BENCH)/log_lines.py
	$(BENCH)/firehose.py lab $(LAB_DIRECTORY)/inventory.yml controller1 10
	$(BENCH)/sweep.py
	$(BENCH)/slices.py
	$(BENCH)/history.py tests/recorded/removed/run.json
	$(BENCH)/merge.py tests/recorded/runs/20261121-065105-bdb5f5/run.json

strangers: export OS_CLIENT_CONFIG_FILE := $(LAB_DIRECTORY)/clouds.yaml
strangers: lab $(STRANGERS)/ready ## Third-party programs on the lab: the openstack client, openstack.cloud, Rally, Tempest; SUITES="client rally" for some
	PATH="$(STRANGERS)/bin:$$PATH" $(STRANGERS)/bin/python tests/strangers/strangers.py $(CURDIR)/.cache/strangers-$(LAB_NAME) $(SUITES)

matrix: ## Unit tests with each supported ansible-core, Python and SDK, and the sanity tests of all files with the oldest
	tools/matrix $(CURDIR)/.cache/matrix
	$(MAKE) sanity-of-all
