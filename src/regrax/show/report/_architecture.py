"""The swap architecture as a picture: losses and the last policy, one head an action, columns, fixed point."""

_HEADS = 3
_NAMES = ("head 1", "head 2", "head d")


def architecture() -> str:
    """A `<figure>` that shows how block features become a policy with small swap regret.

    >>> "fixed point" in architecture()
    True
    """
    heads = "".join(_head(index, 8 + 100 * index) for index in range(_HEADS))
    return (
        '<figure class="drawing"><h3>The multi-head fixed-point architecture</h3>'
        '<svg viewBox="0 0 920 340" role="img" data-figure="architecture" aria-label="From losses to policy: '
        'block features, one attention head an action, a column-stochastic matrix, its fixed point">'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path class="tip-head" d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{_box(10, 100, 130, 90, 'loss ℓₜ', 'policy πₜ')}"
        f"{_arrow(140, 145, 176, 145)}"
        f"{_box(178, 85, 140, 120, 'block features', 'xᵢ = πₜ,ᵢ ℓₜ', 'i = 1, …, d')}"
        f"{heads}"
        f"{_box(662, 75, 108, 140, 'matrix P', 'column j from', 'head j')}"
        f"{_arrow(770, 145, 800, 145)}"
        f"{_box(802, 95, 108, 100, 'fixed point', 'π = P π')}"
        '<path class="arrow" marker-end="url(#head)" d="M856 195V326H75V192"/>'
        '<text x="466" y="316" text-anchor="middle">the policy is played, and scales the next features</text>'
        "</svg><figcaption>Each head sums linear attention over its past features and a softmax makes it a column; "
        "the policy is the distribution that the matrix leaves in place.</figcaption></figure>"
    )


def _head(index: int, top: int) -> str:
    lines = (_NAMES[index], "Σ (V x + v)(1 + aᵀx)")
    centre = top + 37
    return (
        f"{_arrow(318, 145, 352, centre)}"
        f"{_box(354, top, 168, 75, *lines, tint=f'c{index}')}"
        f"{_arrow(522, centre, 548, centre)}"
        f"{_box(550, top + 14, 82, 46, 'softmax', tint=f'c{index}')}"
        f"{_arrow(632, centre, 660, 145)}"
    )


def _box(x: int, y: int, width: int, height: int, *lines: str, tint: str = "") -> str:
    style = f"tinted {tint}" if tint else "box"
    start = y + height / 2 - 9 * (len(lines) - 1) + 5
    words = "".join(
        f'<text class="{"strong" if i == 0 else "name"}" x="{x + width / 2}" y="{start + 18 * i}" '
        f'text-anchor="middle">{line}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<rect class="{style}" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>{words}'
    )


def _arrow(x1: int, y1: int, x2: int, y2: int) -> str:
    return f'<path class="arrow" marker-end="url(#head)" d="M{x1} {y1}L{x2} {y2}"/>'
