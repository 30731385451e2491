"""What never becomes a fact: secrets, orders to the assistant, jokes."""

from __future__ import annotations

import re

from memoranda.text.secrets import tells_secret

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


def is_refused(text: str) -> bool:
    """Return whether ``text`` must not be kept, whatever it says."""
    return tells_secret(text) or is_order(text)


def is_joke(text: str) -> bool:
    """Return whether ``text`` says of itself that it is not meant."""
    return _JOKE.search(text) is not None


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
