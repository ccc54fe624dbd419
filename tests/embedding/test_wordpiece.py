from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from tool_rag_pg.embedding import wordpiece
from tool_rag_pg.embedding.weights import default_weights
from tool_rag_pg.embedding.wordpiece import normalise, split_words, word_pieces

UNKNOWN = "[UNK]"

ODD_TEXTS = [
    "",
    " \t\r\n ",
    "This customer got charged twice, give them their money back!",
    "getUserInfo get_user_info get-user-info v2.1/users?id=7&x=[1,2]",
    "don't re-index O'Brien's e-mail: a@b.co #1 $5.00 50% ~/x `y` a|b <tag>",
    "Crème BRÛLÉE à la façon de Müller, naïve Ångström",
    "e\u0301 = \u00e9, o\u0308 = \u00f6, \u1e9e \u00df \ufb01 \u0130stanbul \u0131",
    "ΟΔΟΣ ΣΑΣ ς Αθήνα",
    "Покажи баланс моего счёта",
    "天気を教えてください。東京の明日の天気は？",
    "查询我的账户余额 user_id=42",
    "내 계좌 잔액을 보여줘",
    "اعرض رصيد حسابي، من فضلك؟",
    "הראה לי את היתרה שָׁלוֹם",
    "मेरे खाते का शेष दिखाओ।",
    "แสดงยอดเงินในบัญชี",
    "ยอด 12๓ ١٢٣ ½ ² x² H₂O №5 ™",
    "a\u200bb zero\u200dwidth soft\u00adhyphen bom\ufeffhere \u202eright-to-left",
    "nul\x00byte bell\x07 vertical\x0btab form\x0cfeed next\x85line",
    "no\u00a0break em\u2003space ideographic\u3000space line\u2028separator",
    "“quotes” ‘single’ – en — em … • ¿qué? «¡hola!» § ¶",
    "rocket 🚀 flag 🇩🇪 family 👨\u200d👩\u200d👧 thumbs 👍🏽 heart ❤\ufe0f",
    "１２３ ＡＢＣ ｶﾀｶﾅ ﷺ",
    "\U00020000\U0002b820\uf900 豈 㐀",
    "\ufffd\ue000\U0010fffd replacement and private",
    "a" * 100,
    "a" * 101,
    "é" * 100 + " " + "é" * 101,
    "word" + "##s ##ing",
    "[MASK] [SEP] [CLS] [unused1] [PAD]",
    "\u1d2c\u02b0 modifier letters \u0345 \u0308alone",
]


@pytest.fixture(scope="module")
def vocabulary() -> dict[str, int]:
    return {piece: position for position, piece in enumerate(default_weights().pieces)}


@pytest.fixture(scope="module")
def known_characters(vocabulary: dict[str, int]) -> st.SearchStrategy[str]:
    alphabet = sorted({character for piece in vocabulary for character in piece})
    return st.sampled_from([*alphabet, *"ÀÉÎÕÜŐŞЙΣİ \u0301\u0308\u00ad-_./ "])


@pytest.fixture(scope="module")
def reference(vocabulary: dict[str, int]) -> Tokenizer:
    # BertWordPieceTokenizer without special tokens, which would be cut out of a text that has them
    pieces = {**vocabulary, UNKNOWN: len(vocabulary)}
    tokenizer = Tokenizer(WordPiece(pieces, unk_token=UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def reference_pieces(reference: Tokenizer, text: str) -> list[str]:
    tokens = reference.encode(text, add_special_tokens=False).tokens
    return [token for token in tokens if token != UNKNOWN]


@pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
def test_odd_texts_split_as_the_reference_does(
    text: str, vocabulary: dict[str, int], reference: Tokenizer
) -> None:
    assert word_pieces(text, vocabulary) == reference_pieces(reference, text)


def test_every_code_point_splits_as_the_reference_does(
    vocabulary: dict[str, int], reference: Tokenizer
) -> None:
    # One text a block of 16, each character alone and between letters, all planes in use.
    planes = [*range(0x1, 0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)]
    texts = []
    for start in range(0, len(planes), 16):
        block = map(chr, planes[start : start + 16])
        texts.append(" ".join(f"a{character}b {character}" for character in block))
    encoded = reference.encode_batch(texts, add_special_tokens=False)
    for text, expected in zip(texts, encoded, strict=True):
        tokens = [token for token in expected.tokens if token != UNKNOWN]
        assert word_pieces(text, vocabulary) == tokens, ascii(text)


@settings(max_examples=400, deadline=None)
@given(text=st.text(max_size=200))
def test_any_text_splits_as_the_reference_does(
    text: str, vocabulary: dict[str, int], reference: Tokenizer
) -> None:
    assert word_pieces(text, vocabulary) == reference_pieces(reference, text)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_texts_of_known_characters_split_as_the_reference_does(
    data: st.DataObject,
    vocabulary: dict[str, int],
    known_characters: st.SearchStrategy[str],
    reference: Tokenizer,
) -> None:
    text = data.draw(st.text(alphabet=known_characters, max_size=60))
    assert word_pieces(text, vocabulary) == reference_pieces(reference, text)


def test_the_longest_piece_wins_and_a_word_is_whole_or_absent() -> None:
    known = {"refund", "re", "##fund", "##able", "##a", "pay"}
    assert word_pieces("refundable REFUND", known) == ["refund", "##able", "refund"]
    assert word_pieces("refundz pay", known) == ["pay"]


def test_normalising_is_idempotent_for_plain_text() -> None:
    once = normalise("Crème\tBrûlée  東京")
    assert once == "creme brulee   東  京 "
    assert split_words(once) == ["creme", "brulee", "東", "京"]


@pytest.mark.parametrize("name", ["REMOVED", "SPACES", "IDEOGRAPHS", "MARKS", "PUNCTUATION"])
def test_tables_are_sorted_and_disjoint(name: str) -> None:
    ranges: wordpiece.Ranges = getattr(wordpiece, name)
    bounds = [bound for pair in ranges for bound in pair]
    assert bounds == sorted(bounds)
    assert len({first for first, _ in ranges}) == len(ranges)


def test_marks_are_nonspacing_marks() -> None:
    odd = [
        code
        for first, last in wordpiece.MARKS
        for code in range(first, last + 1)
        if unicodedata.category(chr(code)) != "Mn"
    ]
    assert odd == [0x1734]
