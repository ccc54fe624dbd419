from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tool_rag_pg.cli._names import fits, join, read_until, split_name, split_pattern
from tool_rag_pg.errors import InvalidArgument


@pytest.mark.parametrize("text", ["github", "github/", "/list_issues", "*", "/", ""])
def test_a_pattern_needs_two_parts(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not of the form SERVER/TOOL") as raised:
        split_pattern(text)
    assert "/*'" in (raised.value.hint or "")
    with pytest.raises(InvalidArgument):
        split_name(text)


def test_a_name_may_have_slashes_after_the_first() -> None:
    assert split_name("github/repos/get") == ("github", "repos/get")
    assert split_pattern("*/repos/*") == ("*", "repos/*")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("45m", timedelta(minutes=45)), ("12h", timedelta(hours=12)), ("2w", timedelta(days=14))],
)
def test_durations_count_from_now(text: str, expected: timedelta) -> None:
    assert abs(read_until(text) - datetime.now(UTC) - expected) < timedelta(minutes=1)


def test_times_without_a_zone_are_utc() -> None:
    assert read_until("2999-01-31") == datetime(2999, 1, 31, tzinfo=UTC)
    assert read_until("2999-01-31T18:00+02:00") == datetime(2999, 1, 31, 16, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2020-01-01", "0d", "soon", "30", "999999w", "-1d", ""])
def test_impossible_ends_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        read_until(text)
    assert "30d" in (raised.value.hint or "")


def test_only_the_star_is_special() -> None:
    assert fits("git*b", "github")
    assert fits("*", "")
    assert not fits("git?ub", "github")
    assert not fits("github", "github2")
    assert fits("a.b", "a.b")
    assert not fits("a.b", "axb")


def test_joins_names_for_a_sentence() -> None:
    assert [join(["a"]), join(["a", "b"]), join(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
