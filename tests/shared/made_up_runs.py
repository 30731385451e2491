"""Made-up tool-calling runs: an agent that looks things up and later calls with what it found.

They have what real runs have: long results with many codes of which a few are named again, small
talk, and errors. So what the replays measure is measured also where the real runs are not.
"""

import json
from random import Random

CODES = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
SYSTEM = (
    "You are the agent of an airline. Look things up before you act, and ask before you book. " * 8
)
TALK = ("Thank you, that helps.", "I will have to think about that.", "What would you suggest?")


def made_up_run(seed, turns=14):
    """Return one run: messages as a provider has them, the system prompt first."""
    return Writer(Random(seed)).write(turns)  # noqa: S311 - the same runs each time


class Writer:
    """Writes a run, and knows what was said in it."""

    def __init__(self, random):
        """Begin with the system prompt."""
        self.random = random
        self.messages = [{"role": "system", "content": SYSTEM}]
        self.given = []  # what the user gave
        self.found = []  # what results held that the agent told the user

    def code(self):
        """Return a code that names one thing."""
        return "".join(self.random.choices(CODES, k=5)) + str(self.random.randrange(10))

    def write(self, turns):
        """Write so many turns: a request, a search, an offer, a booking, and talk between them."""
        user = f"{self.random.choice(['mia', 'noah', 'ana'])}_{self.random.randrange(1000, 9999)}"
        self.given = [user]
        self.say("user", f"Hello! My user id is {user}, and I travel a lot.")
        self.say("assistant", "Welcome back. What can I do for you?")
        for _ in range(turns):
            self.turn()
        return self.messages

    def turn(self):
        """Write one turn."""
        booking = self.code()
        self.given.append(booking)
        self.say("user", f"Please look at my booking {booking}. {self.random.choice(TALK)}")
        flights = [self.flight() for _ in range(6)]
        self.call("find_booking", {"booking": booking}, {"flights": flights, "note": "n/a " * 20})
        chosen = self.random.choice(flights)["flight"]
        self.found.append(chosen)
        self.say("assistant", f"I would take flight {chosen}. Shall I?")
        self.say("user", self.random.choice(TALK))
        # Half of what is named is of now, the rest was said at any time before.
        old = self.random.random() < 1 / 2
        flight = self.random.choice(self.found) if old else chosen
        given = self.random.choice(self.given) if old else booking
        self.call("change", {"booking": given, "flight": flight}, "Error: not now")
        self.say("assistant", "I have made a note of it. Is there anything else?")

    def flight(self):
        """Return one line of a result."""
        return {"flight": self.code(), "price": self.random.randrange(90, 900), "seats": "9"}

    def say(self, role, text):
        """Add a message."""
        self.messages.append({"role": role, "content": text})

    def call(self, name, arguments, result):
        """Add a call and its result."""
        name_of_call = f"call_{len(self.messages)}"
        called = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": name_of_call, "type": "function", "function": called}]
        self.messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        self.messages.append(
            {"role": "tool", "tool_call_id": name_of_call, "content": json.dumps(result)}
        )
