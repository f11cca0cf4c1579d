"""The manual in HTML, as it is installed: every page is there, and every link and cross-reference leads somewhere."""
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from harness.mta import BUILD

SOURCE = Path(__file__).resolve().parents[2]
HTML = BUILD / "man"
PAGES = sorted(page.name for page in (SOURCE / "man").rglob("*.[1-8]"))
OF_OTHERS = "https://manpages.debian.org/bookworm/"


class Page(HTMLParser):
    """Its anchors, its links, and whether what it opens it closes."""

    def __init__(self, file):
        super().__init__()
        self.anchors, self.links, self.open = set(), [], []
        self.feed(file.read_text())
        self.close()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            assert given["id"] not in self.anchors
            self.anchors.add(given["id"])
        self.links += [given[name] for name in ("href", "src") if name in given]
        if tag not in ("meta", "link", "br", "col"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in ("meta", "link", "br", "col"):
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def pages():
    made = {file.name: Page(file) for file in HTML.glob("*.html")}
    assert {f"{page}.html" for page in PAGES} | {"index.html", "postcat.1.html", "newaliases.1.html"} <= set(made)
    return made


def test_every_link_leads_somewhere(pages):
    wrong, inside, between = [], 0, 0
    for name, page in pages.items():
        for link in page.links:
            if link == "manual.css":
                assert (SOURCE / "man/manual.css").exists()
            elif link.startswith("#"):
                inside += 1
                wrong += [] if unquote(link[1:]) in page.anchors else [f"{name}: {link}"]
            elif not link.startswith(OF_OTHERS):
                between += 1
                wrong += [] if link in pages else [f"{name}: {link}"]
    assert inside > 500 and between > 300 and not wrong, wrong


def test_only_pages_of_others_are_elsewhere(pages):
    """A reference to a page of ours that is misspelled would lead there, too."""
    elsewhere = {link.removeprefix(OF_OTHERS) for page in pages.values() for link in page.links if link.startswith(OF_OTHERS)}
    named = re.search(r"OF_OTHERS = \{(.*?)\}", (SOURCE / "tests/layers/test_documents.py").read_text(), re.S)[1]
    assert elsewhere and elsewhere <= set(re.findall(r'"(.*?)"', named))


def test_every_cross_reference_of_a_page_is_a_link(pages):
    for file in (SOURCE / "man").rglob("*.[1-8]"):
        for name, section in re.findall(r"^\.(?:It )?Xr (\S+) (\d)", file.read_text(), re.M):
            links = (f"{name}.{section}.html", f"{OF_OTHERS}{name}.{section}")
            assert any(link in pages[f"{file.name}.html"].links for link in links), f"{file.name}: {name}({section})"


def test_the_index_has_every_page(pages):
    assert {f"{page}.html" for page in PAGES} <= set(pages["index.html"].links)
    assert all(page.open == [] for page in pages.values())
