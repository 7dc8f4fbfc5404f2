"""Report pages: self-contained HTML files that adapt to light or dark mode and to the screen width."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

from regrax._text import cell_text
from regrax.show.report.charts import Figure, draw, legend

HERE = Path(__file__).parent
ARCHITECTURE = (HERE / "architecture.html").read_text("utf-8")
"""Diagram of the swap architecture, for `Section.drawings`."""
Tone = Literal["good", "bad", "neutral"]
MAX_INLINE_CHARACTERS = 30  # longer cells get a minimum width on small screens


@dataclass(frozen=True)
class Table:
    """Rows of cells under column names; numbers get four significant digits, and None is a blank.

    >>> Table(("what", "ours"), [("gap", 0.09)]).columns
    ('what', 'ours')
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Args:
        name: Anchor for links.
        title: Heading.
        text: Paragraphs.
        figures: Charts, after the text.
        tables: Tables, after the charts.
        drawings: HTML of `<figure>` elements, before the charts.

    >>> Section("step", "The step size", ["It falls like one over root T."]).figures
    ()
    """

    name: str
    title: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    drawings: Sequence[str] = ()


@dataclass(frozen=True)
class Answer:
    """A finding of a report: a sentence with a badge.

    Args:
        sentence: The finding.
        badge: The finding in a word or two.
        tone: Colour of the badge: `"good"`, `"bad"` or `"neutral"`.

    >>> Answer("B regrets 3.1 less per episode than A.", "better", "good").badge
    'better'
    """

    sentence: str
    badge: str = ""
    tone: Tone = "neutral"


def render(
    title: str,
    lead: Sequence[str],
    sections: Sequence[Section],
    footer: str = "",
    *,
    answers: Sequence[Answer] = (),
) -> str:
    """Render a page as HTML.

    Args:
        title: Title of the page.
        lead: Paragraphs of the introduction, after the answers.
        sections: Sections in order.
        footer: Last line.
        answers: Findings, which open the page.

    >>> page = render("Report", ["Short."], [Section("a", "First", ["Text."])])
    >>> page.startswith("<!doctype html>") and "http" not in page
    True
    """
    links = [
        f'<a href="#{escape(section.name)}">{escape(section.title)}</a>' for section in sections
    ]
    nav = "".join(links) if len(links) > 1 else ""
    style = (HERE / "page.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{style}</style></head><body>'
        f"<header><h1>{escape(title)}</h1>{_answers(answers)}{_paragraphs(lead)}<nav>{nav}</nav></header>"
        f"<main>{''.join(map(_section, sections))}</main><footer>{escape(footer)}</footer></body></html>\n"
    )


def _answers(answers: Sequence[Answer]) -> str:
    items = ""
    for answer in answers:
        badge = ""
        if answer.badge:
            badge = f'<span class="badge {answer.tone}">{escape(answer.badge)}</span> '
        items += f"<li>{badge}{escape(answer.sentence)}</li>"
    kind = "answers one" if len(answers) == 1 else "answers"
    return f'<ul class="{kind}">{items}</ul>' if items else ""


def _paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _section(section: Section) -> str:
    figures = "".join(map(_figure, section.figures))
    if figures:
        figures = f'<div class="figures">{figures}</div>'
    return (
        f'<section id="{escape(section.name)}"><h2>{escape(section.title)}</h2>{_paragraphs(section.text)}'
        f"{''.join(section.drawings)}{figures}{''.join(map(_table, section.tables))}</section>"
    )


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>" if figure.caption else ""
    return (
        f"<figure><h3>{escape(figure.title)}</h3>{draw(figure)}{legend(figure)}{caption}</figure>"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    text = cell_text(value)
    kind = ""
    if text.startswith(tuple("0123456789-+±<")):
        kind = " class=number"
    elif len(text) > MAX_INLINE_CHARACTERS:
        kind = " class=words"
    return f"<td{kind}>{escape(text)}</td>"
