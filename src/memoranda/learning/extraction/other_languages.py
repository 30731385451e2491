"""The few forms that are read in other languages than English: name, age, home, taste, remember.

What somebody asks to remember is kept as it stands, with who said it; the rest becomes English
around their own words. The forms of a language are the file ``about_oneself.toml`` in its folder.
"""

from __future__ import annotations

import re
from functools import cache

from memoranda.learning.claims import Category, ClaimDraft
from memoranda.learning.extraction.rewriting import Person
from memoranda.text.languages import languages_with, load
from memoranda.text.patterns import compile_pattern

_REST = r"(?P<value>[^,.;:!?\n]{2,60})"
_NAME = r"(?P<value>(?-i:[A-ZÀ-Ý])[\w'-]+(?: (?-i:[A-ZÀ-Ý])[\w'-]+){0,2})"
_THAT = r"(?:bitte\b,?\s*)?(?:{that})?\s*:?\s*"
_FORMS = (
    (rf"\b(?:{{name_is}}) {_NAME}", "{whose} name is {value}.", Category.IDENTITY),
    (rf"\b(?:{{lives_in}}) {_REST}", "{who} lives in {value}.", Category.IDENTITY),
    (rf"\b(?:{{likes}}) {_REST}", "{who} likes {value}.", Category.PREFERENCE),
    (r"\b(?:{age_is})\b", "{who} is {value} years old.", Category.IDENTITY),
    (
        rf"^\s*(?:{{please}})?(?:{{remember}})\b,?\s*{_THAT}(?P<value>.{{8,200}}?)[.!]*\s*$",
        '{who} said: "{value}."',
        Category.REMEMBER,
    ),
)
"""How a statement is made, what it becomes, and what kind of statement that is."""


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Return a form with ``{name}`` for what stands there in any of the languages."""
    files = [load(code, "about_oneself") for code in languages_with("about_oneself")]
    return compile_pattern(
        re.sub(
            r"\{([a-z_]+)\}",
            lambda name: "|".join(file[name[1]] for file in files if name[1] in file),
            form,
        ),
        re.IGNORECASE,
    )


def read_foreign(shown: str, said: str, person: Person) -> ClaimDraft | None:
    """Return what a sentence in another language states; ``None`` for nothing known.

    Args:
        shown: the sentence, masked.
        said: the sentence as it is written, as long.
        person: who says it.
    """
    denied = _pattern("{denial}").search(shown) is not None
    for form, becomes, category in _FORMS:
        found = _pattern(form).search(shown)
        asked = category is Category.REMEMBER
        if found is None or (denied and not asked):
            continue
        start, end = found.span(0 if asked else found.lastgroup or 0)
        value = said[start:end].strip()
        if asked:
            value = value.rstrip(".! ").replace('"', "'")
        text = becomes.format(whose=person.possessive, who=person.name, value=value)
        text = text[0].upper() + text[1:]
        return ClaimDraft(text, person.name, category, 0.8, found.start(), found.end())
    return None
