"""Facts from conversations without a model: rules find what lasts, and say it in full.

``sentences`` finds what a speaker says in their own words, ``clauses`` its parts; ``statements``
and ``predicates`` say what a part states and how surely it lasts, ``rewriting`` puts it into the
third person. ``exclusions`` holds what is never kept.
"""

from memoranda.learning.extraction.extractor import THRESHOLD, RuleFactExtractor

__all__ = ["THRESHOLD", "RuleFactExtractor"]
