"""A result as tables of text, which the terminal, Markdown and HTML all show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Section",
    "as_markdown",
    "interval",
    "make_sections",
    "many",
    "metric_name",
    "percent",
    "summary",
]

Document = Mapping[str, Any]

_NAMES = {
    "complete_recall": "complete recall",
    "recall": "recall",
    "complete_recall_of_the_list": "complete recall of the whole list",
    "ndcg": "NDCG",
    "mrr": "MRR",
    "recall_per_tool": "recall, each tool counting the same",
}
_MOST_GROUPS = 40
# What a row of a group shows; the rest is in --json.
_OF_GROUPS = {"complete_recall", "ndcg", "mrr"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table with its heading and what there is to say below it."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def percent(value: float | None) -> str:
    """Return a share in percent, to one decimal."""
    return "" if value is None else f"{100 * value:.1f}%"


def interval(estimate: Mapping[str, Any]) -> str:
    """Return an estimate's interval in percent."""
    return f"{100 * estimate['low']:.1f} to {100 * estimate['high']:.1f}"


def metric_name(metric: Mapping[str, Any]) -> str:
    """Return what a metric is called for people."""
    at = "" if metric["at"] is None else f" at {metric['at']}"
    return f"{_NAMES.get(metric['name'], metric['name'])}{at}"


def many(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def summary(document: Document) -> str:
    """Return one sentence on what was asked of what."""
    counts, settings = document["counts"], document["settings"]
    cut = settings.get("min_relevance")
    said = (
        f"{many(counts['cases'], 'case')}, {counts['with_tools']:,} of them with tools that serve,"
        f" asked of {many(document['catalogue']['tools'], 'tool')}"
        f" ({document['catalogue']['tokens']:,} tokens) with k = {settings['k']}"
    )
    said += "." if cut is None else f" and a cut-off at {cut:g}."
    if counts["left_out"]:
        said += f" {many(counts['left_out'], 'case')} with a label problem left out."
    if counts["already_known"]:
        said += (
            f" NOT A FAIR TEST: the requests of {many(counts['already_known'], 'case')} are among"
            " the examples or synonyms of the database, or nearly so."
        )
    return said


def make_sections(document: Document) -> list[Section]:
    """Return all parts of a report that have something to say."""
    parts = [
        _quality(document),
        _outcomes(document),
        _permissions(document),
        _no_tool(document),
        _cost(document),
        *_groups(document),
        _reliability(document),
        _reasons(document),
        _failures(document),
        *_comparison(document),
        _baseline(document),
        _known(document),
    ]
    return [part for part in parts if part is not None]


def _quality(document: Document) -> Section | None:
    if not document["metrics"]:
        return None
    return Section(
        title="Quality",
        columns=("metric", "value", "95% interval"),
        rows=tuple(
            (metric_name(metric), percent(metric["value"]), interval(metric))
            for metric in document["metrics"]
        ),
    )


def _outcomes(document: Document) -> Section | None:
    outcomes = document["outcomes"]
    if outcomes["accuracy"] is None:
        return None
    return Section(
        title=f"Answers at {outcomes['at']}",
        columns=("correct", "partly", "wrong", "skipped", "accuracy", "95% interval"),
        rows=(
            (
                *(f"{outcomes[key]:,}" for key in ("correct", "partly", "wrong", "skipped")),
                percent(outcomes["accuracy"]["value"]),
                interval(outcomes["accuracy"]),
            ),
        ),
    )


def _permissions(document: Document) -> Section | None:
    leaks = document["leaks"]
    if leaks["rate"] is None:
        return None
    unaware = leaks["permission_unaware"]
    rows = [
        (
            "this search",
            f"{leaks['answers']:,}",
            percent(leaks["rate"]["value"]),
            interval(leaks["rate"]),
        )
    ]
    notes = [
        f"LEAK: case {case['id']}: {', '.join(case['leaks'])}"
        for case in document["cases"]
        if case["leaks"]
    ]
    if unaware["rate"] is not None:
        rows.append(
            (
                "one without permissions",
                f"{unaware['answers']:,}",
                percent(unaware["rate"]["value"]),
                interval(unaware["rate"]),
            )
        )
    else:
        notes.append(f"A search without permissions was not measured: {unaware['not_measured']}.")
    return Section(
        title="Answers with a tool that is forbidden or not permitted",
        columns=("search", "answers", "share", "95% interval"),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _no_tool(document: Document) -> Section | None:
    none = document["no_tool"]
    if none is None:
        return None
    auroc = none["auroc"]
    return Section(
        title="Requests that no tool serves",
        columns=("cases", "empty answers", "share", "95% interval", "AUROC of the best relevance"),
        rows=(
            (
                f"{document['counts']['no_tool']:,}",
                f"{none['empty_answers']:,}",
                percent(none["share_empty"]["value"]),
                interval(none["share_empty"]),
                "" if auroc is None else f"{auroc:.3f}",
            ),
        ),
        notes=()
        if document["settings"].get("min_relevance") is not None
        else ("Without a cut-off (--min-relevance) no answer is empty.",),
    )


def _cost(document: Document) -> Section | None:
    tokens, latency = document["tokens"], document["latency"]
    if tokens is None:
        return None
    return Section(
        title="Tokens and time",
        columns=("", "mean of an answer", "all that may be used", "saved"),
        rows=(
            (
                "tokens",
                f"{tokens['sent_mean']:,.0f}",
                f"{tokens['permitted_mean']:,.0f}",
                percent(tokens["saved"]),
            ),
            (
                "tools",
                f"{tokens['tools_sent_mean']:,.1f}",
                f"{tokens['tools_permitted_mean']:,.1f}",
                "",
            ),
        ),
        notes=(
            f"A search took {latency['p50_ms']:.1f} ms in the median and {latency['p95_ms']:.1f} ms"
            f" at the 95th percentile, on this machine and connection ({document['machine']}).",
        ),
    )


def _groups(document: Document) -> Iterator[Section]:
    for by, title in (("category", "By category"), ("roles", "By who asks")):
        groups = [group for group in document["groups"] if group["by"] == by]
        if not groups:
            continue
        shown = groups[:_MOST_GROUPS]
        wanted = [
            (metric["name"], metric["at"])
            for metric in document["metrics"]
            if metric["name"] in _OF_GROUPS
        ]
        notes = ["Complete recall at n, NDCG, MRR and accuracy; 95% intervals in brackets."]
        if rest := len(groups) - len(shown):
            notes.append(f"{many(rest, 'smaller group')} {_are(rest)} in --json only.")
        yield Section(
            title=title,
            columns=(
                by,
                "cases",
                *(_column_name(name, at) for name, at in wanted),
                "accuracy",
                "leaks",
            ),
            rows=tuple(
                (
                    group["group"],
                    f"{group['cases']:,}",
                    *(_of_group(group, name, at) for name, at in wanted),
                    _with_interval(group["outcomes"]["accuracy"]),
                    f"{group['leaks']:,}",
                )
                for group in shown
            ),
            notes=tuple(notes),
        )


def _column_name(name: str, at: int | None) -> str:
    return (
        f"complete at {at}" if name == "complete_recall" else metric_name({"name": name, "at": at})
    )


def _of_group(group: Mapping[str, Any], name: str, at: int | None) -> str:
    return _with_interval(
        next((m for m in group["metrics"] if (m["name"], m["at"]) == (name, at)), None)
    )


def _with_interval(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return ""
    return f"{percent(estimate['value'])} ({interval(estimate)})"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _reliability(document: Document) -> Section | None:
    reliability = document["reliability"]
    if not reliability["bins"]:
        return None
    return Section(
        title="Reliability of relevance",
        columns=("relevance", "tools returned", "mean relevance", "of them expected"),
        rows=tuple(
            (
                f"{part['low']:.1f} to {part['high']:.1f}",
                f"{part['hits']:,}",
                percent(part["relevance"]),
                percent(part["expected"]),
            )
            for part in reliability["bins"]
        ),
        notes=(f"Mean distance of the two: {percent(reliability['error'])}.",),
    )


def _reasons(document: Document) -> Section | None:
    if not document["reasons"]:
        return None
    return Section(
        title="Why expected tools are missing",
        columns=("reason", "cases", "tools", "what to do"),
        rows=tuple(
            (row["reason"], f"{row['cases']:,}", f"{row['tools']:,}", row["remedy"])
            for row in document["reasons"]
        ),
    )


def _failures(document: Document) -> Section | None:
    rows = [
        (
            case["id"],
            case["query"],
            failure["tool"],
            ", ".join(failure["instead"][:3]),
            failure["reason"],
            failure["detail"],
        )
        for case in document["cases"]
        for failure in case["failures"]
    ]
    if not rows:
        return None
    return Section(
        title="Failing cases",
        columns=("case", "request", "missing", "came instead", "reason", "because"),
        rows=tuple(rows),
    )


def _comparison(document: Document) -> Iterator[Section]:
    comparison = document.get("comparison")
    if comparison is None:
        return
    yield Section(
        title=f"Compared with {comparison['path']}",
        columns=("metric", "before", "now", "difference", "95% interval", "gained", "lost"),
        rows=tuple(
            (
                metric_name(row),
                percent(row["before"]),
                percent(row["now"]),
                f"{100 * row['difference']['value']:+.1f}",
                f"{100 * row['difference']['low']:+.1f} to {100 * row['difference']['high']:+.1f}",
                str(len(row["gained"])),
                str(len(row["lost"])),
            )
            for row in comparison["differences"]
        ),
        notes=tuple(_others(comparison)),
    )
    changed = [
        (f"{kind} at {row['at']}", case["id"], case["query"], ", ".join(case["missing"]))
        for row in comparison["differences"]
        for kind in ("gained", "lost")
        for case in row[kind]
    ]
    if changed:
        yield Section(
            title="Changed cases",
            columns=("change", "case", "request", "tools that were or are missing"),
            rows=tuple(changed),
        )


def _others(comparison: Mapping[str, Any]) -> Iterator[str]:
    yield f"{many(comparison['cases'], 'case')} in both."
    for key, said in (
        ("relabelled", "in both with another request or other tools: not compared"),
        ("only_new", "only in this run"),
        ("only_old", "only in the other one"),
    ):
        if comparison[key]:
            yield f"{many(comparison[key], 'case')} {said}."


def _baseline(document: Document) -> Section | None:
    baseline = document.get("baseline")
    if baseline is None:
        return None
    return Section(
        title=f"Lost since {baseline['path']}: {many(len(baseline['lost']), 'case')}",
        columns=("case", "request", "missing", "came instead") if baseline["lost"] else (),
        rows=tuple(
            (case["id"], case["query"], ", ".join(case["missing"]), ", ".join(case["instead"]))
            for case in baseline["lost"]
        ),
        notes=tuple(_others(baseline)),
    )


def _known(document: Document) -> Section | None:
    if not document["already_known"]:
        return None
    return Section(
        title="Requests that the database knows already",
        columns=("case", "line", "is an", "of", "which says"),
        rows=tuple(
            (row["case"], str(row["line"]), row["kind"], row["tool"], row["text"])
            for row in document["already_known"]
        ),
    )


def as_markdown(document: Document) -> str:
    """Return a report as Markdown."""
    lines = ["# Evaluation", "", _markdown_text(summary(document))]
    for section in make_sections(document):
        lines += ["", f"## {_markdown_text(section.title)}"]
        if section.rows:
            lines += ["", _markdown_row(section.columns), "|---" * len(section.columns) + "|"]
            lines += [_markdown_row(row) for row in section.rows]
        for note in section.notes:
            lines += ["", _markdown_text(note)]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_markdown_text, cells))} |"


def _markdown_text(text: str) -> str:
    """Return text as Markdown that shows just this, on one line: tools' text is not trusted."""
    flat = " ".join(text.split())
    for mark in "\\`*_[]<>|#~$!@":
        flat = flat.replace(mark, f"\\{mark}" if mark not in "<>&@" else f"&#{ord(mark)};")
    return flat
