"""The words that the rules know: closed classes whole, open classes as far as rules need them."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of ``text``."""
    return frozenset(text.split())


ADVERBS = word_set(
    "just also really recently currently already still always usually often never actually "
    "finally "
    "only now even both totally definitely kinda sometimes once mostly mainly rarely soon "
    "basically "
    "literally honestly officially lately initially originally previously successfully "
    "eventually "
    "ever all probably truly absolutely completely fully quickly gradually constantly regularly "
    "typically normally generally frequently hardly seldom occasionally certainly deeply highly "
    "specifically especially particularly primarily personally accidentally today yesterday then "
    "first later proudly happily luckily unfortunately fortunately simply pretty very quite "
    "super "
    "so too not almost nearly about around therefore"
)
"""What may stand between a subject and its verb."""

ADJUNCTS = word_set(
    "last next yesterday today tomorrow tonight recently lately currently in on at during for "
    "every these until later over nowadays earlier previously initially originally now by first "
    "two three four five six seven eight nine ten a this one about back around despite besides"
)
"""What may open a clause before its subject to say when or where."""

FREQUENCY = word_set(
    "always usually often never sometimes rarely regularly typically normally frequently seldom "
    "occasionally every daily weekly twice weekends mornings evenings nightly monthly"
)

FILLERS = word_set(
    "just also actually literally honestly basically totally definitely really so kinda super "
    "even both all"
)
"""Adverbs that say nothing in a sentence read later."""

AUXILIARIES = word_set("am is are was were be been being have has had do does did")

MODALS = word_set("can could will would shall should may might must cannot ought")

INTERROGATIVES = word_set(
    "can could would will shall do does did should is are was were am have has had may might "
    "what how why where when which who whose whom any wanna isn't aren't don't doesn't didn't "
    "can't won't wouldn't couldn't haven't hasn't what's how's who's where's"
)
"""Words that open a question or a request."""

IMPERATIVES = word_set(
    "please let let's help show tell give explain write make create check review fix add update "
    "generate suggest look see try keep take have be go get come check send find consider use "
    "provide describe summarize translate implement refactor ensure imagine suppose remember "
    "note "
    "thanks thank congrats congratulations sorry good great nice wow cool awesome amazing sounds "
    "looks glad happy excited proud hope ignore act pretend answer respond reply always never "
    "forget disregard enjoy call ask start stop"
)

PAST = word_set(
    "was were had did went got took came saw made said knew thought found gave told felt left "
    "became began brought bought built caught chose cut did drank drew drove ate fell fed fought "
    "flew forgot forgave froze grew hung heard hid hit held hurt kept laid led learnt lent "
    "let lit "
    "lost meant met paid put quit read rode rang rose ran sold sent set shook shot shut sang "
    "sank "
    "sat slept spoke spent stood stole stuck swam swept taught tore threw understood woke "
    "wore won "
    "wrote spilt spread beat bent bet bit bled blew broke burnt cast cost dealt dug dreamt fled "
    "hosted knit leapt overcame sought shrank slid split sprang stung struck swore undertook "
    "upset "
    "wound withdrew rebuilt redid rewrote reran outgrew dove snuck"
)
"""Irregular past forms."""

PARTICIPLES = PAST | word_set(
    "been done gone taken come seen known given become begun chosen drunk drawn driven eaten "
    "fallen flown forgotten forgiven frozen grown hidden ridden risen run sung sunk spoken "
    "stolen "
    "swum torn thrown woken worn written beaten bitten blown broken gotten born shown sewn "
    "proven "
    "overcome withdrawn rewritten undertaken sworn shaken"
)

SAME_IN_PAST = word_set(
    "put cut hit read set let quit hurt cost spread shut bet split cast beat knit"
)

NOT_PAST = word_set(
    "need feed speed bleed breed proceed exceed succeed agreed indeed seed weed embed shed wed "
    "supposed united bored tired"
)
"""End as past forms do, and are none, or say nothing of what happened."""

MENTAL = word_set(
    "think thought guess guessed feel felt believe believed hope hoped wish wished bet mean "
    "meant "
    "see saw know knew understand understood agree agreed appreciate appreciated suppose "
    "supposed "
    "wonder wondered hear heard imagine imagined admire admired respect trust say said ask asked "
    "tell told notice noticed realize realized realise realised find figure figured care cared "
    "seem seemed doubt doubted thank thanked apologize apologized love'd mention mentioned "
    "expect expected assume assumed recommend suggest suggested consider considered "
    "sound sounded look looked remember remembered forget forgot promise promised congratulate "
    "swear sense sensed wanted tried try needed manage struggle hate'd get gets give gave "
    "let makes make made keep kept come came encountered found learned learnt tested checked "
    "check verified ensure "
    "double-checked reviewed"
)
"""Verbs that by themselves tell what goes on in a mind or in a talk, not a fact to keep."""

LIGHT = word_set(
    "have had has got get do did does make made go went take took give gave be been being put "
    "keep kept come came use used find found see saw try tried let want need know feel start "
    "started look looking going getting making doing having taking trying am is are was were "
    "helped help working able"
)
"""Verbs that need an object to say something."""

STOP = word_set(
    "a an the and or but so if then than that this these those there here of in on at to for "
    "from "
    "with without by about as into onto over under up down out off through during before after "
    "since until while because cause when where which who whom whose what how why not no nor yes "
    "i me my mine we us our ours you your yours he him his she her hers it its they them their "
    "am is are was were be been being have has had do does did will would can could should may "
    "might must just also really very so too quite pretty only even still already again more "
    "most "
    "much many few little lot lots some any all both each every other another such own same "
    "now today ever never always often usually sometimes soon ago back around together "
    "myself yourself himself herself itself ourselves themselves one ones gonna wanna gotta "
    "kinda "
    "let lets like well got get i'm i've i'll i'd it's that's don't didn't can't won't"
)

VAGUE = word_set(
    "thing things stuff something everything anything nothing someone everyone anyone way ways "
    "lot bit kind sort part point fact deal matter step steps time times moment moments while "
    "day "
    "days life world people person place places experience experiences journey adventure path "
    "blast fun joy hope love vibes vibe feeling feelings emotion emotions support difference "
    "impact progress strength courage confidence passion inspiration motivation dream dreams "
    "memory memories mind heart soul energy beauty challenge challenges change changes growth "
    "trouble issue issues problem problems question questions idea ideas help advice example "
    "code "
    "work effort best luck chance opportunity opportunities result results sense reason reasons "
    "scratch function functions similar setup basic basics mistake mistakes following news "
    "power setback hearts surge "
    "gratitude mix inspiring message words moments laughing "
    "feels set "
    "self situation situations happen happens happened reflect balance purpose meaning "
    "connection "
    "connections energy step thanks effort efforts potential value values part joy "
    "ton tons different unique possible various lots options option details detail others "
    "stuff job start end good bad hard others better self true real new big small nice"
)
"""Nouns and adjectives that carry nothing by themselves."""

EVALUATIVE = word_set(
    "correct cute great good nice awesome amazing wonderful fantastic incredible beautiful "
    "lovely perfect cool "
    "fun special important inspiring rewarding fulfilling powerful touching exciting interesting "
    "happy sad proud excited thankful grateful glad thrilled lucky blessed stoked pumped sorry "
    "sure ready okay ok fine hard tough easy difficult crazy wild insane weird scary "
    "overwhelming "
    "comforting relaxing calming magical memorable meaningful emotional eye-opening challenging "
    "motivated determined confident hopeful optimistic nervous worried anxious tired exhausted "
    "busy bored confused stuck lost curious open honest here there back right wrong done alright "
    "impressed amazed surprised shocked moved touched inspired honored humbled delighted pleased "
    "satisfied relieved comfortable cautious careful aware certain familiar eager willing up "
    "down "
    "better best worse free positive supportive welcoming super awestruck heartwarming unsure "
    "unable able available fulfilled energized refreshed swamped overwhelmed frustrated upset "
    "struggling stressed scared freaked so too very really"
)
"""Adjectives of feeling and judgement: said of the moment."""

TRAITS = word_set(
    "vegetarian vegan pescatarian married single divorced engaged widowed separated pregnant "
    "allergic diabetic asthmatic retired unemployed self-employed freelance bisexual gay lesbian "
    "straight trans transgender non-binary nonbinary queer jewish christian catholic muslim "
    "hindu "
    "buddhist atheist religious deaf blind colorblind colour-blind left-handed right-handed "
    "bilingual dyslexic autistic sober lactose-intolerant gluten-free celiac coeliac american "
    "british english german french spanish italian portuguese dutch swedish norwegian danish "
    "finnish polish russian ukrainian chinese japanese korean indian brazilian mexican canadian "
    "australian irish scottish welsh greek turkish israeli egyptian nigerian kenyan swiss "
    "austrian "
    "belgian colombian argentinian chilean peruvian cuban vietnamese thai filipino indonesian "
    "introverted extroverted adopted orphaned insured homeless nearsighted"
)

ATTACHED = {
    "passionate": "about",
    "interested": "in",
    "keen": "on",
    "obsessed": "with",
    "into": "",
    "afraid": "of",
    "scared": "of",
    "terrified": "of",
    "addicted": "to",
    "fond": "of",
    "responsible": "for",
    "good": "at",
    "bad": "at",
    "allergic": "to",
    "intolerant": "to",
    "dedicated": "to",
    "committed": "to",
    "focused": "on",
    "fluent": "in",
    "sensitive": "to",
    "partial": "to",
}
"""Adjectives that state an attitude or a trait with the word after them."""

PASSIVES = word_set(
    "accepted hired promoted fired laid diagnosed invited raised offered awarded chosen selected "
    "elected nominated admitted enrolled robbed injured robbed arrested approved rejected asked "
    "assigned transferred certified licensed trained born named called employed registered "
    "signed scheduled booked based located"
)
"""Participles that tell what was done to somebody, and lasts."""

LIKES = word_set(
    "love loved like liked enjoy enjoyed prefer preferred hate hated dislike disliked adore "
    "adored "
    "detest despise loathe loves likes enjoys prefers hates dislikes adores favor favour cherish "
    "treasure value"
)

DECIDES = word_set(
    "decided chosen chose settled agreed switched migrated opted selected picked standardized "
)

HABITS = word_set(
    "live work study teach speak own run manage lead use play eat drink drive ride cook bake "
    "paint "
    "draw write read sing dance swim hike bike cycle jog train practice practise volunteer "
    "collect "
    "watch listen go take travel commute sleep wake exercise meditate garden fish hunt ski surf "
    "camp knit sew code program design sell buy rent share belong attend visit make have wear "
    "smoke avoid skip meet coach mentor host organize organise grow raise walk lift climb box "
    "donate suffer identify earn pay save spend invest study specialize major help serve get do "
    "need focus handle maintain support deploy store follow track plan roast tell explore "
    "start fly leave arrive depart begin end open close deal order carry bring stay feed brush "
    "kick turn wrap cost include contain"
)
"""Verbs that, in the simple present, tell what somebody does again and again."""

AMBIGUOUS_VERBS = word_set(
    "work study run use play drink drive ride cook paint draw dance swim hike bike jog train "
    "practice sleep exercise garden fish hunt ski surf camp code program design sell rent share "
    "visit wear smoke walk lift climb box coach mentor host plan start support store track focus "
    "handle need help volunteer watch raise follow lead speak travel commute snack"
)
"""Verbs that are as often nouns: after ``and`` they may be either."""

BUILDING = word_set(
    "implement build set deploy integrate migrate optimize improve reduce achieve reach develop "
    "create design launch add switch upgrade release finish complete lose save learn become sell"
)
"""What a task does whose object is worth knowing later."""

COMPLETE = word_set(
    "graduated moved retired married engaged divorced promoted relapsed recovered enlisted "
    "resigned died "
    "proposed eloped emigrated immigrated quit enrolled pregnant volunteer volunteering"
)
"""Verbs that tell an event without an object."""

LIFE_GOALS = word_set(
    "become be visit travel learn open buy adopt move build study start retire quit marry "
    "publish "
    "write run teach volunteer own have raise compete graduate launch expand explore"
)

JUNK_OBJECTS = word_set(
    "question questions idea ideas problem problems issue issues trouble fun blast chance "
    "feeling "
    "doubt doubts look clue time lot ton bunch faith point sense difficulty difficulties hope "
    "hopes "
    "luck reason reasons choice opinion thought thoughts suggestion suggestions concern concerns "
    "error errors good great nice code option options picture pictures photo photos pic pics "
    "plans thing things function functions snippet method mistake following faith confidence "
    "respect chat stuff power"
)
"""What one has for a moment, or says one has."""

NEARLY = word_set("almost nearly")
"""With these before a verb, it did not happen."""

FIGURES = word_set(
    "ghost zombie monster beast angel saint devil demon machine legend lifesaver hero heroine "
    "genius star superstar nightmare mess disaster wreck dream joke gem treasure clown god goddess "
    "ninja wizard magician rock fool idiot pig snail sloth robot vampire bear dinosaur tornado "
    "whirlwind hurricane sponge walrus creep weirdo"
)
"""What somebody is said to be who is not."""

FOOD = word_set(
    "egg eggs rice pasta spinach bread butter milk cheese flour sugar salt pepper oil onion onions "
    "garlic tomato tomatoes potato potatoes carrot carrots chicken beef pork bacon ham tofu beans "
    "lentils chickpeas noodles yogurt yoghurt cream mushrooms broccoli zucchini lettuce cabbage "
    "cucumber cucumbers apples bananas lemons limes oranges berries avocado avocados oats cereal "
    "shrimp prawns salmon tuna sausages meat vegetables veggies fruit fruits leftovers ingredients "
    "snacks coffee tea juice beer wine soup salad herbs spices honey yeast"
)
"""What is in a kitchen today and eaten tomorrow."""

RELATIVES = word_set(
    "wife husband spouse partner girlfriend boyfriend fiance fiancé fiancee fiancée mother "
    "mom mum "
    "mama father dad papa parents parent sister sisters brother brothers sibling siblings son "
    "sons "
    "daughter daughters kid kids child children baby twins grandma grandmother grandpa "
    "grandfather "
    "grandparents granddaughter grandson grandkids aunt uncle cousin cousins niece nieces nephew "
    "nephews family fam in-laws mother-in-law father-in-law brother-in-law sister-in-law boss "
    "manager colleague colleagues coworker coworkers co-worker teammate teammates friend friends "
    "bestie roommate roommates neighbor neighbors neighbour neighbours landlord teacher mentor "
    "coach therapist doctor dentist student students client clients team ex stepdad stepmom "
    "godmother godfather hubby folks husband's wife's"
)

ATTRIBUTES = word_set(
    "name birthday age job email address phone hometown goal dream budget deadline favorite "
    "favourite fave hobby hobbies diet major degree salary rent nationality religion timezone "
    "pronouns nickname surname title role position address zodiac allergy allergies blood height "
    "weight anniversary flight appointment business company project app website site car house "
    "apartment flat dog cat pet pets pup puppy kitten studio store shop plan stack database "
    "setup "
    "team focus main top"
)
"""What belongs to a person and is worth knowing."""

STATE_NOUNS = word_set(
    "deadline budget limit quota rate price cost salary rent fee target goal threshold timeout "
    "version port size length width height weight speed latency time coverage accuracy score "
    "percentage share count number total average median maximum minimum capacity usage memory "
    "uptime throughput response load duration distance age temperature balance amount interval "
    "retention frequency release launch meeting appointment flight sprint milestone date start "
    "end due database server host url address endpoint branch commits cards tests users "
    "customers "
    "rows columns tables requests calls hours days weeks months problems tasks files pages items "
    "members employees students attempts"
)
"""What has a value that may change."""

PREPOSITIONS = word_set("in on at to for from with about of by into in out up off over through")

PRONOUNS = word_set(
    "it it's its it'll they they're they've them their theirs he he's him his she she's her hers "
    "this these those 'em itself themselves himself herself ones"
)
"""Words that point at something said elsewhere."""

SECOND = word_set("you you're you've you'll you'd your yours yourself yourselves ya u ur y'all")

HYPOTHETICAL = word_set(
    "if would could might maybe perhaps wish imagine suppose hopefully should i'd we'd unless "
    "whether possibly wouldn't couldn't shouldn't"
)

ENGLISH = STOP | word_set("is are have with went like love work live use")
