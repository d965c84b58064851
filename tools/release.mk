# The tarballs of a release; the Makefile includes this file.
.PHONY: candidate release

candidate: $(IMPORTER)/ready ## Both tarballs of the last commit, checked as Galaxy and Automation Hub do, in .cache/candidate
	$(IMPORTER)/bin/python tools/release.py candidate $(CURDIR)/.cache/candidate

release: $(IMPORTER)/ready ## The same of a tagged commit, with the addresses of tools/home.yml, in .cache/release; signs nothing
	$(IMPORTER)/bin/python tools/release.py release $(CURDIR)/.cache/release
