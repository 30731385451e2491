"""Requests: what a sentence asks of memory, in its own words, and what only looks like one."""

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row, each_text, read_table

from memoranda.facts.requests import (
    WHERE_ALONE,
    RequestKind,
    asks_memory,
    find_requests,
    find_withheld,
    is_about,
    is_for_once,
    points_back,
    read_instruction,
    replaces,
    split_statements,
    tidy,
    topic,
)

ASKED = read_table("""
Remember that our gate sticks. | Our gate sticks.
plz memorise my shoe size is 43 thx | My shoe size is 43.
Would you please keep in mind that I work nights? | I work nights.
Note to self - the boiler man is called Abdul | The boiler man is called Abdul.
The bins go out on Mondays, just so you know. | The bins go out on Mondays.
I park on level four, so keep that in mind please. | I park on level four.
Don't forget that Ida hates coriander! | Ida hates coriander.
Make a mental note: rent is due on the 5th | Rent is due on the 5th.
Heads-up: the lift is out of order. | The lift is out of order.
You should know that I stammer. | I stammer.
Remember two things: my vet is Dr Lund, and the cat gets half a tablet.
| My vet is Dr Lund. The cat gets half a tablet.
Remember that I bank with Triodos and that my sister handles the taxes.
| I bank with Triodos. My sister handles the taxes.
Write this down: deposit 400; rent 900; due Fridays. | Deposit 400. Rent 900. Due Fridays.
Log this: the meter stood at 5120. | The meter stood at 5120.
Please remember: eggs, not milk. | Eggs, not milk.
Important, please keep: my locker is 8-204. | My locker is 8-204.
Devi sapere che mio figlio è autistico. | Mio figlio è autistico.
Per la cronaca, non ho la patente. | Non ho la patente.
Importante: mio figlio non può correre. | Mio figlio non può correre.
Salva questa informazione: il contratto scade a maggio. | Il contratto scade a maggio.
La prego di ricordare che il medico passa lunedì. | Il medico passa lunedì.
Pense à noter que le bureau ferme à 17 h. | Le bureau ferme à 17 h.
Faut que tu saches que je suis gaucher. | Je suis gaucher.
Tiens compte du fait que Paul dort le matin. | Paul dort le matin.
Tu noteras que je ne mange pas épicé. | Je ne mange pas épicé.
Garde ça en mémoire : la chaudière date de 2012. | La chaudière date de 2012.
Mon casier est le 212, tu peux le noter ? | Mon casier est le 212.
Don't let me forget that the cat fasts on Friday. | The cat fasts on Friday.
Would you mind remembering that I pray at noon? | I pray at noon.
I'd appreciate it if you remembered that I'm deaf. | I'm deaf.
could u plz keep a note tht my nan's in ward 4 thx | My nan's in ward 4.
Put it on record that I voted no. | I voted no.
Please store that Marta does payroll. | Marta does payroll.
Pin this: the demo is in room 4B. | The demo is in room 4B.
Stick this in your notes, Omar hates calls. | Omar hates calls.
For when you need it: my shoe size is 39. | My shoe size is 39.
You'll want to know that the lift is stuck. | The lift is stuck.
The guest room is cold, you'll want to know that. | The guest room is cold.
Our plumber is called Sal - file that away | Our plumber is called Sal.
The engineer is Mr Bloom for future reference | The engineer is Mr Bloom.
In case it comes up again: we bank with Nordea. | We bank with Nordea.
Something you should know: I stammer. | I stammer.
It's worth knowing that the pool shuts at 7. | The pool shuts at 7.
Just letting you know that I'm off on Fridays. | I'm off on Fridays.
Update your notes: I play the oboe now | I play the oboe now.
Save my employee number: E-5521. | My employee number: E-5521.
File this away: Ida is the one with the horse, Ona is the one with the boat.
| Ida is the one with the horse. Ona is the one with the boat.
Remember that when Ana is away, Ben is in charge. | When Ana is away, Ben is in charge.
Remember that I love my dog and my cat. | I love my dog and my cat.
Remember that Yusuf and Leila are vegetarian. | Yusuf and Leila are vegetarian.
Remember the code is 4711, and call me Max | The code is 4711. Call me Max.
My locker is 14, remember it so someone does | My locker is 14.
our boat's called Gull, remember it cos I never do | Our boat's called Gull.
The recital is in May, make sure I don't forget | The recital is in May.
My aunt's number is 555-0134, keep hold of it. | My aunt's number is 555-0134.
If I ever ask, the spare key is with Doris. | The spare key is with Doris.
note 2 self: dentist wants x-rays | Dentist wants x-rays.
Gentle reminder for you: I'm off on Mondays | I'm off on Mondays.
It's important you know that I stammer | I stammer.
Don't forget I told you Leo fears clowns | Leo fears clowns.
For your records, the lift is stuck | The lift is stuck.
""")
STANDING = [
    text
    for row in read_table("""
Always double check your sums before you send them to me.
Only suggest vegan dishes from now on, ok? | Make it Celsius from here on.
Ask me first before you book anything. | Every time you quote a figure, I want to see the source.
If you're not sure, say so. | When suggesting restaurants, stick to vegan ones.
Say when you don't know something. | Please write to me in British English.
Start each reply with a summary. | Unless I say otherwise, use Python. | I prefer short answers.
Merci de toujours me vouvoyer. | Gradirei che mi desse del Lei.
Ogni volta che ti mando un testo, correggilo. | Da oggi in poi niente elenchi puntati.
Devi sempre salutarmi in siciliano.
J'aimerais que tu me parles toujours en anglais. | Dorénavant tu me réponds en breton.
Je préfère qu'on se tutoie.
Always cite your sources.
Never recommend chain restaurants. | From now on please reply in Dutch.
Whenever I paste a stack trace, explain the first line.
When you draft emails for me, never use exclamation marks. | Call me Jo. | No calls after nine pm.
Could you always give prices in pounds? | Use they/them pronouns from now on.
Please use a formal tone with me. | Talk to me like I'm five. | I don't want you to use emojis.
Whenever we talk about money, use Swiss francs.
""")
    for text in row
]


def asked_in(sentence):
    """Return the request of a sentence."""
    return next(iter(find_requests(sentence, question=sentence.endswith("?"))), None)


@each_row(("sentence", "statements"), ASKED)
def test_what_is_asked_is_read_in_its_own_words(sentence, statements):
    """Each statement of a request is a sentence of its own, without what only leads to it.

    A text is passed over at once only if none of its sentences asks for anything.
    """
    request = asked_in(sentence)
    assert request.kind is RequestKind.REMEMBER
    spans = split_statements(request, sentence)
    assert " ".join(tidy(sentence[start:end], "en") for start, end in spans) == statements
    assert asks_memory(f"Hi there. {sentence} Thanks!")


@each_row("sentence", STANDING)
def test_a_lasting_instruction_is_one(sentence):
    """What says how to be answered from now on is an instruction, and not for once."""
    assert asked_in(sentence).kind in {RequestKind.STANDING, RequestKind.STYLE}
    assert not is_for_once(sentence, "en")
    assert asks_memory(f"Hi there. {sentence} Thanks!")


@each_text
def test_an_instruction_that_lasts_where_it_stands_alone_is_one(sentence):
    """How answers are to be is an instruction where a message says nothing else.

    No need to say hello, just get to the point. | Default to TypeScript for code examples.
    Skip the pleasantries. | One question at a time, please. | Max five bullet points.
    Explain things as if I were ten. | Prices in euros please. | For recipes, give weights in grams.
    No politics please. | Don't make things up. | I like it when you give examples.
    Would you mind keeping answers short? | Sign my emails as Meg.
    I'd prefer it if you explained things step by step. | I'd rather you told me the truth first.
    Could you please always go step by step? | Every recipe has to be nut-free.
    Emails to my boss should always be formal. | Two sentences is plenty for an answer.
    Answer first, explanation after.
    It's Kate, not Katherine please.
    You mustn't schedule anything on Saturdays. | Only give me vegan recipes.
    Nobody calls me William, it's Bill.
    """
    assert asked_in(sentence).kind in WHERE_ALONE
    assert not is_for_once(sentence, "en")


@each_text
def test_what_is_to_be_kept_out_of_memory_is_seen(text):
    """A person may ask in many words that something is not remembered.

    Don't store this anywhere: I failed the audition. | I was fired in May. Please don't keep that.
    This stays between us: I'm leaving. | I'd rather you didn't remember this: I'm adopted.
    My brother is on parole, but that's off the record.
    Leave this out of my profile: I'm in therapy. | No need to save this, but my room is 204.
    """
    assert find_withheld(text) is not None
    assert find_withheld("The gap between us and them is small, don't you think?") is None


@each_text
def test_what_only_looks_like_a_request_is_none(sentence):
    """Memories of one's own, idioms and habits ask nothing of memory.

    Onthoud je adem! | Merk dir den Weg! | Speichere das Dokument. | Salva o documento
    Retiens ton souffle ! | Quando arrivo a casa, dimmi cosa cucinare. | Importante riunione domani.
    Ti ricordi di me? | Souviens-toi de la fois où on a parlé de Rome.
    Il faut toujours arroser le matin. | Mais comme toujours, il pleut.
    Do you remember the name of that cafe? | I can never remember her birthday.
    Remember when we flew to Oslo? | Remember me? | I always answer in French at work. | Never mind.
    Always wanted to see Petra. | Call me later. | My aunt says never trust a thin cook.
    When I was ten, I never used a phone. | I forgot to note the number.
    Save the file and restart. | Give me a list of museums. | Always look on the bright side.
    Reply to Tom that I'm busy. | Explain it in simple words. | Write to my landlord in German.
    You always answer so quickly! | I want the answers to the quiz. | No worries at all.
    No need to rush. | Save me a seat! | You should know better. | Use this recipe.
    Show me links to cheap flights. | Avoid the A40, there was a crash.
    We shipped it, keeping in mind that time was short. | I'd rather you didn't change it.
    I'd appreciate it if you sent me the list. | It's Tuesday, not Monday please.
    If I ever ask, would you lie to me? | I save it because I like it.
    The recipe has to be ready by six. | Verify the totals before you send the report.
    """
    assert asked_in(sentence) is None


@given(st.text(max_size=200))
def test_any_text_can_be_looked_at(text):
    """Whatever a message holds, looking for requests ends and fails on nothing."""
    asks_memory(text)


def test_an_instruction_knows_its_attribute():
    """The language to answer in, and what to call somebody, are attributes of their own."""
    said = "Always answer in Portuguese"
    assert read_instruction(said, said, "en").attribute == "answer_language"
    assert read_instruction("Call me Jo.", "Call me Jo.", "en").value == "Jo"
    when = "When I write German, answer in German"
    assert read_instruction(when, when, "en").attribute == "instruction"


def test_instructions_of_one_topic_are_known():
    """General instructions about length exclude each other; one for an occasion stands beside."""
    assert topic("Be brief.") == topic("Give me detailed answers") == "length"
    assert topic("Whenever I ask for a summary, be brief.") is None


def test_a_revocation_is_about_what_it_names():
    """It ends the instruction whose words it tells, whatever the verbs, and no other."""
    assert is_about("suggest seafood", "Never recommend seafood.")
    assert not is_about("suggest seafood", "Never recommend pork.")
    assert is_about("all my rules", "No bullet points.")
    assert points_back("do that")


def test_several_instructions_of_a_sentence_are_several():
    """What is to be instead of something revoked is an instruction of its own."""
    found = find_requests("Never suggest pork, always offer fish, and call me Jo.")
    assert [each.kind for each in found] == [RequestKind.STANDING] * 3
    said = "You don't have to be brief any more, always give examples."
    assert [each.kind for each in find_requests(said)] == [
        RequestKind.REVOKED,
        RequestKind.STANDING,
    ]


def test_the_last_word_of_a_noun_phrase_opens_no_instruction():
    """After "evening" one may begin, but not in "the evening group"."""
    said = "I have the evening group, so from now on reply in Spanish."
    assert [said[each.lead :] for each in find_requests(said)] == [
        "so from now on reply in Spanish."
    ]
    assert not find_requests("I have the evening group, so from now on I work until nine.")


def test_an_instruction_takes_the_place_of_one_that_it_contradicts():
    """It is of the same topic, or speaks of nothing but what the older speaks of."""
    assert replaces("Make it Celsius from here on.", "Always give temperatures in Fahrenheit.")
    assert replaces("No more jokes.", "Always end with a joke.")
    assert not replaces("No mushrooms in recipes.", "Never suggest seafood.")
