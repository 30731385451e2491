"""What the providers of models have in common: which ids and pictures they take, and what not."""

from __future__ import annotations

from typing import Protocol

from memoranda.model.checks import content_hash

# Stands for the user where a conversation would begin with the assistant.
OPENING = "(start)"
# Stands for the text of an error without any.
FAILED = "(The tool failed and said nothing.)"
# The pictures that all take, by what these may be called.
MEDIA = {f"image/{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "webp")}
MEDIA["image/jpg"] = "image/jpeg"


class IdForm(Protocol):
    """Tells which ids a provider takes."""

    def fullmatch(self, text: str, /) -> object:
        """Return something if it takes an id, and None if not."""
        ...


def sendable_id(given: str, taken: set[str], form: IdForm, longest: int) -> str:
    """Return the id under which a call is sent, and take it.

    One that the provider takes stays as it is; any other becomes a hash of itself, which does not
    depend on what else is sent. Of those that are ``taken``, the later are numbered.
    """
    sendable = given if form.fullmatch(given) else f"call_{content_hash(given)}"
    chosen, number = sendable, 1
    while chosen in taken:
        number += 1
        ending = f"_{number}"
        chosen = sendable[: longest - len(ending)] + ending
    taken.add(chosen)
    return chosen
