"""What never becomes a fact: secrets, orders to the assistant, jokes."""

from __future__ import annotations

import re
from itertools import pairwise

_SECRET = re.compile(
    r"\b(?:pass(?:word|phrase|code|wd)|pin(?:\s+(?:code|number))?|cvv|cvc|"
    r"(?:api|secret|private|access|encryption|ssh|license)[\s_-]*keys?|"
    r"(?:access|bearer|auth|refresh|secret)[\s_-]*tokens?|token|client[\s_-]*secret|credentials?|"
    r"social\s+security(?:\s+number)?|ssn|seed\s+phrase|recovery\s+(?:code|phrase)|"
    r"(?:credit|debit)?\s*card\s+number|iban|account\s+number|routing\s+number|otp)\b"
    r"(?:\s+(?:for|to|of|on)\s+[^.,;:]{1,40}?)?\s*(?:'s|\bis\b|\bwas\b|\bare\b|:|=|#)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[A-Za-z0-9+/_=-]{12,}")
_KNOWN_TOKEN = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|AKIA|ASIA|AIza|eyJ|hf|npm|pypi)[-_]?[A-Za-z0-9]{8}"
)
_CARD = re.compile(r"(?<!\d)(?:\d[ -]?){13,19}(?!\d)")
_PIN_VALUE = re.compile(r"\b(?:pin|passcode|password|cvv)\b\W{0,3}\S*\d", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:ignor\w*|disregard\w*|forget\s+(?:all|every|your|the|previous)|overrid\w*|bypass\w*|"
    r"jailbreak\w*|system\s+prompt|(?:your|all|previous|prior|above)\s+(?:\w+\s+)?(?:instructions?|"
    r"rules?|guidelines?|prompts?|restrictions?)|(?:you|assistant|ai|model|bot|agent|chatgpt|"
    r"claude|system)\s+(?:must|should|shall|will|have\s+to|need\s+to|has\s+to|needs\s+to|are\s+to|are\s+(?:now|not|"
    r"allowed|an?)|can|may|cannot|can't|is\s+to|always|never)|from\s+now\s+on|pretend\w*|"
    r"act\s+as|role-?play|developer\s+mode|reveal\s+(?:your|the)|exfiltrat\w*)\b",
    re.IGNORECASE,
)
_INJECTION = re.compile(
    r"\b(?:ignor\w*|disregard\w*|forget|overrid\w*|bypass\w*)\s+(?:(?:all|any|every|of|the|your|my|"
    r"these|those|previous|prior|above|earlier|safety|system)\s+){0,4}(?:instructions?|rules?|"
    r"guidelines?|prompts?|restrictions?|directives?)\b|\bjailbreak|\bsystem\s+prompt\b|"
    r"\bdeveloper\s+mode\b|\bexfiltrat",
    re.IGNORECASE,
)
_KEEPS = re.compile(
    r"\b(?:remember|memori[sz]e|note|store|save|keep\s+in\s+mind|bear\s+in\s+mind)\b", re.IGNORECASE
)
_JOKE = re.compile(
    r"\b(?:lol|lmao|rofl|jk|just\s+kidding|just\s+joking|yeah\s+right|as\s+if|sarcasm)\b|(?:^|\s)/s\b",
    re.IGNORECASE,
)
_LEAST_KINDS = 3


def is_refused(text: str) -> bool:
    """Return whether ``text`` must not be kept, whatever it says."""
    return holds_secret(text) or is_order(text)


def is_joke(text: str) -> bool:
    """Return whether ``text`` says of itself that it is not meant."""
    return _JOKE.search(text) is not None


def holds_secret(text: str) -> bool:
    """Return whether ``text`` tells a password, a key, a card number or the like."""
    return (
        _SECRET.search(text) is not None
        or _PIN_VALUE.search(text) is not None
        or _KNOWN_TOKEN.search(text) is not None
        or _CARD.search(text) is not None
        or any(_is_random(found[0]) for found in _TOKEN.finditer(text))
    )


def is_order(text: str) -> bool:
    """Return whether ``text`` tells the assistant how to behave."""
    return _ORDER.search(text) is not None


def is_injection(text: str) -> bool:
    """Return whether ``text`` would override what the assistant goes by, now or by memory.

    Narrower than :func:`is_order`: ``you should come over`` is an order by its form alone.
    """
    return _INJECTION.search(text) is not None or (
        _KEEPS.search(text) is not None and is_order(text)
    )


def _is_random(token: str) -> bool:
    """Return whether ``token`` looks like a key: letters and digits thrown together."""
    digits = sum(map(str.isdigit, token))
    kinds = (
        any(map(str.islower, token)),
        any(map(str.isupper, token)),
        digits >= _LEAST_KINDS,
    )
    switches = sum(one.isdigit() != other.isdigit() for one, other in pairwise(token))
    return (sum(kinds) == len(kinds) and switches >= len(kinds)) or (
        digits >= _LEAST_KINDS and switches > _LEAST_KINDS + 1 and "-" not in token
    )
