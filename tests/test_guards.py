from __future__ import annotations

import random
import re
import time
import tracemalloc
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tool_rag_pg._unknown_names import NameChecker
from tool_rag_pg.demo import DEMO_FOLDER, read_folder
from tool_rag_pg.errors import InvalidArgument
from tool_rag_pg.guards import (
    InvalidCall,
    MissingIdentity,
    find_unknown_tool_names,
    hide_identity,
    prepare_call,
)
from tool_rag_pg.models import ToolHit

TEXT = {"type": "string"}
REFUND = {
    "type": "object",
    "properties": {
        "customer_id": {"type": "string", "pattern": "^c[0-9]+$"},
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "currency": {"enum": ["EUR", "GBP"]},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sku": TEXT, "quantity": {"type": "integer", "minimum": 1}},
                "required": ["sku"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["customer_id", "amount"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Tool:
    name: str = "refund_payment"
    input_schema: dict[str, Any] = field(default_factory=lambda: REFUND)
    is_action: bool = True
    identity_parameters: tuple[str, ...] = ("customer_id",)


SESSION = {"customer_id": "c7", "email": "a@b.test"}


def problems(schema: Any, arguments: Any) -> list[str]:
    """What a model reads about arguments; nothing where they fit."""
    try:
        prepare_call(Tool(input_schema=schema, identity_parameters=()), arguments, {})
    except InvalidCall as error:
        return [str(problem) for problem in error.problems]
    return []


def args(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


# Identity


def test_identity_comes_from_the_session() -> None:
    call = prepare_call(Tool(), {"amount": 5}, SESSION)
    assert call.arguments == {"customer_id": "c7", "amount": 5}
    assert call.overridden == ()
    assert call.confirmation_required is True


def test_what_the_model_wrote_of_identity_is_overridden() -> None:
    written = {"customer_id": "c1", "amount": 5}
    call = prepare_call(Tool(), written, SESSION)
    assert call.arguments["customer_id"] == "c7"
    assert call.overridden == ("customer_id",)
    assert written["customer_id"] == "c1"


@pytest.mark.parametrize("session", [{}, {"customer_id": None}, {"Customer_id": "c7"}])
def test_a_session_without_identity_is_an_error(session: dict[str, Any]) -> None:
    with pytest.raises(MissingIdentity, match="lacks customer_id") as caught:
        prepare_call(Tool(), {"customer_id": "c1", "amount": 5}, session)
    assert caught.value.parameters == ("customer_id",)


def test_identity_is_filled_even_where_the_schema_makes_it_optional() -> None:
    tool = Tool(input_schema=args(user=TEXT), identity_parameters=("user",))
    with pytest.raises(MissingIdentity):
        prepare_call(tool, {}, {})
    assert prepare_call(tool, {}, {"user": "u1"}).arguments == {"user": "u1"}


def test_a_value_of_the_session_that_does_not_fit_is_not_shown() -> None:
    with pytest.raises(InvalidArgument, match="the session's customer_id does not fit") as caught:
        prepare_call(Tool(), {"amount": 5}, {"customer_id": "secret"})
    assert not isinstance(caught.value, InvalidCall)
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_identity_that_nothing_declares_is_not_guessed() -> None:
    @dataclass(frozen=True)
    class Plain:
        name: str = "find"
        input_schema: dict[str, Any] = field(default_factory=dict)
        is_action: bool = False

    with pytest.raises(InvalidArgument, match="nothing says which arguments of find"):
        prepare_call(Plain(), {}, {})
    call = prepare_call(Plain(), {"a": 1}, {}, identity_parameters=())
    assert call.confirmation_required is False
    assert call.arguments == {"a": 1}
    with pytest.raises(InvalidArgument, match="one text"):
        prepare_call(Plain(), {}, {"user": 1}, identity_parameters="user")


def test_identity_of_a_hit_is_what_its_search_says() -> None:
    def hit(explain: dict[str, Any] | None) -> ToolHit:
        return ToolHit(
            rank=1,
            server="shop",
            name="refund_payment",
            title=None,
            description="",
            input_schema=REFUND,
            is_action=True,
            relevance=None,
            score=None,
            tokens=1,
            reason=None,
            explain=explain,
        )

    written = {"amount": 5, "customer_id": "c9"}
    call = prepare_call(hit({"identity_parameters": ["customer_id"]}), written, SESSION)
    assert (call.arguments["customer_id"], call.overridden) == ("c7", ("customer_id",))
    assert prepare_call(hit({"identity_parameters": []}), written, SESSION).overridden == ()
    for unknown in (None, {}):
        with pytest.raises(InvalidArgument, match="nothing says which arguments"):
            prepare_call(hit(unknown), written, SESSION)


def test_the_session_s_values_are_copied() -> None:
    session = {"who": {"id": 1}}
    tool = Tool(input_schema=args(), identity_parameters=("who",))
    call = prepare_call(tool, {}, session)
    call.arguments["who"]["id"] = 2
    assert session == {"who": {"id": 1}}


@given(st.dictionaries(st.sampled_from(["customer_id", "amount", "note"]), st.text() | st.none()))
def test_no_argument_changes_the_identity(written: dict[str, Any]) -> None:
    tool = Tool(input_schema=args(amount={}, customer_id={}, note={}))
    call = prepare_call(tool, written, SESSION)
    assert call.arguments == {**written, "customer_id": "c7"}
    assert call.overridden == (("customer_id",) if "customer_id" in written else ())


def test_hidden_identity_is_nowhere_in_the_schema() -> None:
    hidden = hide_identity(REFUND, ["customer_id"])
    assert list(hidden["properties"]) == ["amount", "currency", "lines"]
    assert hidden["required"] == ["amount"]
    assert "customer_id" in REFUND["properties"]  # type: ignore[operator]
    assert hide_identity(REFUND, []) == REFUND


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [args(who=TEXT, a=TEXT), {"required": ["who", "a"]}]},
        {"anyOf": [{**args(who=TEXT), "required": ["who"]}, args(a=TEXT)]},
        {"$ref": "#/$defs/Args", "$defs": {"Args": args(who=TEXT, a=TEXT)}},
        {
            "allOf": [{"$ref": "#/definitions/a~1b"}],
            "definitions": {"a/b": {"$ref": "#/definitions/c"}, "c": args(who=TEXT)},
        },
        {**args(a=TEXT), "dependentRequired": {"who": ["a"], "a": ["who"]}},
        {**args(a=TEXT), "dependentSchemas": {"a": args(who=TEXT), "who": {}}},
        {**args(a=TEXT), "dependencies": {"a": ["who"]}},
        {**args(a=TEXT), "if": {"required": ["who"]}, "then": args(who=TEXT), "else": args()},
        {**args(a=TEXT), "default": {"who": "x"}, "examples": [{"who": "x", "a": "y"}]},
    ],
)
def test_identity_is_hidden_wherever_it_is_declared(schema: dict[str, Any]) -> None:
    hidden = hide_identity(schema, ["who"])
    assert "who" not in re.findall(r"\w+", str(hidden))
    Draft202012Validator.check_schema(hidden)
    assert Draft202012Validator(hidden).is_valid({"a": "text"})


def test_hiding_keeps_definitions_in_use() -> None:
    schema = {
        **args(who=TEXT, shape={"$ref": "#/$defs/Shape"}),
        "$defs": {"Shape": TEXT, "Unused": TEXT},
    }
    assert hide_identity(schema, ["who"])["$defs"] == {"Shape": TEXT}


# Arguments


def test_arguments_that_fit_pass() -> None:
    text = '{"amount": 5, "currency": "EUR", "lines": [{"sku": "x", "quantity": 2}]}'
    assert prepare_call(Tool(), text, SESSION).arguments["lines"] == [{"sku": "x", "quantity": 2}]
    assert problems(args(), "") == []


def test_all_problems_are_said_at_once_with_what_belongs_there() -> None:
    with pytest.raises(InvalidCall) as caught:
        prepare_call(
            Tool(),
            {"amount": "5", "currency": "EURO", "lines": [{"quantity": 0, "skuu": 1}], "note": ""},
            SESSION,
        )
    assert [str(problem) for problem in caught.value.problems] == [
        'amount: "5" does not fit (expected: number, more than 0)',
        'currency: "EURO" is not allowed; did you mean "EUR"? (expected: one of "EUR", "GBP")',
        "lines[0].quantity: 0 does not fit (expected: integer, at least 1)",
        "lines[0].sku: it is missing (expected: string)",
        "lines[0].skuu: there is no such argument; did you mean sku?",
        "note: there is no such argument"
        " (expected: the known ones are customer_id, amount, currency, lines)",
    ]
    message = str(caught.value)
    assert message.startswith("the arguments do not fit refund_payment: ")
    assert caught.value.hint == "correct the arguments and call the tool again"
    assert {problem.path for problem in caught.value.problems} == {
        *("amount", "currency", "lines[0].sku", "lines[0].skuu", "lines[0].quantity", "note"),
    }
    assert caught.value.problems[1].allowed == ("EUR", "GBP")


def test_problems_are_bounded() -> None:
    found = problems(args(a={"type": "array", "items": TEXT}), {"a": list(range(5000))})
    assert len(found) == 10
    shown = problems(args(a={"const": 1}), {"a": "x" * 100_000})
    assert len(shown[0]) < 200


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        ({"pattern": "^A"}, "b", 'a: "b" does not match ^A (expected: matching ^A)'),
        ({"format": "date"}, "soon", 'a: "soon" is no date (expected: as date)'),
        ({"const": 3}, 4, "a: 4 is not allowed (expected: one of 3)"),
        ({"enum": [{"b": 1}, [2]]}, 4, 'a: 4 is not allowed (expected: one of {"b": 1}, [2])'),
        ({"type": ["integer", "null"]}, "x", 'a: "x" does not fit (expected: integer or null)'),
        ({"type": "array", "items": TEXT}, 1, "a: 1 does not fit (expected: array of string)"),
        ({"minItems": 1, "type": "array"}, [], "a: [] should be non-empty (expected: array)"),
        (
            {"anyOf": [TEXT, {"type": "integer", "minimum": 1}]},
            True,
            "a: true fits none of the alternatives (expected: string or integer, at least 1)",
        ),
        (
            {"oneOf": [{"minimum": 1}, {"maximum": 9}]},
            5,
            "a: 5 fits more than one of the alternatives (expected: at least 1 or at most 9)",
        ),
    ],
)
def test_a_problem_says_what_belongs_there(schema: Any, arguments: Any, expected: str) -> None:
    assert problems(args(a=schema), {"a": arguments}) == [expected]


def test_of_alternatives_the_one_that_was_meant_is_explained() -> None:
    def kind(value: str, **properties: Any) -> dict[str, Any]:
        return {**args(kind={"const": value}, **properties), "required": ["kind", *properties]}

    schema = args(to={"oneOf": [kind("mail", address=TEXT), kind("post", street=TEXT)]})
    assert problems(schema, {"to": {"kind": "post", "street": 1}}) == [
        "to.street: 1 does not fit (expected: string)"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'a': 1}", "they are no JSON"),
        ("[1]", "they are no JSON object"),
        ("null", "they are no JSON object"),
        ('{"a": NaN}', "NaN is no number"),
        ("[" * 100_000, "they are no JSON"),
    ],
)
def test_what_is_no_object_is_said_to_be_none(text: str, expected: str) -> None:
    assert expected in problems(args(), text)[0]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string", "required": True}}},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"properties": {"a": {"$ref": "https://nowhere.invalid/schema.json"}}},
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"properties": {"a": {"pattern": r"^\p{L}+$"}}},
        {"patternProperties": {"(?<x>a)": TEXT}, "additionalProperties": False},
    ],
)
def test_a_schema_that_is_none_still_checks_what_it_can(schema: dict[str, Any]) -> None:
    assert problems(schema, {"a": "text"}) == []


def test_a_schema_of_an_old_draft_is_read_as_such() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        **args(a={"type": "number", "minimum": 0, "exclusiveMinimum": True}),
    }
    assert problems(schema, {"a": 0}) != []
    assert problems(schema, {"a": 1}) == []


def test_no_pattern_takes_forever() -> None:
    start = time.perf_counter()
    assert problems(args(a={"pattern": "^(a+)+$"}), {"a": "a" * 40 + "!"}) == []
    assert problems(args(a={"pattern": "^(a|a)*$"}), {"a": "a" * 40 + "!"}) == []
    assert time.perf_counter() - start < 5


def test_nesting_without_end_is_a_problem_and_no_crash() -> None:
    schema = {"$defs": {"x": {"items": {"$ref": "#/$defs/x"}}}, **args(a={"$ref": "#/$defs/x"})}
    value: list[Any] = []
    for depth in range(5000):
        value = [value]
        if depth in (50, 150, 300, 450, 4999):
            found = problems(schema, {"a": value})
            assert found in ([], ["they are nested too deeply"])
            assert found == [] or depth > 50


# Names in a final text

KNOWN = ["payments/refund_payment", "payments/list_transactions", "crm/get_customer"]


def unknown(text: str, known: Iterable[str] = KNOWN, **options: Any) -> list[str]:
    return [found.name for found in find_unknown_tool_names(text, known, **options)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I used `refund_customer` to do it.", "refund_customer"),
        ("I called refund_payments for you.", "refund_payments"),
        ("You can run `cancelSubscription()` next.", "cancelSubscription"),
        ("The loyalty_points_ledger tool found nothing.", "loyalty_points_ledger"),
        ("Done by payments/void_charge.", "payments/void_charge"),
        ("Done by payments__void_charge.", "payments__void_charge"),
        ("Done by payments.void_charge.", "payments.void_charge"),
        (r"I ran create\_credit\_note.", "create_credit_note"),
        ("I tried **delete_account**.", "delete_account"),
        ("Then `send-receipt` mails it.", "send-receipt"),
        ("It needs calendar_create, which I lack.", "calendar_create"),
        ("get_custommer failed", "get_custommer"),
        ("I called lookup_order(id=3).", "lookup_order"),
    ],
)
def test_invented_names_are_found(text: str, name: str) -> None:
    (found,) = find_unknown_tool_names(text, KNOWN)
    assert found.name == name
    shown = text[found.position : found.position + len(name) + text.count("\\")]
    assert shown.replace("\\", "") == name


@pytest.mark.parametrize(
    "text",
    [
        "I refunded the payment with refund_payment and get_customer.",
        "`payments/refund_payment`, payments__refund_payment and payments.refund_payment are one.",
        "See https://example.com/get_user/create_order?x=find_item and mail do_it@example.com.",
        "The files create_report.py, list_items.csv and src/get_user.ts are attached.",
        "It is a well-known, up-to-date follow-up; sign-in works again, e.g. on booking.com.",
        "iPhone, eBay, JavaScript, macOS, GitHub, Node.js and v1.2.3 are fine.",
        "```python\nresult = get_weather(create_order())\n```",
        "Set MAX_RETRIES and `API_KEY`; pass update_mode=fast and {create_user} or $get_path.",
        '{"update_reason": "late", "create_date": "today"} was the answer.',
        "Payment pay_8841 for order ord_20931 and charge ch_3PqX9a is done.",
        "The order_number and the user_id, created_at and total_amount are in the mail.",
        "It is read_only; __init__ runs first. Open 24/7, and/or by phone.",
        "Done.Next we wait.I think so.",
        "",
    ],
)
def test_prose_and_code_are_no_tool_names(text: str) -> None:
    assert unknown(text) == []


def test_names_of_arguments_are_no_tools() -> None:
    text = "I set `update_policy` and send_mode."
    assert unknown(text) == ["update_policy", "send_mode"]
    assert unknown(text, argument_names=["update_policy", "send_mode"]) == []


def test_the_nearest_known_names_are_said() -> None:
    (found,) = find_unknown_tool_names("I called refund_paymnt.", KNOWN)
    assert found.nearest[0] == "payments/refund_payment"
    (other,) = find_unknown_tool_names("I called play_music.", KNOWN)
    assert other.nearest == ()


def test_each_name_is_found_once_in_the_order_of_the_text() -> None:
    text = "send_fax, then create_fax, then send_fax again"
    assert unknown(text) == ["send_fax", "create_fax"]
    assert unknown(text, known=[]) == ["send_fax", "create_fax"]


def test_the_demo_company_s_texts_name_no_unknown_tools() -> None:
    """Precision: 159 descriptions and all requests, which are full of identifiers."""
    folder = read_folder(DEMO_FOLDER)
    tools = [(export.server, tool) for export in folder.exports for tool in export.tools]
    checker = NameChecker(f"{server}/{tool.name}" for server, tool in tools)
    texts = [tool.description for _, tool in tools] + [each.query for each in folder.requests]
    assert len(texts) > 250
    assert [found for text in texts for found in checker.find_unknown(text)] == []


def test_most_names_invented_after_real_ones_are_found(seed: int) -> None:
    """Recall: another verb for a real tool, or a further word, in sentences of six kinds."""
    choose = random.Random(seed)
    folder = read_folder(DEMO_FOLDER)
    pairs = [(export.server, tool.name) for export in folder.exports for tool in export.tools]
    names = {name for _, name in pairs}
    checker = NameChecker(f"{server}/{name}" for server, name in pairs)
    frames = ["I used `{}`.", "I called {} for you.", "You can run {} next.", "The {} tool failed."]
    verbs = ["get", "list", "create", "update", "delete", "search", "send", "cancel", "approve"]
    tried = found = 0
    for name in sorted(names):
        parts = name.split("_")
        for frame in frames:
            invented = "_".join([choose.choice(verbs), *parts[1:]])
            if len(parts) < 2 or invented in names or "." in name or "-" in name:
                continue
            tried += 1
            hits = checker.find_unknown(frame.format(invented))
            found += [hit.name for hit in hits] == [invented]
    assert tried > 200
    assert found >= 0.95 * tried


def test_many_known_names_are_checked_quickly(seed: int) -> None:
    choose = random.Random(seed)
    words = [f"{a}{b}" for a in ("cus", "ord", "pay", "inv", "tic") for b in "abcdefghij"]
    known = [
        f"{choose.choice(('get', 'list', 'send'))}_{choose.choice(words)}_{n}"
        for n in range(44_000)
    ]
    checker = NameChecker(known)
    start = time.perf_counter()
    assert [found.name for found in checker.find_unknown("I called get_cusa_report.")]
    assert time.perf_counter() - start < 2, "0.1 s on an idle machine"


@given(st.text(alphabet=st.sampled_from("ab_./-`(){}<>= \\\nAZ09é検")))
def test_any_text_is_read(text: str) -> None:
    for found in find_unknown_tool_names(text, KNOWN):
        assert found.name not in KNOWN
        assert text[found.position] == found.name[0]


def test_the_docs_examples_run() -> None:
    text = (Path(__file__).parents[1] / "docs/guards.md").read_text(encoding="utf-8")
    tool = Tool(input_schema=args(customer_id=TEXT, amount={"type": "number"}))
    known: dict[str, Any] = {"tool": tool}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/guards.md", "exec"), known)
    assert list(known["shown"]["properties"]) == ["amount"]


@pytest.mark.parametrize(
    ("value", "factor", "fits"),
    [
        (19.99, 0.01, True),
        (0.3, 0.1, True),
        (1e308, 0.01, True),
        (19.995, 0.01, False),
        (7, 2, False),
        (8, 2, True),
    ],
)
def test_multiples_are_decimal(value: float, factor: float, fits: bool) -> None:
    found = problems({"properties": {"x": {"multipleOf": factor}}}, {"x": value})
    assert (found == []) is fits


def test_thousands_of_unique_items_are_checked_at_once() -> None:
    schema = {"properties": {"x": {"uniqueItems": True}}}
    items: list[Any] = [{"a": number, "b": [number]} for number in range(20_000)]
    assert problems(schema, {"x": items}) == []
    assert problems(schema, {"x": [*items, {"b": [5.0], "a": 5}]}) != []
    assert problems(schema, {"x": [1, True, "1", [1], 0, False]}) == []


@pytest.mark.parametrize("pattern", ["^a*a*a*a*a*$", r"^\s*[\w.]+\s*[\w.]*\s*$"])
def test_a_pattern_of_many_repeats_is_checked_on_short_texts_only(pattern: str) -> None:
    schema = {"properties": {"x": {"pattern": pattern}}}
    assert problems(schema, {"x": "a" * 20_000 + "!"}) == []
    assert problems(schema, {"x": "aa!"}) != []
    assert problems({"properties": {"x": {"pattern": "^[a-z]+$"}}}, {"x": "a" * 9_000 + "!"}) != []


@pytest.mark.parametrize("written", ['{"n": NaN}', '{"n": 1e999}', {"n": float("inf")}])
def test_numbers_that_json_lacks_are_refused(written: Any) -> None:
    with pytest.raises(InvalidArgument, match="number"):
        prepare_call(Tool(input_schema={}, identity_parameters=()), written, {})


def test_arguments_are_bounded() -> None:
    with pytest.raises(InvalidArgument, match="at most 1,000,000"):
        prepare_call(Tool(input_schema={}, identity_parameters=()), {"text": "x" * 1_000_000}, {})


def test_identity_in_another_case_is_overridden_too() -> None:
    tool = Tool(
        input_schema={"properties": {"customer_id": {}, "note": {}}},
        identity_parameters=("customer_id",),
    )
    call = prepare_call(tool, {"Customer_ID": 7, "note": "x"}, {"customer_id": 1})
    assert call.arguments == {"note": "x", "customer_id": 1}
    assert call.overridden == ("Customer_ID",)


def test_alternatives_that_double_with_each_level_are_given_up() -> None:
    """A schema of some kB whose alternatives are 2^26: no server can hold a backend up by it."""
    levels = {
        f"l{level}": {"anyOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(26)
    }
    schema = {
        "type": "object",
        "$defs": {**levels, "l26": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/l0"}},
        "required": ["a"],
    }
    tool = SimpleNamespace(name="t", input_schema=schema, is_action=False)
    tracemalloc.start()
    prepared = prepare_call(tool, {"a": 1}, {}, identity_parameters=())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # What can't be checked within bounds is left to the tool.
    assert prepared.arguments == {"a": 1}
    assert peak < 200_000_000
    hidden = hide_identity({**schema, "anyOf": [{"$ref": "#/$defs/l0"}] * 2}, ["a"])
    assert "a" not in hidden.get("properties", {})
    # A large list of simple things is checked to its end.
    rows = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    plain = SimpleNamespace(
        name="t",
        input_schema={"type": "object", "properties": {"rows": rows}},
        is_action=False,
    )
    many = [{"n": number} for number in range(5_000)]
    with pytest.raises(InvalidCall, match=r"rows\[4999\]"):
        prepare_call(plain, {"rows": [*many[:-1], {"n": "x"}]}, {}, identity_parameters=())
