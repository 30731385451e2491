"""The laws of text analysis: what is written differently but means the same is found."""

import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import Stemmer
from hypothesis import example, given
from hypothesis import strategies as st
from tables import each_row

from memoranda.text.patterns import languages_with, words_of
from memoranda.text.terms import TermAnalyzer, guess_language

ANALYZER = TermAnalyzer()
PAIRS = [
    tuple(part.strip() for part in line.split("|"))
    for line in Path(__file__).with_name("found_by.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* N* Co M*'"
TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="aZ9_.,'+#- @é\u0301\u017fß\u0130\u1e9e\u0345\u200d\u2019"),
    st.lists(st.sampled_from([text for pair in PAIRS for text in pair])).map(" ".join),
)


@each_row(("query", "text"), PAIRS)
def test_a_query_finds_its_text(query: str, text: str):
    """Case, accents, inflection, script and notation do not stand between query and text."""
    wanted = set(ANALYZER.query_terms(query))
    assert wanted & set(ANALYZER.terms(text)), (wanted, ANALYZER.terms(text))


@each_row
def test_a_query_does_not_find_what_only_looks_alike(query: str, text: str):
    """Terms keep apart what is different.

    3.11 | 311 people
    C++ | vitamin c
    京都府 | 東京の天気
    resignation | a resident of Rome
    🎂 | 🎉
    """
    assert not set(ANALYZER.query_terms(query)) & set(ANALYZER.terms(text))


@each_row
def test_the_terms_of_a_text(text: str, terms: str):
    """The notations of the table in the module give the terms it states.

    Melanie's dogs | melani dog
    getUserName | getusernam get user name
    1,250.50 | 1250p50 1250 50
    3.11.2 | 3p11p2 3p11 3 11 2
    C++ .NET C#! | cplusplus dotnet net csharp
    👨‍👩‍👧 👍🏽 🇵🇹 | u1f468 u1f469 u1f467 u1f44d u1f1f5u1f1f9
    東京都 | 東 東京 京 京都 都
    """
    assert ANALYZER.terms(text) == terms.split()
    assert ANALYZER.terms("!?… \u0301 \ue000") == []


def test_english_is_plain_porter2():
    """A query in English is Porter2 stems, distinct and in order, without stop words."""
    query = "When did the painters and the painter go camping in the mountains?"
    words = ["painters", "painter", "go", "camping", "mountains"]
    stems = Stemmer.Stemmer("english").stemWords(words)
    assert ANALYZER.query_terms(query) == list(dict.fromkeys(stems))


def test_a_query_leaves_out_what_only_drowns_its_ranking():
    """Stop words, unless there is nothing else; single characters of an unspaced script, too."""
    assert ANALYZER.terms("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert ANALYZER.query_terms("to be or not to be") == ["to", "be", "or", "not"]
    assert (ANALYZER.query_terms("東京"), ANALYZER.query_terms("東")) == (["東京"], ["東"])


def test_a_language_needs_evidence():
    """Text is English unless more function words say otherwise; each list is its own."""
    assert guess_language(["lisbon", "trip"]) == guess_language(["i", "met"]) == "en"
    assert guess_language(["los", "niños"]) == "es"
    known = {each: words_of("function_words", each) for each in languages_with("function_words")}
    assert {each: guess_language(words) for each, words in known.items()} == {e: e for e in known}


@given(TEXTS)
@example("Ǆ ŉ ẚ ΐ ﬃ ㍿ ½ \u0e33 \u1100\u1161\u11a8")
@example("K")
def test_any_unicode_form_gives_the_same_terms(text: str):
    """Nothing raises, and composed, decomposed and repeated reading agree."""
    terms = ANALYZER.terms(text)
    assert ANALYZER.terms(unicodedata.normalize("NFD", text)) == terms
    assert ANALYZER.terms(unicodedata.normalize("NFC", text)) == terms
    assert TermAnalyzer().terms(text) == terms
    assert all(0 < len(term) <= 64 for term in terms)


@given(TEXTS)
def test_a_text_is_found_by_itself(text: str):
    """What a text asks for as a query is a part of what it is indexed under."""
    query = ANALYZER.query_terms(text)
    terms = set(ANALYZER.terms(text))
    assert set(query) <= terms
    assert len(query) == len(set(query))
    assert bool(query) == bool(terms)


def split(texts: list[str]) -> list[list[str]]:
    """Return the tokens that an index with the tokenizer of the store makes of each text."""
    with closing(apsw.Connection(":memory:")) as index:
        index.execute(f'create virtual table texts using fts5(x, tokenize="{TOKENIZER}")')
        index.execute("create virtual table seen using fts5vocab(texts, instance)")
        index.execute("begin")
        index.executemany("insert into texts(rowid, x) values(?, ?)", enumerate(texts))
        tokens: list[list[str]] = [[] for _ in texts]
        for term, row in index.execute("select term, doc from seen order by doc, offset"):
            tokens[row].append(term)
        return tokens


def test_every_character_of_unicode_gives_terms_that_an_index_keeps_whole():
    """FTS5 neither splits nor folds any term, whatever character it comes from."""
    # Of the tens of thousands of Han and Hangul characters, which are all alike, a few do.
    spans = [(0x80, 0x3500), (0x9F00, 0xAD00), (0xD700, 0xD800), (0xF900, 0x17100)]
    spans += [(0x18A00, 0x20100), (0x2F800, 0x2FA20), (0xE0000, 0xE0200)]
    characters = [chr(c) for start, end in spans for c in range(start, end)]
    characters = [c for c in characters if unicodedata.category(c) != "Cn"]
    terms = {term for c in characters for term in ANALYZER.terms(f"{c} a{c}b")}
    expected = sorted(terms)
    assert split(expected) == [[term] for term in expected]


@given(text=TEXTS)
def test_any_text_gives_terms_that_an_index_keeps_whole(text: str):
    """FTS5 reads joined terms back as exactly these terms."""
    terms = ANALYZER.terms(text)
    assert split([" ".join(terms)]) == [terms]


def test_threads_share_an_analyzer():
    """Many threads get the same terms at the same time as one alone."""
    texts = [text for pair in PAIRS for text in pair]
    alone, shared = [TermAnalyzer().terms(text) for text in texts], TermAnalyzer()
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda _: [shared.terms(text) for text in texts], range(16)))
    assert read == [alone] * 16


@each_row("unit", ["word ", "a", "aB", "1,", "a_", "東", "e\u0301", "\u0301", "🎂'"])
def test_time_grows_with_the_text_and_no_faster(unit: str):
    """Eight times the text takes about eight times as long, whatever it is made of."""

    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        ANALYZER.terms(text)
        times = []
        for _ in range(2):
            start = time.process_time()
            ANALYZER.terms(text)
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(40_000) < 40 * seconds(5_000) + 0.05


def test_long_words_are_cut_alike_in_texts_and_queries():
    """A hash of any length is one term, found by itself; the name says which stemmer made terms."""
    text = "deadbeef" * 50
    assert ANALYZER.terms(text) == ANALYZER.query_terms(text)
    assert len(ANALYZER.terms(text)[0]) == 64
    assert ANALYZER.name == f"snowball-{Stemmer.version()}-2"
