"""Facts from talk without a model: rules find what lasts, and say it in full.

``prose`` finds the sentences, ``clauses`` their parts; ``statements`` and ``predicates`` say what
a part states and how surely it lasts, ``content`` how much of it can stand alone, ``rewriting``
puts it into the third person. ``refusal`` holds what is never kept.
"""

from memoranda.learning.extract.extractor import THRESHOLD, DateResolver, RuleExtractor

__all__ = ["THRESHOLD", "DateResolver", "RuleExtractor"]
