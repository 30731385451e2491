"""What reads plain text, once for everybody: terms, languages, sentences, dates, secrets.

And what writes it: a file is whole, or it is not there.
"""
