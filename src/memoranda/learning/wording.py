"""The words by which rules read a statement: lists, not rules. English, where not said."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of ``text``, which stand between blanks."""
    return frozenset(text.split())


STOP_WORDS = word_set(
    """a an the this that these those there here and or but so as at by for from in into of on
    onto to with about is are was were be been being am do does did done has have had having it
    its i me my mine myself we us our ours you your yours he him his she her hers they them
    their theirs who whom which what when where why how than then too very really quite just
    also user s d ll m re ve"""
)
"""Words that say little of what a statement is about."""
NEGATORS = word_set(
    """not no never none nothing nobody neither nor without hardly barely lack lacks lacking nicht
    kein keine keinen nie pas jamais nunca non não niet geen не нет никогда ни"""
)
"""Words that deny."""
ENDED = word_set("formerly former previously anymore stopped stop quit ex")
"""Words that say that something is over."""
IDIOMS = (
    (r"not (?:so |too |that |very |all that )?long ago", "recently"),
    (r"not (?:only|just|merely|simply)", "both"),
    (r"(?:can't|cannot|can not|couldn't) (?:stand|bear)", "hates"),
    (r"(?:can't|cannot|can not) wait", "longs"),
    (r"(?:can't|cannot|can not|couldn't) get enough of", "loves"),
    (r"(?:can't|cannot|can not|couldn't) help(?: but)?(?= \w+)", "just"),
    (r"(?:can't|cannot|can not|couldn't) (?:agree|be) more", "fully"),
    (r"(?:can't|cannot|can not|couldn't) be (?:happier|prouder|better)", "is glad"),
    (r"(?:no doubt|without (?:a )?doubt|no question)", "surely"),
    (r"no matter (?:what|how|where|when|who)(?: happens)?", "anyhow"),
    (r"no (?:wonder|problem|worries|way|idea|big deal)", "well"),
    (r"never (?:fails?|ceases?) to", "always"),
    (r"(?:never|not|don't|doesn't|didn't|won't) (?:quit|stop|give up|gives up)", "keep"),
    (r"(?:whether or|if|why|not to mention|last but) not", "maybe"),
    (r"not-?so-?(?=\w)", "hardly"),
    (r"nothing but", "only"),
    (r"never mind", "anyhow"),
    (r"(?:you|one|we) never knows?", "maybe"),
)
"""Phrases that hold a negation and deny nothing → what they mean."""
MODAL = word_set(
    """will would shall should could might may must want wants wanted wish wishes hope hopes
    hoping plan plans planning planned intend intends consider considers considering try tries
    trying maybe perhaps probably possibly almost nearly think thinks going if unless"""
)
"""Words that say that something may be, or is wanted, rather than that it is."""
ADVERBS = word_set(
    """now just also already still always ever recently currently finally actually really even
    only usually often sometimes never not then since lately soon again once both too definitely
    probably certainly eventually newly officially"""
)
"""Words between a subject and its verb, or between the parts of a verb."""
PRESENT = word_set(
    """is are am s m re be do does can cannot will would shall should could might may must
    wants want needs need"""
)
"""Verbs that say how things are, may be or are wanted."""
SUBJECTS = word_set("he she it user who that which somebody someone everyone")
"""Words behind which a word that ends in ``s`` is a verb."""
PASSING = word_set("any a an the this that to been be have has had do does did my your his her")
"""Words between a negation and what it denies."""
HOLDING = word_set(
    """use uses using live lives living work works working have has having drink drinks take
    takes taking drive drives play plays studies studying study run runs running eat eats own
    owns attend attends practice practices learn learning date dating dates married marry
    engaged relationship girlfriend boyfriend partner member part stay stays wear wears speak
    speaks teach teaches train trains rent rents called based located going doing seeing
    employed enrolled subscribed involved"""
)
"""Verbs and nouns that say no more than that something is so."""
PREPOSITIONS = word_set("to for as in on at with by from during before after")
"""Words that begin what says where, when or what for."""
CALENDAR = word_set(
    """monday tuesday wednesday thursday friday saturday sunday january february march april
    may june july august september october november december today yesterday tomorrow
    tonight"""
)
"""Names of days and months."""
DIRECTED = word_set("over than before after against instead rather")
"""Words around which it matters what stands where."""
LIMITS = word_set("only except")
"""Words that narrow what is said."""
PRONOUNS = {
    "i": "i", "me": "i", "my": "i", "mine": "i", "we": "we", "us": "we", "our": "we",
    "you": "you", "your": "you", "he": "he", "him": "he", "his": "he",
    "she": "she", "her": "she", "hers": "she", "they": "they", "them": "they", "their": "they",
}  # fmt: skip
"""Pronouns, by whom they mean."""
POSSESSIVE = word_set("my our your his her their its whose")
"""Pronouns that own what follows."""
PERSONS = word_set(
    """mother father mom mum dad parent parents brother sister sibling son daughter child children
    kid kids baby wife husband spouse partner girlfriend boyfriend fiance fiancee uncle aunt
    cousin nephew niece grandmother grandfather grandma grandpa friend boss manager colleague
    coworker teacher neighbour neighbor roommate doctor dentist dog cat pet"""
)
"""Words for people and animals about somebody."""
STRONG_CUES = word_set(
    """now nowadays instead anymore changed change changes switched switch switching replaced
    replacing increased increase raised reduced decreased dropped extended postponed
    rescheduled delayed pushed shifted updated revised adjusted upgraded downgraded grew grown
    became become improved boosted lowered shortened reached corrected renamed moved expanded
    rose fell doubled swapped transitioned migrated reset bumped cut"""
)
"""The speaker says that something is otherwise than before."""
SHIFTS = STRONG_CUES - word_set("now nowadays instead anymore")
"""Verbs that say that something got another value."""
WEAK_CUES = word_set("recently already currently latest total so-far newly lately yet")
"""The speaker says how far things have come."""
ENDINGS = word_set(
    """quit stopped stop left cancelled canceled sold ended finished abandoned dropped ditched
    returned divorced broke gave lost"""
)
"""What was so is over."""
CORRECTIONS = word_set("actually correction meant mistaken wrong rather sorry misspoke")
"""The speaker takes back what was said."""
FUNCTIONAL = word_set(
    """deadline date time birthday age name surname nickname job title role position employer
    salary rent price cost fee budget weight height size address number phone email version
    quota limit rate coverage accuracy score speed latency duration capacity target diet major
    status timezone hometown nationality password theme color colour editor browser boss
    manager supervisor landlord dentist therapist doctor wife husband spouse fiance fiancee
    girlfriend boyfriend location venue schedule launch release departure headquarters capital
    password username temperature balance subscription plan grade rating population headcount
    bedtime length width distance pace goal blood bank gym school university company"""
)
"""Nouns of which a subject has one at a time."""
SINGULAR = word_set(
    """favorite favourite current preferred main default primary usual total new only"""
)
"""Adjectives that make any noun one at a time."""
FAVOURED = word_set("favorite favourite current preferred main default primary usual")
"""Adjectives that leave one of several."""
TITLES = word_set(
    """title role position name surname nickname theme color colour editor browser database
    language framework major status diet venue headquarters capital hometown nationality"""
)
"""Nouns whose value stands without an article."""
MEASURES = word_set(
    """% € $ £ ¥ ° ms s sec second minute hour day week month year m mm cm km mile inch kg g lb"""
)
"""Units that say nothing of what they measure."""
SPANS = word_set("over within for after in every each last past next during about another")
"""Words before a length of time that is no value of its own."""
RATINGS = word_set(
    """accuracy coverage score rate ratio share discount progress error latency response time
    speed grade mastery confidence probability price cost budget salary rent weight height
    balance temperature duration length capacity quota limit size age distance"""
)
"""What a bare number or a percentage measures."""
LIKING = {
    word: sign
    for sign, verbs in (
        (
            1,
            """like likes liked love loves loved enjoy enjoys enjoyed adore adores fond prefer
            prefers favor favors keen""",
        ),
        (
            -1,
            """dislike dislikes disliked hate hates hated detest detests loathe loathes despise
            despises avoid avoids""",
        ),
    )
    for word in verbs.split()
}
"""Verbs of liking and their sign."""
OPPOSITES = {
    word: (axis, sign)
    for axis, (plus, minus) in enumerate(
        (
            ("single unmarried", "married"),
            ("employed working", "unemployed jobless"),
            ("open opened", "closed"),
            ("accepted accepts accept", "rejected declined rejects declines refused"),
            ("alive", "dead died deceased"),
            ("vegan vegetarian", "carnivore omnivore"),
            ("enabled enable on", "disabled disable off"),
            ("online remote", "onsite in-person"),
            ("public", "private"),
            ("cheap", "expensive"),
            ("early", "late"),
            ("always", "never"),
            ("allowed", "forbidden banned prohibited"),
            ("passed", "failed"),
            ("won", "lost"),
            ("morning", "evening"),
            ("before", "after"),
            ("healthy well", "ill sick"),
            ("pregnant", "unpregnant"),
            ("full-time fulltime", "part-time parttime"),
            ("confirmed", "cancelled canceled"),
        )
    )
    for words, sign in ((plus, 1), (minus, -1))
    for word in words.split()
}
"""Words of one axis that cannot both be true."""
DOINGS = {
    verb: kind
    for kind, verbs in {
        "make": """implement write build create use integrate set add develop code configure
            handle deploy make design install setup fix debug test optimize style""",
        "learn": """practice practise complete solve attempt try study calculate learn finish
            do work take""",
        "go": "be go visit travel fly drive move live stay",
        "get": "obtain get buy own have receive acquire purchase adopt",
        "eat": "eat taste try drink cook order",
        "read": "read watch see hear listen play",
        "meet": "meet know talk speak call contact work collaborate",
    }.items()
    for verb in verbs.split()
}
"""Verbs that mean about the same when someone says never to have done so."""
VAGUE = word_set(
    """thing things something anything lot bit kind way really project app application site
    website work make sure example code help case feature issue question idea time new basic
    before far ever actual actually any some such other more most much many main total whole
    single different several own same"""
)
"""Content words that two texts may share by chance."""
FILLERS = word_set(
    """now currently recently already actually still always usually today lately nowadays
    officially finally eventually soon again instead new newly next first last these days
    however since says said mentions mentioned reports told confirmed"""
)
"""Words beside the subject that are no part of it."""
NATIONS = word_set(
    """usa america uk england scotland wales ireland france germany spain portugal italy norway
    sweden denmark finland iceland netherlands belgium austria switzerland poland ukraine
    russia greece turkey israel egypt morocco nigeria kenya ghana ethiopia india china japan
    korea taiwan vietnam thailand malaysia singapore indonesia philippines australia canada
    mexico brazil argentina chile peru colombia cuba europe asia africa california texas
    florida bavaria catalonia ontario quebec scandinavia romania hungary bulgaria croatia
    serbia czechia slovakia slovenia estonia latvia lithuania pakistan bangladesh iran iraq"""
)
"""Countries and larger regions: a city in one of them is no other place."""
_SPELLINGS = """
    favourite/favorite favourites/favorites favour/favor colour/color colours/colors
    neighbour/neighbor neighbours/neighbors behaviour/behavior flavour/flavor humour/humor
    honour/honor labour/labor harbour/harbor centre/center theatre/theater metre/meter litre/liter
    fibre/fiber grey/gray programme/program cancelled/canceled travelling/traveling
    travelled/traveled traveller/traveler jewellery/jewelry cheque/check practise/practice
    licence/license defence/defense mum/mom organise/organize organised/organized
    recognise/recognize realise/realize realised/realized analyse/analyze
"""
SPELLINGS = dict(pair.split("/") for pair in _SPELLINGS.split())
"""British spellings → American ones."""
