"""Check that every link, picture, script and style sheet of a built site exists in it: `python -m tools.links SITE`.

Links to other sites are only counted, since this runs without a network.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """A page's links, the files it loads, and its link targets."""

    def __init__(self, text: str):
        """Read a page."""
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag's addresses."""
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and LOADED[tag] in found:
            self.loads.append(found[LOADED[tag]])


def broken_links(site: Path) -> tuple[list[str], int]:
    """Return broken links and files loaded from other sites, with their pages, and the number of links checked."""
    pages = {file: Page(file.read_text("utf-8")) for file in sorted(site.rglob("*.html"))}
    wrong, count = [], 0
    for file, page in pages.items():
        wrong += [f"{file}: loads {url}" for url in page.loads if urlsplit(url).netloc]
        for url in [*page.links, *page.loads]:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file.resolve()
            known = pages.get(target)
            place = unquote(parts.fragment)
            if not target.exists() or (known and place not in known.places):
                wrong.append(f"{file}: links to {url}")
    return wrong, count


def main() -> None:
    """Print the broken links of a site."""
    site = Path(sys.argv[1]).resolve()
    wrong, count = broken_links(site)
    print(f"{count:,} links of {site.name} lead to its files" if not wrong else "\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
