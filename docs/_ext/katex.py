"""Formulas by KaTeX, from files of this site: nothing is loaded from elsewhere."""

import html

from docutils import nodes


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
    self.body.append(f'<div class="formula">{html.escape(node.astext())}</div>')
    raise nodes.SkipNode
