"""Named things: finding them in a text, and knowing that two names mean one thing."""
