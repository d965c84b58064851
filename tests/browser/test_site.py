# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation site works without a network: opened from a folder, or from a server on this machine.

Needs the site, which make docs builds.
"""

from __future__ import annotations

import functools
import http.server
import threading

import pytest
from tree import ROOT

SITE = ROOT / ".cache" / "docs"
# Words to search for, and the page that has to be found
SEARCHES = {
    "drain": "docs/drain-a-host.html",
    "StackproofBudgetBurnsFast": "docs/canary.html",
    "stackproof_thresholds": "docs/run.html",
}
FINISHED = "(document.querySelector('.search-summary')?.innerText ?? '').startsWith('Search finished')"
FOUND = "[...document.querySelectorAll('ul.search a')].map(one => one.getAttribute('href').split('#')[0])"
EXCERPTS = "document.querySelectorAll('ul.search p.context').length"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments):
        pass


@pytest.fixture(scope="module")
def places():
    """The addresses of the site: in its folder, and on a server."""
    assert (SITE / "search.html").is_file(), "there is no site: make docs builds it"
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield {"folder": SITE.as_uri(), "server": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("place", ["folder", "server"])
@pytest.mark.parametrize("words", SEARCHES)
def test_a_search_finds_its_page_and_asks_no_other_server(browser, places, place, words):
    browser.open(f"{places[place]}/search.html?q={words}")
    browser.wait_for(FINISHED)
    assert SEARCHES[words] in browser.value(FOUND)
    assert [url for url in browser.requested() if not url.startswith(places[place])] == []


def test_a_search_on_a_server_shows_where_the_words_stand(browser, places):
    browser.open(f"{places['server']}/search.html?q=drain")
    browser.wait_for(f"{FINISHED} && {EXCERPTS} > 0")


@pytest.mark.parametrize("page", ["index.html", "docs/first-verdict.html", "collection/index.html"])
def test_a_page_asks_no_other_server(browser, places, page):
    browser.open(f"{places['folder']}/{page}")
    asked = browser.requested()
    assert len(asked) > 3
    assert [url for url in asked if not url.startswith(places["folder"])] == []
