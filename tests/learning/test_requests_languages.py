"""Requests to remember, and lasting instructions, in Spanish, Italian and Portuguese."""

from __future__ import annotations

from datetime import UTC, datetime

from tables import each_row

from memoranda.entities.rules import RuleExtractor as Names
from memoranda.learning.claims import Category, Claim, Turn
from memoranda.learning.extraction import RuleFactExtractor
from memoranda.text.dates.statements import DateParser


def claims_of(text: str) -> list[Claim]:
    """Return what the user's ``text`` gives."""
    turn = Turn("ep_1", "user", text, datetime(2026, 2, 3, 10, tzinfo=UTC), person=True)
    return RuleFactExtractor(DateParser(), Names()).extract([turn])


KEPT = [
    ("Anotá que el gasista viene el jueves.", "El gasista viene el jueves."),
    ("acuerdate de que Nuria no come cerdo", "Nuria no come cerdo."),
    ("Le agradecería que tuviera en cuenta que oigo mal.", "Oigo mal."),
    ("Tenga presente, por favor, que los lunes no estoy.", "Los lunes no estoy."),
    ("segnati che il bollo scade a marzo", "Il bollo scade a marzo."),
    ("Le sarei grata se annotasse che porto l'apparecchio.", "Porto l'apparecchio."),
    ("non dimenticare che Aldo parte domenica", "Aldo parte domenica."),
    ("anota aí: o condomínio vence dia 10", "O condomínio vence dia 10."),
    ("não te esqueças de que a Inês chega cedo", "A Inês chega cedo."),
]


@each_row(("text", "content"), KEPT)
def test_what_is_asked_for_is_kept_in_its_own_words(text, content):
    """The statement is kept as it was said, without the words that ask for it."""
    (claim,) = claims_of(text)
    assert (claim.content, claim.category) == (content, Category.REMEMBER)


@each_row(
    "text",
    [
        "recuérdame llamar al banco",
        "acuérdate de comprar pan",
        "ricordati di chiamare Paolo",
        "lembra de comprar leite",
        "¿te acuerdas de cuando fuimos a Soria?",
    ],
)
def test_what_is_to_be_done_is_no_fact(text):
    """A task or a memory has the words of such a request, and states nothing."""
    assert claims_of(text) == []


@each_row(
    "text",
    [
        "A partir de ahora contéstame en verso.",
        "Nunca me propongas planes antes de las diez.",
        "tratame de vos",
        "D'ora in poi parlami in dialetto.",
        "non propormi mai ristoranti di pesce",
        "mi dia del lei",
        "Daqui para a frente responde sem emojis.",
        "nunca me recomendes hotéis caros",
        "trata-me por tu",
    ],
)
def test_an_instruction_lasts(text):
    """How to be answered from now on is a fact of its own kind."""
    (claim,) = claims_of(text)
    assert claim.category is Category.INSTRUCTION
    assert claim.fact is not None
    assert claim.fact.subject == "user"
