"""Commands and keys that the terminal user interface has of its own, and what each is for."""

from __future__ import annotations

MEANINGS = {
    "/context": "what a model is sent, and which messages are in view (F2)",
    "/settings": "read and change the settings (F3)",
    "/history": "the conversations; open one, or go on in it (F4)",
    "/search": "search memory, with the reasons: /search WORDS (F5)",
    "/facts": "what is believed; correct, confirm or forget it: /facts WORDS (F6)",
    "/memory": "MEMORY.md, what is known of you (F7)",
    "/help": "this page (F1)",
    "/exit": "leave; the session stays (Ctrl+Q)",
}
# The screen that a command opens has its name, but for this.
SCREENS = {"/memory": "notes"}
KEYS = {
    "Enter": "send; Alt+Enter or Ctrl+J begins another line",
    "Escape": "stop an answer; leave a screen",
    "Ctrl+C": "copy what is selected",
    "PgUp PgDn": "scroll",
    "F2": "what a model is sent (other programs use Ctrl+I, which is Tab in a terminal)",
    "Ctrl+Q": "leave; the session stays",
}
