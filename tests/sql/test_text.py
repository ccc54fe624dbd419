"""sql/functions/010_text.sql: the same words as Python's, and the same lexemes in any locale."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import MakeDatabase
from tests.sql.conftest import Connection, add_role, allow, fetch, search, upsert
from tool_rag_pg.embedding import wordpiece

# Nothing but U+0000, which no text in Postgres can hold, and surrogates, which are no characters.
CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])

# Letters of Unicode 15 to 17 that have a lower case or a normal form, where a newer Python knows
# them and an older Postgres does not. None is in a word piece.
NEWER = (
    (0x1C89, 0x1C8A),
    (0xA7CB, 0xA7DC),
    (0x105C0, 0x105FF),
    (0x10D40, 0x10D8F),
    (0x11380, 0x113FF),
    (0x16100, 0x1613F),
    (0x16D40, 0x16D7F),
    (0x16E90, 0x16EDF),
    (0x1E000, 0x1E2FF),
)


def _is_told(code: int) -> bool:
    """Whether to test a character: of those in large uniform blocks a sample and all ends."""
    name = unicodedata.name(chr(code), "")
    uniform = unicodedata.category(chr(code)) == "Co" or name.startswith(
        ("CJK UNIFIED IDEOGRAPH", "HANGUL SYLLABLE", "TANGUT IDEOGRAPH")
    )
    ends = any(unicodedata.category(chr(near)) == "Cn" for near in (code - 1, code + 1))
    return not uniform or ends or code % 32 == 0 or code & 0xFF in (0, 0xFF)


ASSIGNED = [
    code
    for code in range(1, 0x10FFFE)
    if unicodedata.category(chr(code)) not in ("Cn", "Cs")
    and _is_told(code)
    and not any(first <= code <= last for first, last in NEWER)
]
CHUNK = 20_000

ODD = (
    "",
    " ",
    "Hello, World!",
    "getUserInfo_v2.list-all",
    "naïve café, ÀÉÎÕÜ",
    "e\u0301\u0301e",
    "İstanbul ıI DİYARBAKIR",
    "ΣΊΣΥΦΟΣ Ελληνικά ς",
    "straße STRASSE ẞ",
    "天気予報を教えて 東京の\U00020000x",
    "한국어 문서 각",
    "การแปลภาษา",
    "हिन्दी में मौसम",
    "مرحبا، بالعالم",
    "ﷺ ﬁ ① ½ Ⅷ",
    "a\u00adb a\u200bb a\u200db \ufeffc d\ufffde",
    "x\u00a0y\u3000z\u2028w\u0085v",
    "\x01\x02\t\n\r\x0b\x0c\x1b[0mred\x7f",
    "👩\u200d👩\u200d👧 🇫🇷 ❤\ufe0f",
    "\ue000private\U000f0000",
    "K Å Ω",
    "__init__ $x <y> `z` ~^|",
    "ＡＢＣ１２３",
    "ǅ ǆ Ǆ",
    "Ⴀ Ꭰ ꭰ Ა",
    "\u0301 lone mark",
)


def words(connection: Connection, texts: list[str]) -> list[list[str]]:
    rows = connection.execute(
        "select array(select tool_rag._words(t)) from unnest(%s::text[]) with ordinality u (t, n)"
        " order by n",
        [texts],
    ).fetchall()
    return [row[0] for row in rows]


def lexical(connection: Connection, text: str) -> str:
    """Return the text for to_tsvector with single spaces: how many there are means nothing."""
    return " ".join(fetch(connection, "select tool_rag._lexical_text(%s)", text).split(" ")).strip()


def lexemes(connection: Connection, texts: list[str], config: str = "simple") -> list[str]:
    rows = connection.execute(
        "select to_tsvector(%s::regconfig, tool_rag._lexical_text(t))::text"
        " from unnest(%s::text[]) with ordinality u (t, n) order by n",
        [config, texts],
    ).fetchall()
    return [row[0] for row in rows]


def test_words_are_pythons_for_every_character(connection: Connection) -> None:
    differing = []
    for start in range(0, len(ASSIGNED), CHUNK):
        codes = ASSIGNED[start : start + CHUNK]
        texts = [f"Q{chr(code)}b {chr(code)}" for code in codes]
        ours = words(connection, ["\n;\n".join(texts)])[0]
        if ours != wordpiece.split_words("\n;\n".join(texts)):
            differing += [
                hex(code)
                for code, found, text in zip(codes, words(connection, texts), texts, strict=True)
                if found != wordpiece.split_words(text)
            ]
    assert differing == []


def test_lower_is_pythons_for_every_character(connection: Connection) -> None:
    for start in range(0, len(ASSIGNED), CHUNK):
        chunk = [
            text
            for code in ASSIGNED[start : start + CHUNK]
            for text in [unicodedata.normalize("NFD", chr(code))]
        ]
        lowered = fetch(connection, "select tool_rag._lower(%s)", "\n".join(chunk)).split("\n")
        if chunk[:1] == ["\x01"]:
            # The line feed itself has made two empty lines.
            del lowered[9:11], chunk[9]
        assert [
            (text, ours)
            for text, ours in zip(chunk, lowered, strict=True)
            if ours != "".join(map(str.lower, text))
        ] == []


def test_fold_marks_is_pythons_for_every_character(connection: Connection) -> None:
    marks = {chr(code) for first, last in wordpiece.MARKS for code in range(first, last + 1)}
    differing = []
    for start in range(0, len(ASSIGNED), CHUNK):
        codes = ASSIGNED[start : start + CHUNK]
        rows = connection.execute(
            "select c, tool_rag._fold_marks(string_agg(chr(c), 'x' order by c))"
            " from (select c, (row_number() over (order by c) - 1) / 50 as g"
            "   from unnest(%s::int[]) c) c group by g, c order by c",
            [codes],
        ).fetchall()
        differing += [
            hex(code)
            for code, folded in rows
            if folded
            != "".join(c for c in unicodedata.normalize("NFD", chr(code)) if c not in marks)
        ]
    assert differing == []


def test_words_of_odd_texts_are_pythons(connection: Connection) -> None:
    assert words(connection, list(ODD)) == [wordpiece.split_words(text) for text in ODD]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(CHARACTERS, max_size=40), max_size=20))
def test_words_of_any_text_are_pythons(connection: Connection, texts: list[str]) -> None:
    texts = [text for text in texts if all(ord(c) in KNOWN for c in text)]
    assert words(connection, texts) == [wordpiece.split_words(text) for text in texts]


KNOWN = frozenset(ASSIGNED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Refund the PAYMENT", "refund the payment"),
        ("get_user-info.v2/list:all#x", "get user info v2 list all x"),
        ("getUserInfo", "getuserinfo get user info"),
        ("parseHTTPResponse2 now", "parsehttpresponse2 now parse http response2"),
        ("HTTPServer", "httpserver http server"),
        ("sha256Sum", "sha256sum sha256 sum"),
        ("ALLCAPS lower 2024", "allcaps lower 2024"),
        ("it's 3.14, e-mail!", "it s 3 14 e mail"),
        ("café Über naïve", "cafe uber naive"),
        ("cafe\u0301", "cafe"),
        ("ＡＢＣ１２３", "abc123"),
        ("ﬁle №5", "file no5"),
        ("Погода В МОСКВЕ", "погода в москве"),
        ("Ёлка й", "елка и"),
        ("ΚΑΛΗΜΈΡΑ", "καλημερα"),
        ("مُدَرِّس", "مدرس"),
        ("שָׁלוֹם", "שלום"),
        ("天気", "天 天気 気"),
        ("天", "天"),
        ("東京tower", "東 東京 京 tower"),
        ("カメラ", "カ カメ メ メラ ラ"),
        ("ｶﾒﾗ", "カ カメ メ メラ ラ"),
        ("天気、晴れ", "天 天気 気 晴 晴れ れ"),
        ("한국 서울", "한 한국 국 서 서울 울"),
        ("ภาษา", "ภ ภา า าษ ษ ษา า"),
        ("\U00020000\U00020001", "\U00020000 \U00020000\U00020001 \U00020001"),
        ("😀 party 🎉🎉", "party"),
        ("₿ → ∑ ©", ""),
        ("… — “quoted” «so»", "quoted so"),
        ("a\u200bb", "a b"),
        ("हिन्दी मौसम", "हिन्दी मौसम"),
    ],
)
def test_lexical_text(connection: Connection, text: str, expected: str) -> None:
    # Vowel signs go as letters, which a reason turns back.
    row = connection.execute(
        "select tool_rag._restore_marks(tool_rag._lexical_text(%s))", (text,)
    ).fetchone()
    assert row is not None
    assert " ".join(row[0].split()) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("फूल", "फल"),
        ("मेल", "मूल"),
        ("তুমি", "তমি"),
        ("কু", "কি"),
        ("கு", "கி"),
        ("สี", "สู"),
        ("ก็", "กี"),
        ("ខ្មែរ", "ខែរ"),
        ("が", "か"),
        ("パス", "バス"),
    ],
)
def test_vowel_signs_tell_words_apart(connection: Connection, one: str, other: str) -> None:
    # They are no accents, though Unicode counts many of them among the non-spacing marks.
    assert lexical(connection, one) != lexical(connection, other)
    assert lexemes(connection, [one]) != lexemes(connection, [other])


def test_composed_and_decomposed_text_is_one(connection: Connection) -> None:
    for text in ODD:
        assert lexical(connection, unicodedata.normalize("NFC", text)) == lexical(
            connection, unicodedata.normalize("NFD", text)
        )


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(CHARACTERS, max_size=60))
def test_lexical_text_has_neither_capitals_nor_ascii_punctuation(
    connection: Connection, text: str
) -> None:
    made = fetch(connection, "select tool_rag._lexical_text(%s)", text)
    assert {c for c in made if c.isascii()} <= set("abcdefghijklmnopqrstuvwxyz0123456789 ")
    assert fetch(connection, "select tool_rag._lower(%s)", made) == made


def test_a_session_that_reads_backslashes_otherwise(connection: Connection, database: str) -> None:
    # Bodies of functions are parsed in the session that calls them first, under its settings.
    texts = list(ODD)
    expected = [lexical(connection, text) for text in texts], words(connection, texts)
    with psycopg.connect(database) as other:
        other.execute("set standard_conforming_strings = off; set escape_string_warning = off")
        assert ([lexical(other, text) for text in texts], words(other, texts)) == expected
        add_role(other, "one")
        add_role(other, "two")
        other.execute("select set_config('tool_rag.roles', 'one , two', true)")
        caller = "select role_ids from tool_rag._caller(null, null, null)"
        assert len(fetch(other, caller)) == 2


def test_null_stays_null(connection: Connection) -> None:
    for function in ("_lexical_text", "_lower", "_fold_marks"):
        assert fetch(connection, f"select tool_rag.{function}(null)") is None
    assert fetch(connection, "select count(*) from tool_rag._words(null)") == 0


@pytest.mark.parametrize(
    "piece", ["天気予報を教えて", "การแปลภาษา", "서울날씨", "a", "aB", "e\u0301", "!?"]
)
def test_long_texts_take_time_in_proportion(connection: Connection, piece: str) -> None:
    # Not a measurement: the square of this length would take minutes.
    connection.execute("set local statement_timeout = '20s'")
    text = (piece * 100_000)[:100_000]
    made = fetch(connection, "select length(tool_rag._lexical_text(%s))", text)
    assert made >= (0 if piece == "!?" else 1000)
    assert fetch(connection, "select count(*) from tool_rag._words(%s)", text) >= 1


LOCALES = {
    "LC_CTYPE=C": {"lc_collate": "C.UTF-8", "lc_ctype": "C", "encoding": "UTF8"},
    "C.UTF-8": {"locale": "C.UTF-8", "encoding": "UTF8"},
}

# A request in each script, and what it asks for: (request, name, description).
SCRIPTS = (
    ("ПОГОДА в Москве", "погода", "Прогноз погоды; погода в городе"),
    ("東京の天気を教えて", "tenki", "指定した都市の天気予報を取得します"),
    ("帮我翻译这段文字", "fanyi", "把文字翻译成另一种语言"),
    ("ช่วยแปลภาษาให้หน่อย", "plae", "แปลภาษาไทยเป็นภาษาอังกฤษ"),
    ("오늘 서울 날씨 알려줘", "nalssi", "도시의 날씨를 알려줍니다"),
    ("أريد حجز فندق", "hajz", "حجز فندق في مدينة"),
    ("réserver un HÔTEL à Orléans", "reservation", "Réserver une chambre d'hôtel"),
    ("होटल बुक करो", "hotal", "होटल में कमरा बुक करो"),
    ("ΚΡΆΤΗΣΗ δωματίου", "kratisi", "Κράτηση δωματίου"),
    ("להזמין מלון", "malon", "להזמין חדר במלון; מלון"),
    ("បកប្រែភាសា", "bokbrae", "បកប្រែភាសាខ្មែរ"),
    ("ဘာသာပြန်ပေးပါ", "batha", "မြန်မာဘာသာပြန်"),
    ("đặt phòng khách sạn", "dat", "Đặt phòng tại khách sạn"),
    ("ԵՂԱՆԱԿ Երևանում", "yeghanak", "եղանակ քաղաքում"),
)


@pytest.fixture(params=LOCALES)
def elsewhere(
    request: pytest.FixtureRequest, make_database: MakeDatabase
) -> Iterator[psycopg.Connection[Any]]:
    """A migrated database of another locale."""
    with psycopg.connect(make_database(migrated=True, **LOCALES[request.param])) as other:
        # What the locale decides, and what our functions must not ask it.
        knows = fetch(other, "select 'É' ~ '[[:alpha:]]'")
        assert knows == (request.param == "C.UTF-8")
        yield other


def test_any_locale_gives_the_same_text_words_vectors_and_lexemes(
    connection: Connection, elsewhere: psycopg.Connection[Any]
) -> None:
    texts = [*ODD, *(text for script in SCRIPTS for text in script)]
    letters = [
        f"{chr(code)}a {chr(code)}"
        for code in ASSIGNED
        if unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt", "Lo", "Nd")
    ]
    letters = [" ".join(letters[start : start + 100]) for start in range(0, len(letters), 700)]
    for config in ("simple", "english", "russian"):
        assert lexemes(elsewhere, texts, config) == lexemes(connection, texts, config)
    assert lexemes(elsewhere, letters) == lexemes(connection, letters)
    assert words(elsewhere, texts) == words(connection, texts)
    for text in texts:
        assert lexical(elsewhere, text) == lexical(connection, text)
    vectors = "select array_agg(tool_rag.embed(t)::text) from unnest(%s::text[]) t"
    assert fetch(elsewhere, vectors, texts) == fetch(connection, vectors, texts)


def test_every_script_is_found_in_any_locale(elsewhere: psycopg.Connection[Any]) -> None:
    tools = [{"name": name, "description": text} for _, name, text in SCRIPTS]
    upsert(elsewhere, {"server": "world", "tools": tools})
    add_role(elsewhere, "all")
    allow(elsewhere, "all")
    for request, name, _ in SCRIPTS:
        first = search(elsewhere, request)[0]
        assert first["name"] == name
        assert first["explain"]["words"]["rank"] == 1
