"""A small spaCy pipeline, trained here in a second or two: what an installed one would be."""

import random

import pytest


def trained(examples, path):
    """Train on 60 of the ``examples`` and write the pipeline to ``path``, which is returned.

    An example is a text and its spans: first character, the one after the last, label.
    The same examples give the same pipeline.
    """
    spacy = pytest.importorskip("spacy", reason="the extra spacy is not installed")
    random.seed(7)
    spacy.util.fix_random_seed(7)
    pipeline = spacy.blank("xx")
    pipeline.add_pipe("ner", config={"model": {"tok2vec": {"width": 32, "embed_size": 200}}})
    known = random.sample(list(_read(spacy, pipeline, examples)), 60)
    optimizer = pipeline.initialize(lambda: known)
    for _ in range(6):
        for batch in spacy.util.minibatch(known, size=8):
            pipeline.update(batch, sgd=optimizer)
    pipeline.to_disk(path)
    return path


def _read(spacy, pipeline, examples):
    for text, spans in examples:
        yield spacy.training.Example.from_dict(pipeline.make_doc(text), {"entities": spans})
