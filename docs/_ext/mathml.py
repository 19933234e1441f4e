"""Formulas as MathML, made by docutils: browsers draw them without a script and a network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def convert(node: nodes.Element, *, as_block: bool) -> str:
    """The MathML of a node; a formula that cannot be read ends the build."""
    try:
        return str(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        msg = f"A formula must be plain LaTeX. Got {node.astext()!r}: {error}."
        raise ExtensionError(msg) from error


def visit_inline(translator: Any, node: nodes.Element) -> None:
    """Write a formula within a sentence."""
    translator.body.append(convert(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.Element) -> None:
    """Write a formula that stands by itself; wide ones scroll."""
    translator.body.append(f'<div class="formula">{convert(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer to ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
