"""The report: one self-contained HTML file, readable without a network, light and dark, wide and narrow."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from regrax.show.report._chart import Figure
from regrax.show.report._svg import draw, legend

HERE = Path(__file__).parent
MAX_INLINE_CHARACTERS = 30  # characters of a cell that wants room of its own on a small screen


@dataclass(frozen=True)
class Table:
    """Rows of text under column names; a cell that begins with a digit or sign lines up on the right.

    >>> Table(("what", "ours"), [("gap", "0.09")]).columns
    ('what', 'ours')
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A chapter: paragraphs, then figures, then a table.

    Args:
        name: of the section, for links.
        title: its heading.
        text: paragraphs.
        figures: charts and ternary plots.
        tables: after the figures.
        drawings: ready-made <figure> elements.

    >>> Section("step", "The step size", ["It falls like one over root T."]).figures
    ()
    """

    name: str
    title: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    drawings: Sequence[str] = ()


def read(name: str) -> str:
    """A part of the page that is a file of its own: its look, its script, the drawing of the swap architecture.

    >>> "fixed point" in read("architecture.html")
    True
    """
    return (HERE / name).read_text()


def render(title: str, lead: Sequence[str], sections: Sequence[Section], footer: str = "") -> str:
    """The whole page.

    Args:
        title: of the page.
        lead: paragraphs of its introduction.
        sections: in order.
        footer: one line.

    >>> page = render("Report", ["Short."], [Section("a", "First", ["Text."])])
    >>> page.startswith("<!doctype html>") and "http" not in page
    True
    """
    contents = "".join(f'<a href="#{escape(s.name)}">{escape(s.title)}</a>' for s in sections)
    introduction = "".join(f"<p>{escape(text)}</p>" for text in lead)
    body = "".join(_section(section) for section in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{read("page.css")}</style></head><body>'
        f"<header><h1>{escape(title)}</h1>{introduction}<nav>{contents}</nav></header>"
        f'<main>{body}</main><footer>{escape(footer)}</footer><div id="tip" hidden></div>'
        f"<script>{read('page.js')}</script></body></html>\n"
    )


def _section(section: Section) -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in section.text)
    drawings = "".join(section.drawings)
    figures = "".join(_figure(figure) for figure in section.figures)
    tables = "".join(table_html(table) for table in section.tables)
    grid = f'<div class="figures">{figures}</div>' if figures else ""
    name, title = escape(section.name), escape(section.title)
    return f'<section id="{name}"><h2>{title}</h2>{text}{drawings}{grid}{tables}</section>'


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>" if figure.caption else ""
    title = f"<h3>{escape(figure.title)}</h3>"
    return f"<figure>{title}{draw(figure)}{legend(figure)}{caption}</figure>"


def table_html(table: Table) -> str:
    """The table as HTML that scrolls sideways on a small screen.

    >>> "<th>what</th>" in table_html(Table(("what",), [("gap",)]))
    True
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    body = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in table.rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(cell: str) -> str:
    kind = " class=words" if len(cell) > MAX_INLINE_CHARACTERS else ""
    if cell[:1] in set("0123456789-+±<"):
        kind = " class=number"
    return f"<td{kind}>{escape(cell)}</td>"
