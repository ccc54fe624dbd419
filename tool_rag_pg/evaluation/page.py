"""A result as one HTML page: no scripts, nothing loaded from elsewhere, all text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .sections import Section, make_sections, metric_name, percent, summary

__all__ = ["as_page"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #57606a;
  --line: #d0d7de; --blue: #0a58ca; --orange: #b35900; --band: #f3f5f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --soft: #9aa4af; --line: #3d444d;
    --blue: #6cb0ff; --orange: #f0a350; --band: #171c23; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0 auto; padding: 1.5rem; max-width: 72rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
.figures { display: flex; flex-wrap: wrap; gap: 1.5rem; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: .9rem; max-width: 24rem; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.axis { stroke: var(--line); } .ideal { stroke: var(--soft); stroke-dasharray: 4 4; }
.one { stroke: var(--blue); fill: none; stroke-width: 2; } .one-area { fill: var(--blue); }
.two { stroke: var(--orange); fill: none; stroke-width: 2; stroke-dasharray: 7 3; }
.two-area { fill: var(--orange); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem .3rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; min-width: 3.5rem; }
thead th { border-bottom: 2px solid var(--line); }
tbody tr:nth-child(even) { background: var(--band); }
.note { color: var(--soft); }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
# Of a plot, in units of the drawing: the whole, and where its axes are.
_WIDTH, _HEIGHT = 380, 260
_LEFT, _TOP, _RIGHT, _BOTTOM = 48, 14, 366, 214


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
        f"<p>{_text(summary(document))}</p>\n"
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


def _section(section: Section) -> str:
    parts = [f"<section>\n<h2>{_text(section.title)}</h2>\n"]
    if section.rows:
        head = "".join(f'<th scope="col">{_text(column)}</th>' for column in section.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>\n"
            for row in section.rows
        )
        parts.append(
            f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(section.title)}">'
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
        )
    parts += [f'<p class="note">{_text(note)}</p>\n' for note in section.notes]
    return "".join(parts) + "</section>\n"


def _figure(name: str, title: str, told: str, drawing: str) -> str:
    """Return a drawing with its caption; `told` says in words what it shows."""
    return (
        f'<figure>\n<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        f' role="img" aria-labelledby="{name}-title {name}-told">\n'
        f'<title id="{name}-title">{_text(title)}</title>\n'
        f'<desc id="{name}-told">{_text(told)}</desc>\n{drawing}</svg>\n'
        f"<figcaption>{_text(title)}. {_text(told)}</figcaption>\n</figure>\n"
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
    whole = document["catalogue"]["tokens"] or 1
    bars = [
        ("an answer", tokens["sent_mean"], "one-area"),
        ("all that may be used", tokens["permitted_mean"], "two-area"),
        ("the catalogue", whole, "two-area"),
    ]
    most = max(value for _, value, _ in bars)
    drawing = ""
    for place, (label, value, style) in enumerate(bars):
        y = _TOP + 6 + place * 66
        width = (_WIDTH - 100) * value / most
        drawing += (
            f'<text x="10" y="{y + 12}">{_text(label)}</text>'
            f'<rect class="{style}" x="10" y="{y + 18}" width="{max(width, 1):.1f}" height="24"/>'
            f'<text x="{16 + width:.1f}" y="{y + 35}">{value:,.0f}</text>\n'
        )
    told = "; ".join(f"{label}: {value:,.0f}" for label, value, _ in bars)
    return _figure("tokens", "Tokens, mean over all cases", told, drawing)


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
        "Share of returned tools that were expected, by relevance (dashed: what it should be)",
        told,
        drawing,
    )
