"""Signals: what a message is, as a person would say, and what it never is."""

import json
from collections import Counter
from dataclasses import asdict, fields
from itertools import product
from pathlib import Path
from time import process_time

from hypothesis import given
from hypothesis import strategies as st
from message_samples import call, message, result
from tables import each_row

from memoranda.conversation.scoring import score
from memoranda.conversation.signals import NONE, READ, Signals, refers_to_earlier, signals
from memoranda.model.models import Image

JUDGED = Path(__file__).with_name("judged.txt")
ROLES = {"call": "assistant", "failed": "tool"}
LANGUAGES = 8
CUES = ["rule", "error", "correction", "casual", "reference", "opening"]
CUES += ["decision", "finished", "announcement"]


def said(text, who="user"):
    """Return the names of the signals of what someone said."""
    found = asdict(signals(message(who, text)))
    return {name for name, value in found.items() if value}


def judged():
    """Yield each judged message: whether it is important, the message, its signals by name."""
    for line in JUDGED.read_text("utf-8").splitlines():
        if not line.startswith(("+", "-")):
            continue
        head, text = line.split(" | ", 1)
        mark, who, *names = head.split()
        role = ROLES.get(who, who)
        pairs = (name.partition("=") for name in names)
        expected = {name: int(count or 1) for name, _, count in pairs}
        content = text.replace("\\n", "\n").replace("\\t", "\t")
        if role == "tool":
            yield mark == "+", result(content, is_error=who == "failed"), expected
        elif who == "call":
            yield mark == "+", call(*text.split(" ", 1)), expected
        else:
            yield mark == "+", message(role, content), expected


CASES = list(judged())
NAMES = [field.name for field in fields(Signals)]


def tally(name):
    """Return how often a signal is there and rightly so, wrongly there, and wrongly missing."""
    pairs = [(bool(getattr(signals(m), name)), name in want) for _, m, want in CASES]
    counts = Counter(pairs)
    return counts[True, True], counts[True, False], counts[False, True]


@each_row("name", NAMES)
def test_a_signal_is_right_where_it_is_there(name):
    """No signal rather than a wrong one: precision is 0.95 at least, recall 0.9."""
    right, wrong, missing = tally(name)
    assert right / (right + wrong) >= 0.95
    assert right / (right + missing) >= 0.9


def test_content_scores_agree_with_a_person():
    """N2.4: of two messages a person finds one more important, it has the higher score."""
    scored = [(important, score(m, signals(m))) for important, m, _ in CASES]
    high = [value for important, value in scored if important]
    low = [value for important, value in scored if not important]
    won = sum((a > b) + (a == b) / 2 for a, b in product(high, low))
    assert won / (len(high) * len(low)) > 0.9
    lost = sum(a < b for a, b in product(high, low))
    assert lost / (len(high) * len(low)) < 0.02


@each_row(
    ("who", "text", "there", "absent"),
    [
        ("user", "thanks, but never do that again", {"constraint", "directive"}, {"casual"}),
        ("user", "No errors found, thanks.", set(), {"error"}),
        ("user", "Fix the error handling, please.", {"directive"}, {"error"}),
        ("user", "0 failed, 12 passed", set(), {"error"}),
        ("user", "Do you always do that?", set(), {"constraint", "directive"}),
        ("user", "Could you always do that?", {"constraint", "directive"}, set()),
        ("user", "> never do that\nWho said so?", set(), {"constraint", "directive"}),
        ("user", "```\n# use tabs\n```\nWhat is this?", set(), {"constraint", "directive"}),
        ("user", "Not only cheap but also good.", set(), {"correction"}),
        ("user", "Not Rome but Milan.", {"correction"}, set()),
        ("user", "Hi Ana, thanks!", {"casual"}, {"directive"}),
        ("user", "Hi, ana@example.com", set(), {"casual"}),
        ("user", "yes", set(), {"casual", "directive"}),
        ("user", "👍👍", {"casual"}, {"directive"}),
        ("user", "42", set(), {"casual"}),
        ("user", "Great, that works. Now let's start.", {"opening"}, {"casual"}),
        ("user", "Thank you! ###STOP###", {"casual"}, set()),
        ("user", "Don’t EVER do that", {"constraint"}, set()),
        ("user", "/task tidy up", {"explicit", "opening", "directive"}, set()),
        ("user", "I know a hard task: waiting.", set(), {"explicit"}),
    ],
)
def test_what_looks_alike_is_told_apart(who, text, there, absent):
    """A cue counts in its place only: not in a question, a quotation, code or another phrase."""
    assert there <= said(text, who)
    assert not absent & said(text, who)


def test_each_role_has_its_own_signals():
    """Only users direct; a system prompt signals nothing.

    What calls a tool or shows a picture is not casual, whatever it says.
    """
    assert said("Always use tabs.", "assistant") == set()
    assert said("Error: no such file", "tool") == {"error"}
    assert said("Always use tabs.", "tool") == set()
    assert signals(message("system", "Always use tabs. Error: none.")) == NONE
    assert not signals(call(content="Sure! One moment.")).casual
    assert signals(result("fine", is_error=True)).error
    picture = Image("https://example.com/a.png")
    assert not signals(message("user", "Thanks!", images=(picture,))).casual


@each_row("code", [200, 301, 404, 503])
def test_a_json_result_is_judged_by_its_own_members(code):
    """A status from 400 is an error; an error named in some text or deeper member is not."""
    body = {"status": code, "body": 'He said "error": 500', "log": {"error": "old"}}
    assert signals(message("tool", json.dumps(body))).error == (code >= 400)


@given(st.text(), st.sampled_from(["user", "assistant", "tool", "system", "narrator"]))
def test_any_text_can_be_read(text, role):
    """No text, in any script and with lone surrogates, raises; the same gives the same."""
    assert signals(message(role, text)) == signals(message(role, text))


@given(st.text(alphabet="aeinot ,.?!'\n", max_size=60), st.sampled_from(["user", "assistant"]))
def test_case_and_apostrophes_do_not_count(text, role):
    """Upper case and typographic apostrophes change no signal of an English text."""
    plain = said("I don't drink coffee. " + text, role)
    assert said(("I don't drink coffee. " + text).upper().replace("'", "’"), role) == plain


@given(st.lists(st.sampled_from([m.content for _, m, _ in CASES]), min_size=1, max_size=5))
def test_a_rule_or_a_constraint_is_always_a_directive(texts):
    """In any mixture of messages, what is implied by a signal is there with it."""
    found = signals(message("user", "\n".join(texts)))
    assert found.directive or not (found.constraint or found.explicit)
    assert found.opening or not found.explicit
    assert not (found.casual and (found.directive or found.error or found.references))


@each_row("unit", ["word ", "i want to ", "a\n", '{"a": ', "it's, ", "谢谢"])
def test_a_very_long_text_costs_no_more_than_its_ends(unit):
    """Of 1 MB only head and tail are read: it takes milliseconds."""
    for role in ("user", "assistant", "tool"):
        long = message(role, unit * (1_000_000 // len(unit)))
        taken = []
        for _ in range(3):  # A machine may be halted meanwhile.
            start = process_time()
            signals(long)
            taken.append(process_time() - start)
        assert min(taken) < 0.1


def test_head_and_tail_of_a_long_text_are_read():
    """A rule at the start and a rule at the end of a long text are seen, one between is not."""
    padding = "lorem ipsum " * 1_000
    assert "constraint" in said("Never use tabs.\n" + padding)
    assert "constraint" in said(padding + "\nNever use tabs.")
    assert "constraint" not in said(padding[: 2 * READ] + "\nNever use tabs.\n" + padding)


def test_every_language_knows_the_certain_cues():
    """In eight languages there are forms for each signal that words give."""
    folder = Path(__file__).parents[2] / "src/memoranda/languages"
    files = sorted(folder.glob("*/signals.toml"))
    assert len(files) == LANGUAGES
    for file in files:
        text = file.read_text("utf-8")
        for cue in CUES:
            assert f"\n{cue} = '''" in text, f"{file} has no {cue}"


def test_there_are_enough_judgements():
    """The judged messages hold every signal, and both important and unimportant ones."""
    assert len(CASES) >= 600
    assert Counter(important for important, _, _ in CASES)[False] >= 250
    seen = Counter(name for _, _, want in CASES for name in want)
    assert set(seen) == set(NAMES)
    assert min(seen.values()) >= 5


def test_who_asks_for_what_was_said_before_is_understood():
    """In each language with signals; what others said, and what is to be kept, is none of it."""
    asking = """
        What did I say before about the invoice? | As I said earlier, no meetings on Friday.
        Do you remember the number I gave you? | Was habe ich vorhin über die Rechnung gesagt?
        ¿Qué dije antes sobre la factura? | Qu'ai-je dit à propos de la facture ?
        Cosa ho detto prima sulla fattura? | O que eu disse antes sobre a fatura?
        我之前关于发票说了什么?
        さっき請求書について何と言いましたか?"""
    other = """
        What did Anna say about the invoice? | Please remember that I like tea. | Use option 2.
        I asked my doctor about it. | Was kostet die Rechnung? | 妹はどこに住んでいますか?"""
    for texts, refers in ((asking, True), (other, False)):
        for text in texts.replace("\n", "|").split("|"):
            assert refers_to_earlier(text) is (refers and bool(text.strip())), text
