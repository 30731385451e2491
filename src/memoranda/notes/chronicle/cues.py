"""What a sentence of a talk does: asks, decides, tells what is done, failed or left open.

English, with the commonest forms of German, Spanish, French and Portuguese. What no pattern
knows is simply said.
"""

from __future__ import annotations

import re
from enum import StrEnum

from memoranda.learning.extract.words import word_set


class Label(StrEnum):
    """What a line of an entry tells."""

    ASKED = "asked"
    DECIDED = "decided"
    DONE = "done"
    FAILED = "failed"
    PLANNED = "planned"
    OPEN = "open"
    SAID = "said"


_FLAGS = re.IGNORECASE
_REQUEST = re.compile(
    r"\b(?:please|pls|(?:can|could|would|will) (?:you|we)|help me|show me|tell me|give me|remind "
    r"me|"
    r"i(?:'d| would) (?:like|love) (?:you|to (?:know|see|get))|i need (?:you|help|an?|some)|"
    r"(?:i'm|i am) (?:looking for|wondering|having trouble|stuck)|i want (?:you|to (?:know|see|"
    r"make sure))|"
    r"let me know|bitte|kannst du|können sie|por favor|puedes|podrías|s'il (?:te|vous) pla[iî]t|"
    r"peux-tu|pouvez-vous|você pode)\b"
    r"|^(?:so |and |now |then |ok(?:ay)?,? )?(?:how|what|why|where|which|who|when|write|create|"
    r"make|find|book|"
    r"add|fix|explain|suggest|recommend|list|summari[sz]e|translate|review|check|compare|implement|"
    r"build|generate|draft|send|remove|delete|rename|update|change|run|search|look up|plan|"
    r"remember|"
    r"note) ",
    _FLAGS,
)
_DECIDED = re.compile(
    r"\b(?:(?:i|we|they|he|she)(?:'ve| have|'d)? (?:finally |now |both |all )?(?:decided|chose|"
    r"chosen|agreed|settled on|"
    r"opted|picked|selected)|(?:i|we)(?:'m|'re| am| are)? (?:going with|sticking (?:with|to))|"
    r"(?:i|we)(?:'ll| will) (?:go with|use|take|choose|pick|stick|skip|keep)|let's (?:go with|use|"
    r"take|do|keep|"
    r"skip|make it|say)|(?:my|our|the) (?:decision|choice|final) |decided (?:to|on|against|not)|"
    r"(?:is|are) (?:decided|agreed|settled)|ich habe mich .{0,30}entschieden|wir nehmen|"
    r"(?:he|hemos) decidido|(?:j'ai|nous avons) (?:décidé|choisi)|decidi(?:mos)?)\b",
    _FLAGS,
)
_DONE = re.compile(
    r"\b(?:(?:i|we|they|he|she)(?:'ve| have|'s| has)? (?:just |already |now |finally |also |"
    r"recently |successfully )*"
    r"(?:finished|completed|booked|sent|fixed|deployed|implemented|submitted|signed|paid|ordered|"
    r"bought|sold|"
    r"added|installed|updated|created|built|launched|published|passed|won|got (?:the|my|our|a|an|"
    r"married|engaged|"
    r"hired|promoted|accepted)|applied|registered|moved|started|joined|adopted|opened|achieved|"
    r"reached|"
    r"set up|merged|migrated|resolved|scheduled|reserved|cancell?ed|deleted|removed|saved|changed|"
    r"renamed)|"
    r"(?:is|are|has been|have been|was|were) (?:now )?(?:done|finished|complete|completed|booked|"
    r"fixed|"
    r"deployed|sent|paid|confirmed|resolved|live|merged|scheduled|reserved|cancell?ed|updated|"
    r"saved)|"
    r"erledigt|fertig|gebucht|hecho|listo|reservad[oa]|terminé|réservé|c'est fait)\b|^done\b",
    _FLAGS,
)
_AGENT_DONE = re.compile(
    r"\b(?:i(?:'ve| have)(?: just| now| already| also| successfully)? (?!been|not|no\b|a\b|the\b|"
    r"some\b|any\b|to\b|"
    r"provided|included|outlined|listed)\w+(?:ed|nt|de|ght|ut|en|ne)\b|(?:is|are|has been|have "
    r"been|was) (?:now |"
    r"successfully )*(?:done|finished|completed|booked|fixed|deployed|sent|paid|confirmed|merged|"
    r"scheduled|reserved|cancell?ed|updated|saved)\b)|^(?:done|booked|fixed|sent)\b",
    _FLAGS,
)
_FAILED = re.compile(
    r"\b(?:failed|(?:is|are|keeps?|kept) (?:failing|crashing)|crashe[ds]|timed out|"
    r"(?:got|get|gets|getting|throws?|threw|raises?|hit|hitting|ran into|running into|seeing|"
    r"receiv\w+|returns?)"
    r"(?: (?:an?|the|this|these|some))?(?: [\w'`-]+){0,3} (?:errors?|exceptions?)|"
    r"(?:doesn't|didn't|won't|isn't|not|never|stopped) (?:seem to )?work(?:s|ed|ing)?|broke(?:n)? "
    r"down|"
    r"is broken|couldn't|could not|wasn't able|went wrong|(?:got|was|were) rejected|fehlgeschlagen|"
    r"funktioniert nicht|kaputt|no funciona|falló|ne (?:marche|fonctionne) pas|échoué|não funciona|"
    r"falhou)\b|失败|報錯|报错|失敗|не работает",
    _FLAGS,
)
_AGENT_FAILED = re.compile(
    r"\b(?:i (?:couldn't|could not|was unable|wasn't able|failed)|"
    r"(?:(?<!no )(?<!0 )(?<!zero )tests?|builds?|checks?|jobs?|pipelines?|deploy(?:ment)?s?|"
    r"migrations?|compilation|suites?)(?: \w+){0,3} (?:failed|fails?|failing)|"
    r"(?:has|have|it|call|search|booking|request) failed|ran into an error|"
    r"es ist fehlgeschlagen|ich konnte nicht|no pude|je n'ai pas pu)\b",
    _FLAGS,
)
_OPEN = re.compile(
    r"\b(?:still (?:need|have to|waiting|deciding|thinking|not|open|to)|(?:haven't|hasn't|have "
    r"not|has not|not) "
    r"(?:yet )?(?:decided|booked|heard|done|finished|found|sure (?:if|whether|which|when|what))|"
    r"yet to|to be (?:decided|confirmed|done)|tbd|todo|to-do|pending|waiting (?:for|on)|follow up|"
    r"remind me|next steps?|get back to|let me (?:think|check|ask)|"
    r"noch (?:nicht|offen)|todavía|aún no|pas encore|ainda não)\b",
    _FLAGS,
)
_PLANNED = re.compile(
    r"\b(?:(?:i'm|we're|i am|we are) (?:going to (?!(?:go to )?(?:bed|sleep|lunch|dinner|breakfast|"
    r"work|the (?:bathroom|toilet|shop|store))\b)|gonna|planning|hoping to|"
    r"thinking (?:of|about)|"
    r"starting|moving|traveling|travelling|leaving|flying|looking forward|working on|preparing|"
    r"considering|getting married)|gonna|(?:i|we)(?:'ll| will) (?:be|start|go|visit|meet|try|have|"
    r"move|"
    r"travel|run|apply|make|need)|(?:i|we) (?:plan|hope|intend|want|need|have|aim) to|my goal|our "
    r"goal|"
    r"can't wait (?:to|for)|next (?:week|month|year|summer|weekend|spring|fall|winter)|tomorrow|"
    r"ich (?:werde|möchte|will)|wir (?:werden|wollen)|voy a|vamos a|quiero|je vais|"
    r"nous allons|vou|vamos|quero)\b",
    _FLAGS,
)
CASUAL = word_set(
    "hi hello hey yo hiya howdy morning afternoon evening night bye goodbye cheers thanks thank "
    "thx ty "
    "please pls ok okay k yes yeah yep yup no nope nah sure right great good nice cool awesome "
    "amazing perfect wonderful lovely fantastic excellent super wow oh ah aw aww haha hahaha lol "
    "hmm "
    "um uh well so and you u your too to see it's it that's that is was this how are is doing "
    "going "
    "been have things what's up much very really so a i i'm im am fine the of welcome no problem "
    "worries take care later soon talk catch again then there again back glad happy sounds got "
    "understood exactly absolutely definitely certainly indeed agreed course love all my anytime "
    "for me help test everyone guys friend "
    "hallo guten tag morgen abend danke bitte tschüss servus moin wie geht's geht es dir ihnen gut "
    "ja nein und mir auch auf wiedersehen vielen dank schön "
    "hola buenos días buenas tardes noches gracias muchas adiós qué tal cómo estás está bien sí "
    "muy y tú usted hasta luego "
    "bonjour bonsoir salut merci beaucoup comment ça va allez-vous vas-tu bien oui non au revoir "
    "et toi vous très "
    "olá oi bom dia boa tarde noite obrigado obrigada tudo bem tchau sim ciao buongiorno grazie "
    "come stai "
    "привет здравствуйте спасибо пока да нет как дела хорошо"
)
"""A sentence of these words alone is a greeting, thanks or chatter."""
_CASUAL_UNSPACED = re.compile(
    r"(?:你好|您好|嗨|早上好|晚上好|谢谢|謝謝|多谢|再见|好的|好|是的|嗯|哈哈|在吗|こんにちは|"
    r"こんばんは|おはよう(?:ございます)?|"
    r"ありがとう(?:ございます)?|さようなら|はい|いいえ|안녕하세요|안녕|감사합니다|네|[^\w])+"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def is_casual(text: str, names: frozenset[str] = frozenset()) -> bool:
    """Return whether a sentence is a greeting, thanks or the like, and nothing else.

    Args:
        text: the sentence.
        names: of those who talk, in lower case.
    """
    if any(sign.isdigit() for sign in text):
        return False
    if _CASUAL_UNSPACED.fullmatch(text):
        return True
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    return all(word in CASUAL or word in names for word in words)


def label_of(text: str, *, asks: bool, person: bool, chat: bool) -> Label | None:
    """Return what a sentence does; ``None`` for one of an assistant that does nothing.

    Args:
        text: the sentence.
        asks: whether it ends with a question mark.
        person: whether a person says it.
        chat: whether persons talk with an assistant, and so ask it for things.
    """
    text = text.replace("’", "'")
    if not person:
        if asks:
            return None
        if _AGENT_FAILED.search(text):
            return Label.FAILED
        return Label.DONE if _AGENT_DONE.search(text) else None
    if asks or (chat and _REQUEST.search(text)):
        return Label.ASKED
    own = _QUOTED.sub("", text)
    for label, pattern in _OF_PERSONS:
        if pattern.search(own) and (label is not Label.PLANNED or _OWN.search(own)):
            return label
    return Label.SAID


_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<![^\s:(])'(?=[A-Z])[^\n]{1,300}?(?<=[\w.,!?])'(?!\w)"
)
_OWN = re.compile(
    r"\b(?:i|we|my|our|us|me|ich|wir|mein\w*|unser\w*|voy|vamos|quiero|je|j'|nous|vou|quero)\b"
    r"|\b(?:i|we)'",
    _FLAGS,
)
"""Only of whom one speaks oneself is a plan one's own."""
_OF_PERSONS = (
    (Label.DECIDED, _DECIDED),
    (Label.OPEN, _OPEN),
    (Label.FAILED, _FAILED),
    (Label.DONE, _DONE),
    (Label.PLANNED, _PLANNED),
)
