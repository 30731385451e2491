"""Chat without a model: what was understood, one answer with its day, and what it forgets."""

from datetime import UTC, datetime, timedelta

from tables import each_row

from memoranda.agent import Agent
from memoranda.agent.answers import ALL_RIGHT, ERASE_ALL, HELLO, KNOWS_NOTHING
from memoranda.errors import LLMError
from memoranda.providers.embedding.minilm import MiniLM
from memoranda.testing.clocks import FrozenClock
from memoranda.text.recalled import NOTHING

# What is said, and the line that says what was understood.
SAID = {
    "hi": HELLO,
    "my name is priya and i live in cardiff": "Noted: your name is Priya; you live in cardiff.",
    "My husband Tom is a locksmith.": "Noted: your husband Tom is a locksmith.",
    "I can't eat prawns, ended up in A&E": "Noted: you do not eat prawns.",
    "My sister Karin lives in Malmö.": "Noted: your sister Karin lives in Malmö.",
    "gaz owes me 40 quid": "Noted.",
    "Mondays I swim at 7": "Noted.",
    "Sam's school play is on 11 December": "Noted: Sam's school play is on 11 December 2026.",
    "we might go to Greece, who knows": "Noted.",
    "remember that my locker is 212": "Remembered: My locker is 212.",
    "remember my wifi password is kiwi-Tree-4471": (
        "Not remembered, because it seems to hold a secret; only this conversation has it."
    ),
    "Please don't keep this: my dad drinks": "Not remembered, because you asked not to keep it.",
    "between us, I failed my driving test": "Not remembered, because you asked not to keep it.",
    "thanks": "You're welcome.",
    "Thank you so much, that's really helpful!": "You're welcome.",
    "hello there! how are you?": HELLO,
    "ok": ALL_RIGHT,
    "good night": "Goodbye. What you told me is kept.",
}
# What is asked, and a word that only the first line of the answer's right source has.
ASKED = {
    "what does my husband do?": "locksmith",
    "how much does gaz owe me": "40 quid",
    "when do I swim?": "Mondays",
    "where does Karin live?": "Malmö",
    "When is the school play?": "11 December",
    "what's my locker number?": "212",
    "What's my name?": "riya",
}
UNKNOWN = ["What is my shoe size?", "who won the world cup?"]


DAY = timedelta(days=1)
NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)


def test_a_talk_with_memory_alone(opened):
    """Statements, questions in the session and a day later, forgetting, correcting and /new.

    Memory's own answers are no memories, and neither is a question, nor what asked to forget.
    """
    clock = FrozenClock(NOW)
    memory = opened(clock=clock)
    agent = Agent(memory)

    def say(*texts):
        clock.advance(timedelta(seconds=30))
        return [agent.process(text).text for text in texts]

    assert say("What do you know about me?") == [KNOWS_NOTHING]
    assert dict(zip(SAID, say(*SAID), strict=True)) == SAID
    for when in ("today", "yesterday"):
        first = [text.splitlines()[0] for text in say(*ASKED)]
        wrong = [text for text, word in zip(first, ASKED.values(), strict=True) if word not in text]
        assert not wrong
        assert f"You said {when}: “gaz owes me 40 quid”" in first
        assert all(line.startswith(NOTHING) for line in say(*UNKNOWN))
        assert len(say("hello?", *ASKED)[-1].splitlines()) <= 3
        if when == "today":
            (ended,) = say("/new")
            assert ended.startswith("Session ended; learned: 11 facts (")
            clock.advance(DAY)
    told = say("what do you know about me", "¿Qué sabes de mí?", "Was weißt du über mich?")
    assert told[0] == told[1] == told[2]
    assert "\n- About you: your name is Priya; " in told[0]
    assert say("please forget that I swim on Mondays", "forget that I swim on Mondays") == [
        "Forgotten: “Mondays I swim at 7.” (27 November 2026).",
        "Nothing to forget: memory knows nothing about “I swim on Mondays”.",
    ]
    assert say("When do I swim?") == [NOTHING]
    for text in (
        "delete everything you know about me",
        "Bitte lösche alles über mich.",
        "olvida todo",
    ):
        assert say(text) == [ERASE_ALL.format(user=memory.user)]
    assert say("sorry, I said the school play was on the 11th, it's the 10th") == [
        "Corrected: Sam's school play is on 10 December 2026."
    ]
    assert "10 December" in say("When is the school play?")[0]
    assert say("The oven repair is on the 9th of December at 8am", "sorry, it's the 10th")[1] == (
        "Corrected: The oven repair is on the 10th of December at 8am."
    )
    said = [each.source_role for each in memory.records(kind="episode", limit=500)]
    assert {*said} == {"user"}


def test_what_follows_a_question_says_why_it_is_asked(opened):
    """The sentences up to the last one that asks are the question; it is answered, not noted."""
    agent = Agent(opened())
    agent.process("My grandson Ivor lives in Barry with his dog.")
    answer = agent.process("Whereabouts does Ivor live? (I've his card to address upstairs.)")
    assert "Barry" in answer.text


# What is told, what is asked, and the beginning of the answer.
READ = """
> My gran lives in Leith and paints boats. > we sold up and bought a barn near Melrose > where do we live now | we sold
> Felix's mum pays me 30 now. > mum reports from the county court, types like rain > what does my mum do | mum reports
> I shook his hand and left. > it is trigger finger, says the doctor, it locks at night > what's wrong with my hand | it is trigger
> My son swims on Fridays. > the little one came at five weeks early, 1,900 grams > how much did the baby weigh | the little
> Der Zahnarzt heißt Doktor Weiß. > Die Schwester wohnt in Graz. > Wie heißt mein Zahnarzt? | Der Zahnarzt
"""  # noqa: E501 - a row is a line


def test_what_answers_is_read_with_the_question(opened):
    """The local model reads each hit with an English question; the search answers others."""
    memory, wrong = opened(embedder=MiniLM(), clock=FrozenClock(NOW)), {}
    for number, row in enumerate(READ.strip().splitlines()):
        said, _, answer = row.partition(" | ")
        agent = Agent(memory.as_user(f"reader-{number}"))
        *_, last = [agent.process(line.strip()).text for line in said.split(">")[1:]]
        wrong |= {} if last.startswith(f"You said today: “{answer}") else {row: last}
    assert wrong == {}


def test_a_message_that_says_nothing_new_asks_for_what_was_said(opened):
    """What says more is its answer, and the message is no answer itself later on."""
    agent = Agent(opened())
    said = ["My blood type is A negative.", "The boiler man comes on Friday."]
    for text in said:
        agent.process(text)
    assert agent.process("blood type").text.startswith(f"You said today: “{said[0]}”")
    assert agent.process("Friday blood donation").text == "Noted."
    assert agent.process("What is my blood type?").text.startswith(f"You said today: “{said[0]}”")


def test_a_turn_that_asks_answers_only_with_what_it_states_of_the_matter(opened):
    """Why somebody asked is no answer to the same question; what they stated beside it is one."""
    agent = Agent(opened())
    agent.process("Timur's sport? For a school form.")
    assert agent.process("Timur's sport?").text == NOTHING
    agent.process("Timur's sport is judo now. Is that too rough?")
    assert "judo" in agent.process("Timur's sport?").text


@each_row
def test_without_vectors_a_question_in_any_form_is_answered(plain, said, asked):
    """All words that tell something, whatever is said around them, and joined by hyphens.

    Ich bin Veganer. | Bin ich Veganer?
    Ich wohne in Porto. | Wo wohne ich?
    Soy vegano. | ¿Soy vegano?
    Vivo en Porto. | ¿Dónde vivo?
    Je suis végane. | Est-ce que je suis végane ?
    Je suis végane. | Suis-je végane ?
    J'habite à Porto. | Où est-ce que j'habite ?
    I am a vegan. | Am I vegan?
    """
    agent = Agent(plain)
    agent.process(said)
    assert agent.process(asked).text == f"You said today: “{said}”"
    agent.memory.forget_many(session=agent.chat.id, erase=True)


def test_a_question_never_answers_itself(opened):
    """Storing a question changes no answer to it, neither of recall nor of search (law 16)."""
    memory = opened()
    chat = memory.conversation("chat")
    for text in SAID:
        chat.add("user", text)
    different = {}
    for question in [*ASKED, *UNKNOWN]:
        before = _found(memory, question)
        chat.add("user", question)
        if _found(memory, question) != before:
            different[question] = before, _found(memory, question)
        chat.pop()
    assert not different


def _found(memory, question):
    memory.embed_pending()
    hits = memory.search(question, limit=10)
    told = memory.recall(question, budget=120).text
    return told, [(hit.record.id, round(hit.score, 5)) for hit in hits]


def test_news_of_somebody_by_name_answers_a_question_by_kinship(opened):
    """Where Rita moved is where the user's sister lives, once it is learned."""
    clock = FrozenClock(NOW)
    memory = opened(clock=clock)
    agent = Agent(memory, session="one")
    agent.process("My sister Rita lives in Lisbon.")
    agent.end()
    clock.advance(DAY)
    agent = Agent(memory, session="two")
    agent.process("Rita moved to Porto last week, by the way.")
    agent.end()
    assert "Porto" in Agent(memory, session="three").process("Where does my sister live?").text
    facts = [each.content for each in memory.records(kind="fact") if not each.superseded_by]
    assert "Rita lives in Porto." in facts


# What was learned before, what is said now, and what is asked, with the words of the answer.
NEWS = [
    ("I live in Bristol.", "We moved to Bath last week.", "Where do I live?", "moved to Bath"),
    ("I live in Bristol.", "We moved to Bath.", "Where did I use to live?", "live in Bristol"),
    (
        "I'm allergic to nuts.",
        "I'm not allergic to nuts after all.",
        "Am I allergic to nuts?",
        "not",
    ),
    ("I drive a Volvo.", "I sold the Volvo.", "What car do I have?", "sold"),
    (
        "My sister Rita lives in Lisbon.",
        "Rita moved to Porto.",
        "Where does my sister live?",
        "Porto",
    ),
    ("J'habite à Nice.", "J'ai déménagé à Metz.", "Où est-ce que j'habite ?", "Metz"),
    ("Ich wohne in Porto.", "Ich wohne jetzt in Wien.", "Wo wohne ich?", "Wien"),
]


def test_what_this_talk_tells_brings_up_to_date_what_was_learned(opened):
    """The newer statement answers at once, as it does after it was learned; nothing is stored."""
    clock = FrozenClock(NOW)
    memory = opened(clock=clock)
    wrong = {}
    for number, (old, new, question, words) in enumerate(NEWS):
        agent = Agent(memory.as_user(f"person-{number}"))
        agent.process(old)
        agent.process("/new")
        clock.advance(DAY)
        agent.process(new)
        answer = agent.process(question).text.partition("\n")[0]
        wrong |= {question: answer} if words not in answer else {}
    assert wrong == {}


class Extractor:
    """A language model that answers the stages of learning, and cannot talk."""

    name = "stages"

    def __init__(self):
        """Be asked nothing yet."""
        self.asked = []

    async def ask(self, instructions, prompt, answer):
        """Count the question; there is no answer."""
        self.asked.append((instructions, prompt, answer))
        raise LLMError("nothing is answered here")


def test_tomorrow_is_told_with_its_date_once_it_is_no_more(opened):
    """What a day means that was named from another one stands behind it from the next day on."""
    clock = FrozenClock(NOW)
    memory = opened(clock=clock)
    Agent(memory, session="one").process("My dentist appointment is tomorrow at 3pm.")
    today = Agent(memory, session="one").process("When is my dentist appointment?").text
    assert "is tomorrow at 3pm." in today
    clock.advance(DAY)
    later = Agent(memory, session="two").process("When is my dentist appointment?").text
    assert f"is tomorrow ({(NOW + DAY).day} " in later


def test_no_model_is_asked_for_an_answer_from_memory(opened):
    """What this talk tells is read by rules, though learning has a model."""
    model = Extractor()
    agent = Agent(opened(llm=model))
    agent.process("I live in Bristol.")
    assert "Bristol" in agent.process("Where do I live?").text
    assert "Bristol" in agent.process("What do you know about me?").text
    assert agent.model is None
    assert model.asked == []


# What is said, line by line, after ">"; and what is answered to the last line, or is in it.
POINTING = """
> I have swimming on Tuesdays. > When do I have swimming? > no, that's wrong. It's Thursdays. | Corrected: I have swimming on Thursdays.
> My dentist is Dr Moss. > /new > Who is my dentist? > That isn't right, it's Dr Vale | Corrected: Your dentist is called Dr Vale.
> I live in Leeds. > Where do I live? > no, it's York > Where do I live? | “I live in York.”
> I live in Leeds. > /new > Where do I live? > that's wrong, it's wednesday | Nothing is changed yet. Say in a whole sentence what is right.
> My rent is 900 euros. > /new > My bus is the 42. > What is my rent? > No, it's 950. | Corrected: Your rent is 950 euros.
> My gym is on Mondays. > When is my gym? > wrong. Saturdays. | Corrected: My gym is on Saturdays.
> My gym is on Mondays. > When is my gym? > Actually it's Fridays. | Corrected: My gym is on Fridays.
> I like jazz. > Do I like jazz? > that is no longer true | Nothing is changed yet. Say in a whole sentence what is right.
> My car is red. > What colour is my car? > sorry, it's late | Noted.
> My car is red. > What colour is my car? > that's wrong, it's blue | Corrected: My car is blue.
> My car is red. > What colour is my car? > that's wrong, it's Tuesday | Nothing is changed yet. Say in a whole sentence what is right.
> Ich wohne in Porto. > Wo wohne ich? > Falsch. Wien. | Corrected: Ich wohne in Wien.
> Ich wohne in Porto. > Wo wohne ich? > Nein, das stimmt nicht. Es ist Wien. | Corrected: Ich wohne in Wien.
> Vivo en Oporto. > ¿Dónde vivo? > No es cierto, es Madrid. | Corrected: Vivo en Madrid.
> I have a cat called Miso. > Do I have a cat? > no, that's fine | Noted.
> I have swimming on Tuesdays. > /new > When do I swim? > forget that > When do I swim? | Nothing in memory answers this.
> I have swimming on Tuesdays. > /new > When do I have swimming? > no, it's Thursdays > When do I have swimming? > forget that > When do I have swimming? | Nothing in memory answers this.
> My sister Ann lives in Leeds. > /new > You can forget what I said about my sister. | Forgotten: your sister is called Ann; your sister Ann lives in Leeds.
> My dad lives in Leeds, did I tell you? > forget that stuff about my dad | Forgotten: My dad lives in Leeds, did I tell you.
> My husband Ifor takes his tablets at 7 and at 11. > When is Ifor's birthday? | Nothing in memory answers this.
> My sister Mia lives in Bath and calls on Sundays. > What is Mia's phone number? | Nothing in memory answers this.
> my bf liam is coming up the weekend of march 14 > whens liams birthday | Nothing in memory answers this.
> My brother Bakyt drives a truck to Kashgar. > What is telephone of Bakyt? | Nothing in memory answers this.
> owen turns 13 on march 28 > whens owens birthday | owen turns 13 on march 28
> his birthday is on 28 march > forget that i said anything about his birthday | Forgotten: his birthday is on 28 march.
> My friend Dorothy is wrong about most things. > Do forget what I said about Dorothy being wrong about things, she drove me. | Forgotten: My friend Dorothy is wrong
> my dad lives in atlanta > forget that stuff i said about my dad > where does my dad live | Nothing in memory answers this.
> A friend invites me to eat liver, do I accept? > /new > A friend invites me to eat liver, do I accept? | Nothing in memory answers this.
> my boss wants to do a big roast lamb on sunday, can i eat that? > /new > my boss wants to do a big roast lamb on sunday, can i eat that? | Nothing in memory answers this.
> My brother Marek sells his flat for 6,2 million. > Marek went down with the price of the flat, now it is 5,8 million. > /new > How much does Marek want for the flat? | 5,8 million
> did my ankle in july so i see hannah the physio every second wednesday > when do i see the physio | hannah
> Can you talk to me a bit less formally? You sound like my old boss. | Remembered: Can you talk to me a bit less formally.
> I live in Leeds. > please forget that | Forgotten: I live in Leeds.
> Ex rang. Gary. Says he's changed. > Scrap what I said about Gary. | Forgotten: Ex rang. Gary. Says he's changed.
> I do eat eggs in secret. > Could you forget what I said about the eggs? I'd feel happier. | Forgotten: I do eat eggs in secret.
> I nearly married the engineer. > I'd rather you didn't keep the thing I said about the engineer, Isla reads this. | Forgotten: I nearly married the engineer.
> What if I moved to Canada, Alicia asked me. > What I said about maybe moving to Canada, you can drop that. | Forgotten
> I lost my licence over the mailbox. > That business about the mailbox, I'd be obliged if you forgot I ever said it. | Forgotten: I lost my licence over the mailbox.
> jude lands on sat 12 december > sorry not the 12th its the 19th | Corrected: Jude lands on sat 19 december.
> My favourite colour is teal. > My favourite colour is orange now, not teal. My cat is called Miso. | Noted: your favourite colour is orange; your cat is called Miso.
> Did I tell you that Viktor has died? He was 88. | Noted
> the vicar paid in cash, 14 grand > dont keep that about the cash off the vicar | Forgotten: the vicar paid in cash, 14 grand.
> My dad drinks. > Please forget what I said about my dad. It isn't fair to him, he's been sober since 2022. | Forgotten: My dad drinks.
> I paid £340 for 2 chairs. > No, I tell a lie, it was £430, I've just looked at the slip. | Corrected: I paid £430 for 2 chairs.
> Medical on 19 Feb or they pull my licence. > No wait. 20th. Friday. | Corrected: Medical on 20th Feb or they pull my licence.
> scan on me shoulder 20 oct at castle hill > no im lying its the 22nd just seen the letter | Corrected: Scan on me shoulder 22nd oct at castle hill.
> On 9 of April I go to a fair of furniture. > My flight goes at 6:40. > Sorry, I wrote wrong, the fair is on 16 of April, not 9 | Corrected: On 16 of April I go to a fair of furniture.
> Alison flies over on the 3rd of July. > I knit a scarf. > I beg your pardon, Alison arrives on the 5th of July, not the 3rd. | Corrected: Alison flies over on the 5th of July.
> The kiln will be fired on 12 June, we must watch it. > sorry, kiln firing is not 12 June, it will be 19 June because the wood is wet. | Corrected: The kiln will be fired on 19 June, we must watch it.
> Interview 4 Aug, online. > Correction. Not the 4th. 6th, Thursday. | Corrected: Interview 6 Aug, online.
> The buyer comes on the 2nd of June. > Sorry, not the 2nd, the 3rd of June. I looked in the mail now. | Corrected: The buyer comes on the 3rd of June.
> remember that Marek comes at 8 am > scratch that. 6 pm | Corrected: Marek comes at 6 pm.
> we have 3 daughters and a son > *4 daughters lol how could i | Corrected: We have 4 daughters and a son.
> I live in Gallway. > *Galway | Corrected: I live in Galway.
> The police took Cem for two nights. > Please to delete what I wrote about Cem and police. It was mistake to tell. | Forgotten: The police took Cem for two nights.
> My brother plays bassoon. > I meant my brother-in-law | Corrected: My brother-in-law plays bassoon.
> My sister lives in Leeds. > no wait, thats my cousin who lives there | Corrected: My cousin lives in Leeds.
> my aunt has a bakery > oh sorry, uncle | Corrected: My uncle has a bakery.
> My brother and my sister are here. > sorry I meant my cousin | Noted.
> Tom is my boss > I meant Tim | Corrected: Tim is my boss.
> Our choir sings in the cathedral. > Correction: the abbey, not the cathedral. Date is right. | sings in the abbey.
> remember that Marek comes at 8 am > scratch that, 6 pm | Corrected: Marek comes at 6 pm.
> The car broke down. > No, that's the problem. It's old. | Noted.
> I go to the gym on Mondays and Thursdays. > gym only on Mondays now | Noted
> My train is at 5 > I meant 6 | Corrected: My train is at 6.
> I have 2 dogs > oops 3 dogs | Corrected: I have 3 dogs.
> The party is at 7 > make that 8 | Corrected: The party is at 8.
> I keep my bike in line with the fence. > No, that's fine. | Noted.
> had a panic attack in the courtroom last month > My tea is cold. > ah and the courtroom thing, pls leave it out of whatever you remember > What happened in the courtroom? | Nothing in memory answers this.
> I had an operation of the left knee in Chengdu. > Please forget about my knee, the operation and so on. I don't like it. | Forgotten: I had an operation
> From now on metric only with me. No feet no pounds no fahrenheit. | Remembered: From now on metric only with me.
> There's a cake for Dr Mwangi's son on the 19th. > I like tea. > Correction, Dr Mwangi's cake is for the 20th, they moved it. | Dr Mwangi's son on the 20th.
> The party is at 7pm. > I like tea. > No, the party is at 8pm | Corrected: The party is at 8pm.
> we're 6 for dinner, how much lamb do i need? > 7! forgot about grandma | Corrected: We're 7 for dinner, how much lamb do i need.
> my flight leaves at 7.40, when should i set off? > 7.14 sorry cant read my own screenshot | Corrected: My flight leaves at 7.14
> My sister is allergic to penicillin, what else is there? > I meant my sister in law. My own sister is fine | Corrected: My sister-in-law is allergic
> What is my rent? > My rent is 900. > What is my rent? > No, it's 950. | Corrected: My rent is 950.
> dentist tomorrow at 3 > scratch that, it's wednesday. same time | Noted.
> I'm vegetarian. > oops wrong chat, that's what a guest wrote > What do I eat? | Nothing in memory answers this.
> my car's a diesel > ignore that, just checked the cap > What is my car? | Nothing in memory answers this.
> My address is 14 Kestrel Close. > can you drop my address from whatever you keep about me | Forgotten: My address is 14 Kestrel Close.
> I've got a court date in june > forget the court stuff pls, the rest is fine | Forgotten: I've got a court date in june.
> I have a sister in Leeds. > Sorry, my brother, he just called. | Noted.
> My flight is on Friday. > No, Saturday I am busy. | Noted.
> 40 people came to my party. > Excuse me, 5 minutes. | Noted.
> My son is 5 years old. > 6! That's how many candles he wanted. | Noted.
> My sister Dana lives in Leeds. > *Brother* is a great film. | Noted.
> My bike is red. > Forget my bike, I need a car. | Noted.
> My name is Eva and I live in Graz. > If the alarm goes off, ignore that. > Where do I live? | Graz
> My sister Dana has my bike. I'll drop it off later. > Who has my bike? | Dana
> I live in Leeds. > forget everything about me | That cannot be undone
> I earn 7850 francs a month. > Thanks. Please do not save that figure anywhere. > What do I earn? | Nothing in memory answers this.
> Let us practise. You are the waiter and I am the guest, ok? > My wife is coeliac. > What is wrong with my wife? | Nothing in memory answers this.
> stats midterm is dec 14 at 9am > wait no stats midterm got moved, its dec 16 now same time | Noted: Stats midterm is on 16 December
> I have 3 kids. > Oh wait, it's 5, I have to go. | Noted.
> it got moved, it's on the 25th now, not the 9th > no sorry 26th its a friday | Noted.
> My husband works at the Kao mine. | Noted: your husband works at the Kao mine.
> My name is Bo and my dog is called Rex. > /new > What's my dog's name? > forget that | Nothing is changed yet. Which do you mean: “your name is Bo” or “your dog is called Rex”?
> I live in Leeds. > What is my shoe size? > forget that | Nothing to forget: memory knows nothing about “that”.
> J'habite à Lyon. > Où est-ce que j'habite ? > oublie ça > Où est-ce que j'habite ? | Nothing in memory answers this.
> My dad drinks. > Don't save that. > What about my dad? | Nothing in memory answers this.
> My dad drinks. > Don't save that. > /new > What about my dad? | Nothing in memory answers this.
> remember that my locker is 212 > Don't save that. > What's my locker number? | Nothing in memory answers this.
> between us, I failed my driving test > Did I pass my driving test? | Nothing in memory answers this.
> the key hangs in the shed, don't tell anyone > Where is the key? | “the key hangs in the shed, don't tell anyone”
> Mi hermano bebe. > No guardes eso, por favor. > ¿Qué hace mi hermano? | Nothing in memory answers this.
> Mein Vater trinkt. > Bitte speicher das nicht. > Was ist mit meinem Vater? | Nothing in memory answers this.
> I'm allergic to nuts. > My locker is 12. > Forget that. > What am I allergic to? | “I'm allergic to nuts.”
> i hate mushrooms > lol i might join the circus > jk > I live in Leeds > what do i hate | “i hate mushrooms”
> I am allergic to penicillin. > My brother called me mad, but he was just kidding. > Am I allergic to penicillin? | “I am allergic to penicillin.”
> I am allergic to penicillin. > I might eat a whole cake tonight, only joking. > Am I allergic to penicillin? | “I am allergic to penicillin.”
> Pretend you are a pirate. > Ahoy! > Stop the role-play now. > My son is allergic to nuts. > What is my son allergic to? | “My son is allergic to nuts.”
> Let's practise my English. You are the waiter and I am the guest. > I'm allergic to nuts. > Am I allergic to nuts? | Nothing in memory answers this.
> Let's play tennis on Friday. > In the game I scored twice. > My son is allergic to nuts. > What is my son allergic to? | “My son is allergic to nuts.”
> I take Prozac. > /new > I'm allergic to nuts. Forget that I take Prozac. | Forgotten: you take Prozac.
> I take Prozac. > I'm allergic to nuts. Forget that I take Prozac. > What am I allergic to? | “I'm allergic to nuts.”
> The gas bill was 120. > Forget the gas bill. | Forgotten: The gas bill was 120.
> Laura is my plumber. > Please forget about Laura. | Forgotten: Laura is my plumber.
> I live in Leeds. > Forget where I live. > Where do I live? | Nothing in memory answers this.
> I live in Leeds. > Delete everything you know about me. | That cannot be undone
> I live in Leeds. > Erase all my data. | That cannot be undone
> My salary is £41,000. > That's private, delete it please. > What is my salary? | Nothing in memory answers this.
> I weigh 92 kilos. > Please wipe that from your memory. > What do I weigh? | Nothing in memory answers this.
> my ex is called vicky pls forget that > Who is vicky? | Nothing in memory answers this.
> My dad drinks. > Don't keep that last bit. > What about my dad? | Nothing in memory answers this.
> I am allergic to penicillin. > That's wrong of him. | Noted.
> I have an interview on Wednesday. > I mean Thursday. | Corrected: I have an interview on Thursday.
> The boiler service costs £85. > I got that wrong, it's £95. | Corrected: The boiler service costs £95.
> My phone number is 555-0134. > My mum's phone number is 555-9999. > What is my phone number? | “My phone number is 555-0134.”
> I'm allergic to nuts. > My son is allergic to eggs. > What am I allergic to? | “I'm allergic to nuts.”
> The wifi password is kiwi-Tree-4471. > What is the wifi password? | kiwi-Tree-4471
> The wifi password is kiwi-Tree-4471, Jess chose it. > Has Jess chosen anything for the wifi? | is […], Jess chose it.
> My wife is called Ana. > /new > Write a recipe. Remove the nuts. Remove Ana from the invitation. > Who is my wife? | Ana
> I live in Leeds. > Plan a trip. Remove Leeds. > Where do I live? | “I live in Leeds.”
> I'm allergic to nuts. > I shared my screen by mistake, forget it > What am I allergic to? | “I'm allergic to nuts.”
> I told you I'm allergic to nuts, please don't forget that! > What am I allergic to? | allergic to nuts
> I take Prozac. > My dad drinks a lot, don't save this. Forget that I take Prozac. > /new > What about my dad? | Nothing in memory answers this.
> My bank password is kiwi-Tree-4471. > What is the wifi password? | […]
> My bank password is kiwi-Tree-4471. > Which password manager should I use? | […]
> You are the doctor and I'm a patient. > I'm allergic to penicillin. > What am I allergic to? | Nothing in memory answers this.
> I'm a pilot. > Yeah I was kidding. > What do I do? | Nothing in memory answers this.
> I'm a pilot. > just kidding bro > What do I do? | Nothing in memory answers this.
> Always answer in metric. > What instructions have I given you? | Instructions: Always answer in metric.
> My sister is Ana. > wat do u know about me | your sister is called Ana
> The alarm code is 4821. > What is the alarm code for? | […]
> Our wifi password is Tulip-99x! > Do we have a wifi password? | […]
> I live in Rome. > Oh right, I live in Paris now. > Where do I live? | Paris
> I'm allergic to water. > Obviously I was joking. > What am I allergic to? | Nothing in memory answers this.
> You are the king, and I'm Queen Elizabeth. I live in Camelot. > Where do I live? | Nothing in memory answers this.
> I live in Rome. > I mean Paris is nicer. | Noted.
"""  # noqa: E501 - each is a talk


def test_what_points_back_acts_on_what_was_told_just_before(opened):
    """What takes back, corrects or withholds it acts, or says that it is not clear."""
    memory = opened(clock=FrozenClock(NOW))
    wrong = {}
    for number, row in enumerate(POINTING.strip().splitlines()):
        said, _, answer = row.partition(" | ")
        agent = Agent(memory.as_user(f"person-{number}"))
        *_, last = [agent.process(line.strip()).text for line in said.split(">")[1:]]
        wrong |= {row: last} if answer not in last else {}
    assert wrong == {}
