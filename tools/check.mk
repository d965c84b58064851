# The parts of make check and make test, one by one; the Makefile includes this file.
.PHONY: quick unit playbooks unit-2.19 without-lab style lint types docs-lint sanity sanity-of-all pylint importer browser alerts fuzz newcomers pictures

# More workers than eight only take longer to begin.
WORKERS ?= auto
ON_ALL_CORES := --numprocesses=$(WORKERS) --maxprocesses=8 --dist=worksteal
# Three processes fill two cores; with more, tests with deadlines of a second miss them.
side-by-side = @$(MAKE) --jobs=$(1) --output-sync --keep-going WORKERS=$(2)

quick: $(VENV)/ready ## The unit tests that your changes since origin/main touch, on all cores
	$(BIN)/python tools/quick.py $(ON_ALL_CORES)

unit: $(VENV)/ready ## Unit tests with the newest ansible-core: K=expression selects by name (pytest -k), T=path a file or folder
	$(BIN)/pytest $(ON_ALL_CORES) $(or $(T),tests/unit) $(if $(K),-k '$(K)')

playbooks: $(VENV)/ready ## The playbooks and what loads with them, as ansible-playbook runs them
	$(BIN)/pytest tests/playbooks

# Of the tests those that meet Ansible itself, where the playbooks run the modules; make matrix runs all of them.
unit-2.19: $(OLD)/ready ## Tests of playbooks and plugins with the oldest ansible-core
	$(OLD)/bin/pytest tests/playbooks $(addprefix tests/unit/plugins/,action filter plugin_utils)

style: $(VENV)/ready ## Style of the Python code, in a second
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint: style ## Style of the code, and Ansible's rules
	PATH="$(BIN):$$PATH" $(BIN)/ansible-lint --offline

types: $(VENV)/ready ## Types of the code, where it has them
	$(BIN)/mypy --package ansible_collections.stackproof.provision.plugins --package ansible_collections.stackproof.lab.plugins
	$(BIN)/mypy --scripts-are-modules tools/*.py tools/ansible-test tools/flow-pages tools/profiles tools/variables-page tests/guard.py

docs-lint: $(VENV)/ready ## Documentation of the plugins and roles
	PATH="$(BIN):$$PATH" antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self .
	PATH="$(BIN):$$PATH" antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self lab

# Pylint takes longer than all the others, and ruff and mypy find most of what it finds.
sanity: $(VENV)/ready ## Sanity tests of the newest ansible-core, except pylint, of all files except our own tests
	$(BIN)/python tools/ansible-test sanity --without-tests --skip-test pylint

pylint: $(VENV)/ready ## Pylint with the rules of the newest ansible-core, of all files except our own tests
	$(BIN)/python tools/ansible-test sanity --without-tests --test pylint

# Our own tests are more than half of all lines, and no user loads them: make matrix runs this.
sanity-of-all: $(OLD)/ready ## Sanity tests of the oldest ansible-core of all files
	$(OLD)/bin/python tools/ansible-test sanity

importer: $(IMPORTER)/ready ## The tarballs: their content, Galaxy's own check, and whether they work when installed
	$(IMPORTER)/bin/python tools/tarballs.py

# The longest ones begin first. fuzz and newcomers are parts of test-beside, as the tests on the lab leave time for them.
without-lab: ## The parts of make test that need no lab and install no packages, in parallel, except those of test-beside
	$(call side-by-side,3,0) unit unit-2.19 $(CHECK) playbooks pylint importer docs

browser: $(VENV)/ready docs ## Pages of runs and the search of the site in a real browser, and the diagrams by Mermaid's own parser
	@tools/install-programs chromium npm
	$(BIN)/pytest tests/browser

$(PROMETHEUS_PROGRAMS)/promtool:
	tools/unpack-packages $(PROMETHEUS) prometheus prometheus-node-exporter

alerts: $(VENV)/ready $(PROMETHEUS_PROGRAMS)/promtool ## The canary's alerts, by a real Prometheus and node_exporter (not installed)
	$(BIN)/pytest tests/alerts

fuzz: $(VENV)/ready ## Random hostile input: FUZZ_SEED=1 makes other cases, FUZZ_SECONDS=3600 takes longer
	$(BIN)/pytest tests/fuzz

newcomers: $(VENV)/ready ## The commonest mistakes of a newcomer: one line reports each, and nothing is left behind
	$(BIN)/pytest tests/newcomers

pictures: $(VENV)/ready ## The pictures of the pages, from recorded runs (not docs/architecture.svg, which is drawn by hand)
	@tools/install-programs chromium
	PYTHONPATH=$(VENV)/collections:tests $(BIN)/python tools/pictures.py docs
