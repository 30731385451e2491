"""Adapters to other people's software: embedding models, language models, entity recognisers."""
