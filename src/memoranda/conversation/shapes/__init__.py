"""Messages in the forms of the providers: OpenAI's chat and responses, Anthropic's messages.

What comes in is read into turns by :func:`turns` and :func:`turns_of`; what goes out is written
by :func:`render`. One module for each form says what is special about it.
"""

from memoranda.conversation.shapes.openai_chat import openai
from memoranda.conversation.shapes.reading import turns, turns_of
from memoranda.conversation.shapes.turn import ROLES, SAME_ROLE, Turn, parse_role
from memoranda.conversation.shapes.writing import FORMS, Rendered, render

__all__ = [
    "FORMS",
    "ROLES",
    "SAME_ROLE",
    "Rendered",
    "Turn",
    "openai",
    "parse_role",
    "render",
    "turns",
    "turns_of",
]
