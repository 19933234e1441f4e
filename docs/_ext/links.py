"""After the build every link between the pages is followed, also to its section and its picture."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)
TARGETS = {"a": "href", "link": "href", "img": "src", "script": "src", "object": "data"}


class Page(HTMLParser):
    """The links and the names of places of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Keep what leads somewhere and what can be led to."""
        known = dict(attributes)
        self.places |= {known[name] or "" for name in ("id", "name") if name in known}
        target = known.get(TARGETS.get(tag, ""))
        if target:
            self.links.append(target)


def broken_links(root: Path) -> list[str]:
    """Links within a folder of pages that lead nowhere; those to other sites are not followed."""
    pages = {
        file: Page(file.read_text(encoding="utf-8"))
        for file in root.rglob("*.html")
        if "_static" not in file.parts
    }
    found = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            place = unquote(parts.fragment)
            is_there = target.exists() and (
                not place or target not in pages or place in pages[target].places
            )
            if not is_there:
                found.append(f"{file.relative_to(root)}: {link}")
    return sorted(set(found))


def check(app: Sphinx, error: Exception | None) -> None:
    """Warn of each broken link."""
    if error is None and app.builder.format == "html":
        for link in broken_links(Path(app.outdir).resolve()):
            log.warning("a link leads nowhere: %s", link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Check at the end of the build."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
