"""Messages in the forms of the providers: OpenAI's chat and responses, Anthropic's messages.

What comes in is parsed into new messages; what goes out is rendered from a view.
"""
