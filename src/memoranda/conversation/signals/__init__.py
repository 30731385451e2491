"""What a message is for its conversation, read from the message alone (R4.2, R4.3).

An instruction, a rule, an error, a correction, small talk: the signals decide what a message is
worth and where tasks begin and end. They are read from words and forms, without a model. Where
a text is not understood there is no signal, rather than a wrong one.
"""

from memoranda.conversation.signals.detection import NONE, Signals, read_words, signals
from memoranda.conversation.signals.phrases import Cue, excerpt, prose

__all__ = ["NONE", "Cue", "Signals", "excerpt", "prose", "read_words", "signals"]
