"""The one place where rooms meet: settings, wiring, and the faces Memory and Conversation."""
