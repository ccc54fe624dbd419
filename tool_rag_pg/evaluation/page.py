"""A result as one HTML page: no scripts, nothing loaded from elsewhere, all text escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .sections import Section, interval, make_sections, metric_name, percent, summary

__all__ = ["as_page"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #57606a;
  --line: #d0d7de; --blue: #0a58ca; --orange: #b35900; --grey: #8b949e; --band: #f6f8fa;
  --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --soft: #9aa4af; --line: #30363d;
    --blue: #6cb0ff; --orange: #f0a350; --grey: #6e7681; --band: #161b22; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0 auto; padding: 1.5rem; max-width: 76rem; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr));
  gap: .75rem; margin: 1.2rem 0; padding: 0; }
.tiles div { background: var(--band); border: 1px solid var(--line); border-radius: .5rem;
  padding: .6rem .8rem; }
.tiles dt { color: var(--soft); font-size: .85rem; }
.tiles dd { margin: 0; font-size: 1.5rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles small { display: block; color: var(--soft); font-size: .8rem; font-weight: 400; }
.tiles .bad dd { color: var(--bad); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr));
  gap: 1.2rem; }
figure { margin: 0; max-width: 28rem; } figcaption { font-size: .9rem; font-weight: 600; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.axis { stroke: var(--line); } .ideal { stroke: var(--soft); stroke-dasharray: 4 4; }
.one { stroke: var(--blue); fill: none; stroke-width: 2; } .one-area { fill: var(--blue); }
.two { stroke: var(--orange); fill: none; stroke-width: 2; stroke-dasharray: 7 3; }
.two-area { fill: var(--orange); } .rest-area { fill: var(--grey); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem 1.1rem .35rem .4rem;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.long td { min-width: 6.5rem; } .long .n { min-width: 0; } .long .t { min-width: 14rem; }
tbody tr:nth-child(even) { background: var(--band); }
.note { color: var(--soft); font-size: .9rem; }
@media (max-width: 48rem) {
  th, td { padding-right: .5rem; }
  .long thead { position: absolute; clip-path: inset(50%); }
  .long, .long tbody, .long tr, .long td { display: block; }
  .long tr { padding: .5rem .4rem; border-bottom: 1px solid var(--line); }
  .long td { border: 0; padding: .1rem 0; text-align: left; }
  .long td::before { content: attr(data-column) ": "; color: var(--soft); }
  .long td:empty { display: none; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
# Of a plot, in units of the drawing: the whole, and where its axes are.
_WIDTH, _HEIGHT = 380, 260
_LEFT, _TOP, _RIGHT, _BOTTOM = 48, 14, 366, 214
# A column of numbers is aligned at its end: 1,234  95.0%  +1.5  90.2 to 93.3  91.8% (90.2 to 93.3)
_NUMBER = re.compile(r"[-+]?[\d.,]+%?( to [-+]?[\d.,]+| \([-\d., to]+\))?")
# Tables whose cells hold sentences become one block for each row where the page is narrow.
_LONG = 60
_SENTENCE = 40
# Where a tool's name may be broken.
_BREAKS = re.compile(r"(?<=[A-Za-z])([/_.:-])(?=[A-Za-z])")


def as_page(document: Mapping[str, Any]) -> str:
    """Return a report as a page of its own."""
    plots = [_recall_plot(document), _token_plot(document), _reliability_plot(document)]
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Evaluation of tool retrieval</title>\n<style>{_STYLE}</style>\n</head>\n"
        "<body>\n<main>\n<h1>Evaluation of tool retrieval</h1>\n"
        f"<p>{_text(summary(document))}</p>\n{_tiles(document)}"
        f'<div class="figures">\n{"".join(filter(None, plots))}</div>\n'
        f"{''.join(map(_section, make_sections(document)))}"
        "</main>\n</body>\n</html>\n"
    )


def _text(value: object) -> str:
    """Return text for an element or a quoted attribute; control characters are shown as such."""
    shown = "".join(
        letter if letter.isprintable() or letter == " " else "\N{REPLACEMENT CHARACTER}"
        for letter in " ".join(str(value).split())
    )
    return escape(shown, quote=True)


def _broken(value: object) -> str:
    """Return text in which long names may be broken where their words end."""
    return _BREAKS.sub(lambda found: f"{found[1]}<wbr/>", _text(value))


def _tiles(document: Mapping[str, Any]) -> str:
    """Return the figures that most readers look for, above everything else."""
    tiles = []
    complete = [m for m in document["metrics"] if m["name"] == "complete_recall"]
    if complete:
        last = complete[-1]
        tiles.append((metric_name(last), percent(last["value"]), interval(last), False))
    leaks = document["leaks"]
    if leaks["rate"] is not None:
        told = f"of {document['counts']['cases']:,} answers"
        tiles.append(("with forbidden tools", f"{leaks['answers']:,}", told, leaks["answers"] > 0))
    tokens, latency = document["tokens"], document["latency"]
    if tokens is not None:
        told = f"of {tokens['permitted_mean']:,.0f}"
        tiles.append(("tokens saved", percent(tokens["saved"]) or "-", told, False))
    if latency is not None:
        told = f"95% within {latency['p95_ms']:.1f} ms"
        tiles.append(("median time", f"{latency['p50_ms']:.1f} ms", told, False))
    return (
        '<dl class="tiles">'
        + "".join(
            f"<div{_class('bad' * bad)}>"
            f"<dt>{_text(name)}</dt>"
            f"<dd>{_text(value)}<small>{_text(told)}</small></dd></div>\n"
            for name, value, told, bad in tiles
        )
        + "</dl>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<section>\n<h2>{_broken(section.title)}</h2>\n"]
    if section.rows:
        parts.append(
            f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(section.title)}">'
            f"{_table(section)}</div>\n"
        )
    parts += [f'<p class="note">{_broken(note)}</p>\n' for note in section.notes]
    return "".join(parts) + "</section>\n"


def _table(section: Section) -> str:
    kinds = [_kind(cells) for cells in zip(*section.rows, strict=True)]
    is_long = max(sum(map(len, row)) for row in section.rows) > _LONG and "t" in kinds
    head = "".join(
        f'<th scope="col"{_class(kind)}>{_text(column).replace(" at ", " at&#160;")}</th>'
        for column, kind in zip(section.columns, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td{_class(kind)} data-column="{_text(column)}">{_cell(cell, kind)}</td>'
            for cell, column, kind in zip(row, section.columns, kinds, strict=True)
        )
        + "</tr>\n"
        for row in section.rows
    )
    return (
        f"<table{_class('long' * is_long)}>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}</tbody>\n</table>"
    )


def _kind(cells: Sequence[str]) -> str:
    """Return what a column holds: "n" for numbers, "t" for sentences, else ""."""
    if any(cells) and all(not cell or _NUMBER.fullmatch(cell) for cell in cells):
        return "n"
    return "t" if max(map(len, cells)) > _SENTENCE else ""


def _cell(cell: str, kind: str) -> str:
    if kind != "n":
        return _broken(cell)
    # An interval stays on one line, which may be another one than its figure's.
    return _text(cell).replace(" to ", "&#160;to&#160;")


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _figure(name: str, title: str, told: str, drawing: str, *, height: int = _HEIGHT) -> str:
    """Return a drawing with its caption; `told` says in words what it shows."""
    return (
        f"<figure>\n<figcaption>{_text(title)}</figcaption>\n"
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' aria-labelledby="{name}-title {name}-told">\n'
        f'<title id="{name}-title">{_text(title)}</title>\n'
        f'<desc id="{name}-told">{_text(told)}</desc>\n{drawing}</svg>\n</figure>\n'
    )


def _axes(x_label: str, x_marks: Sequence[tuple[float, str]]) -> str:
    """Return both axes; the upright one goes from 0% to 100%."""
    lines = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = _y(share)
        lines.append(
            f'<line class="axis" x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>\n'
        )
    lines += [
        f'<text x="{_x(place):.1f}" y="{_BOTTOM + 17}" text-anchor="middle">{_text(mark)}</text>\n'
        for place, mark in x_marks
    ]
    lines.append(
        f'<text x="{(_LEFT + _RIGHT) / 2:.0f}" y="{_BOTTOM + 37}" text-anchor="middle">'
        f"{_text(x_label)}</text>\n"
    )
    return "".join(lines)


def _x(share: float) -> float:
    return _LEFT + 10 + share * (_RIGHT - _LEFT - 20)


def _y(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def _line(points: Sequence[tuple[float, float]], style: str) -> str:
    places = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
    dots = "".join(
        f'<circle class="{style}-area" cx="{_x(x):.1f}" cy="{_y(y):.1f}" r="3"/>' for x, y in points
    )
    return f'<polyline class="{style}" points="{places}"/>{dots}\n'


def _recall_plot(document: Mapping[str, Any]) -> str | None:
    series = {
        name: [metric for metric in document["metrics"] if metric["name"] == name]
        for name in ("complete_recall", "recall")
    }
    if not series["complete_recall"]:
        return None
    last = max(metric["at"] for metric in series["complete_recall"])
    drawing = _axes(
        "first k",
        [(metric["at"] / last, str(metric["at"])) for metric in series["complete_recall"]],
    )
    for metric in series["complete_recall"]:
        x = _x(metric["at"] / last)
        drawing += (
            f'<line class="one" x1="{x:.1f}" y1="{_y(metric["low"]):.1f}" x2="{x:.1f}"'
            f' y2="{_y(metric["high"]):.1f}"/>'
        )
    for name, style in (("recall", "two"), ("complete_recall", "one")):
        drawing += _line([(metric["at"] / last, metric["value"]) for metric in series[name]], style)
    told = "; ".join(
        f"{metric_name(metric)}: {percent(metric['value'])}"
        for name in ("complete_recall", "recall")
        for metric in series[name]
    )
    return _figure(
        "recall", "Complete recall (solid, with 95% intervals) and recall (dashed)", told, drawing
    )


def _token_plot(document: Mapping[str, Any]) -> str | None:
    tokens = document["tokens"]
    if tokens is None or not tokens["permitted_mean"]:
        return None
    whole = document["catalogue"]["tokens"]
    bars = [
        ("an answer", tokens["sent_mean"], "one-area"),
        ("all tools that its roles may use", tokens["permitted_mean"], "two-area"),
    ]
    if whole > tokens["permitted_mean"]:
        bars.append(("the whole catalogue", whole, "rest-area"))
    most = max(value for _, value, _ in bars)
    drawing = ""
    for place, (label, value, style) in enumerate(bars):
        y = _TOP + 6 + place * 66
        width = (_WIDTH - 80) * value / most
        drawing += (
            f'<text x="10" y="{y + 12}">{_text(label)}</text>'
            f'<rect class="{style}" x="10" y="{y + 18}" width="{max(width, 1):.1f}" height="24"/>'
            f'<text x="{16 + width:.1f}" y="{y + 35}">{value:,.0f}</text>\n'
        )
    told = "; ".join(f"{label}: {value:,.0f}" for label, value, _ in bars)
    return _figure(
        "tokens",
        "Tokens in a prompt, mean over all cases",
        told,
        drawing,
        height=_TOP + 66 * len(bars),
    )


def _reliability_plot(document: Mapping[str, Any]) -> str | None:
    bins = document["reliability"]["bins"]
    if not bins:
        return None
    drawing = _axes("relevance", [(share / 4, f"{share / 4:.0%}") for share in range(5)])
    drawing += (
        f'<line class="ideal" x1="{_x(0):.1f}" y1="{_y(0):.1f}" x2="{_x(1):.1f}"'
        f' y2="{_y(1):.1f}"/>\n'
    )
    drawing += _line([(part["relevance"], part["expected"]) for part in bins], "one")
    told = "; ".join(
        f"relevance {percent(part['relevance'])}: {percent(part['expected'])} of {part['hits']:,}"
        for part in bins
    )
    return _figure(
        "reliability",
        "Returned tools that were expected, by relevance (dashed: ideal)",
        told,
        drawing,
    )
