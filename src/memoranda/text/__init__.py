"""What reads plain text, once for everybody: terms, languages, sentences, dates, secrets."""
