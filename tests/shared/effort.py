"""How much the property tests try: as much as the profile of Hypothesis says (conftest.py)."""

from hypothesis import settings

PUSH = settings.get_profile("push").max_examples


def examples(number):
    """Return the examples of a slow law: ``number`` on every push, more in a longer profile."""
    return number * settings().max_examples // PUSH
