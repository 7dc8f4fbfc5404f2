"""Formulas by KaTeX, from files of this site: nothing is loaded from elsewhere."""

import html

from docutils import nodes
from sphinx.util.math import get_node_equation_number


def setup(app):
    """Formulas become elements that `formulas.js` renders."""
    app.add_html_math_renderer("katex", (_inline, None), (_block, None))
    app.add_css_file("katex/katex.min.css")
    app.add_js_file("katex/katex.min.js")
    app.add_js_file("formulas.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(self, node):
    self.body.append(f'<span class="formula">{html.escape(node.astext())}</span>')
    raise nodes.SkipNode


def _block(self, node):
    """Write a displayed formula; one with a label gets its number and can be linked to."""
    text = node.astext()
    if node["number"]:
        text += rf"\tag{{{get_node_equation_number(self, node)}}}"
    self.body.append(self.starttag(node, "div", html.escape(text), CLASS="formula") + "</div>")
    raise nodes.SkipNode
