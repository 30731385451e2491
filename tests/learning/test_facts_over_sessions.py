"""What a later session changes of what an earlier one told, though it may say only a name."""

import pytest
from learning_talks import contents, remembering, talk
from rule_facts import learned
from tables import each_row


@each_row
def test_what_was_told_last_holds_and_what_it_ends_does_not(said, holds, over):
    """Of sessions, parted by a stroke: a part of a fact that holds, and one that none has.

    # What a later sentence only names ends, whatever it is known of.
    I work at Bistro Lupo. / I quit Bistro Lupo last night. | | The user works at Bistro Lupo
    I'm a nurse. / I retired last Friday! | | works as a nurse
    I work at Orbit. My boss is Kim. / I have a new job at Delta. | at Delta | is called Kim
    My colleague is Tyrone. / Let's hope. Tyrone quit. | | colleague is called Tyrone
    I live in Fargo. / Hello! I moved in on Saturday, all is chaos. | | lives in Fargo
    My colleague is Tyrone. / And Tyrone quit to join the navy. | | colleague is called Tyrone
    You may call me Mrs Kerr. / Just call me Val. | Call me Val | Mrs Kerr
    Puedes llamarme Paco. / Puedes llamarme Fran. | Fran | Paco
    I'm engaged. / Mia and I broke up. | | The user is engaged
    I hate jazz. / I love jazz now. | | does not like jazz
    I work at Solvaria. / No more Solvaria. | | The user works at Solvaria
    I go to uni in Bristol. / dropped out of uni | | The user goes to uni
    my gf is called Ana. / me n ana split up | | gf is called Ana
    my rent is 900. / rent went up to 950 | 950 | 900
    My exam is on 14 December. / exam got pushed to the 16th | the 16th | 14 December
    My brother is called Tim. / Tim got run over by a bike but he's fine | is called Tim |
    My wife is called Ana. / so me and ana are over. | | wife is called Ana
    My husband is Dan. / Dan finished! | husband is called Dan |
    My wife is called Ana. / Ana and I are done with the kitchen. | wife is called Ana |
    I drive a Honda Civic. / I sold the Civic. | | drives a Honda Civic
    I love Earl Grey tea. / I've gone off Earl Grey. | | The user likes Earl Grey tea
    My dog is called Max. / My dog Max died. | | dog is called Max
    My girlfriend is called Anna. / I'm single again. | | girlfriend is called Anna
    My wife is called Julia. / Julia and I got divorced. | | wife is called Julia
    I live in London. / I moved from Google to Apple. | lives in London | lives in Apple
    My dog is called Max. My dog is called Rex. / Our dog died last year. | is called Rex |
    My husband is Tom. / Tom and I got separated in the crowd. | is called Tom |
    I'm vegan. / I eat cheese again. | | The user is vegan
    I work at Ford. / I left my job at Ford, I couldn't cope at work. | | The user works at Ford
    # Two people of one name are two.
    My son Tom is allergic to nuts. / My friend Tom is not allergic to nuts any more.
    | The user's son Tom is allergic to nuts |
    My boss is Tim. / My neighbour Tim died. | boss is called Tim |
    My friend Ana lives in Leeds. / My sister Ana lives in York. | Ana lives in Leeds |
    I live in Bath with my husband Tom. / Meine Freundin Anke wohnt in Bonn. | called Tom |
    I work at Lidl. / Karl was made redundant last week. | The user works at Lidl |
    I work at Lidl. / I quit my job as treasurer of the club. | The user works at Lidl |
    I work as a doctor. / I work as a teacher. | as a teacher | as a doctor
    I work at Lidl. / I left Lidl when I moved to York. | | The user works at Lidl
    I work at Lidl. / I got fired for being late. | | The user works at Lidl
    I don't eat pork for religious reasons. / I eat pork again. | | does not eat pork
    Mein Freund heißt Luca. / Luca und ich haben uns getrennt. | | heißt Luca
    # Nor does what holds on some days only end what holds on the others.
    I take aspirin. / I don't take aspirin on weekends. | The user takes aspirin |
    I'm vegan. / I'm not vegan when I travel. | The user is vegan |
    # Another part of a list, what others gave up, and what is only asked end nothing.
    We keep six alpacas and two donkeys. / Sold the alpacas at the spring fair.
    | The user keeps two donkeys |
    My dentist is Dr Roe. / My landlord is Tom Fry. | The user's dentist is called Dr Roe |
    I work at Orbit. My boss is Kim. / I have a new job at Orbit. | boss is called Kim |
    I work at Orbit. / My boss is Ann Roe, I started a new job at Delta. | Ann Roe | Orbit
    My boss is Kim. / I found a new job at Delta in 2010. | boss is called Kim |
    Always end with a joke. / Ok you can answer now. | end with a joke |
    Responde siempre en inglés. / Ya puedes responder. | inglés |
    My colleague is Tyrone. / Let's hope. Tyrone quit sugar. | is called Tyrone |
    My colleague is Tyrone. / Tyrone quit smoking. | The user's colleague is called Tyrone |
    I live in Leeds. / We live in Fargo, basically. | The user lives in Leeds |
    I play the cello. / My brother quit the cello. | The user plays the cello |
    I work at Lupo. / My dinner at Lupo is over. | The user works at Lupo |
    I live in Leeds. / Should I be done with Leeds? | The user lives in Leeds |
    My locker is 12. / My locker code is 3391. | The user's locker is 12 |
    My older daughter studies law. / My younger daughter studies medicine.
    | The user's older daughter studies law |
    I drive a Volvo V60. / I've got a rental Corsa for two days. | The user drives a Volvo V60 |
    I drink coffee every morning. / I don't drink tea, just coffee.
    | “I drink coffee every morning.” |
    My commute takes 40 minutes by train. / I swim 30 minutes now before it.
    | “My commute takes 40 minutes by train.” |
    # A sentence is over where a later one says the same with another number.
    I have one child. / I have two children now. | two | one
    My shift starts at six. / My shift starts at two now. | at two | at six
    Remember that I run 20 km a week. / I run 30 km a week now. | 30 km | 20 km
    # A value in the place of a named one is told of the same.
    I take metoprolol. / My doctor switched me from metoprolol to ramipril. | rami | meto
    The code at the shed is 7719. / New code at the shed: 4402. | 4402 | 7719
    I've got pottery class on Tuesdays. / My pottery class moved to Fridays. | Fri | Tues
    My pottery classes are on Tuesdays. / My pottery class moved to Fridays. | Fri | Tues
    The board meeting is on 5 May at 10:00. / The board meeting is on 5 May at 14:30.
    | 14:30 | 10:00
    I'm in flat 12, third floor. / So it's flat 27 we're in now. | 27 | 12
    Our wedding is on 6 June. / We put the wedding off till 9 July. | 9 July | 6 June
    The wedding is on 27 June. / So the wedding's on 4 July now. | 4 July | 27 June
    The meeting is on the 10th. / No, the meeting is on the 11th, not the 10th.
    | 11 April | 10 April
    # What is only pointed at is the one that is known; what may be several is none of them.
    Ed's class is on Sundays. Tom's class is on Mondays. / His class is on Fridays now.
    | Sundays | Fridays
    My cat is not called Moss, she's called Ross. / Nice. | cat is called Ross | Moss
    Always give weights of meat in grams. / Always suggest recipes with tofu, not meat. | grams |
    # A subject left out is that of the one before.
    Neil's gone and sold up. Living in a caravan at Robe. | | The user
    猫を飼っています。名前はモモです。 | | ユーザーの名前
    我养了一只猫。它叫咪咪。 | | 用户叫
    Ich arbeite im Krankenhaus. My dog is called Zorro. | Krankenhaus |
    Ich arbeite im Krankenhaus. My dog is called Zorro. | Zorro |
    """
    first, *later = said.split(" / ")
    facts = learned(first, *later)
    assert holds or not later or any(over in fact for fact in learned(first))
    assert not holds or any(holds in fact for fact in facts), facts
    assert not over or not any(over in fact for fact in facts), facts


@pytest.mark.parametrize(
    "change",
    [
        "In the canteen now, no longer in the old library, my study group on roman law meets.",
        "They moved the roman law study group to the canteen.",
    ],
)
def test_a_quotation_ends_where_its_speaker_tells_a_change_of_much_the_same(change):
    """Be that kept or not; what tells of no change stands beside it, and so does another matter."""
    first = "My study group on roman law meets in the old library."
    beside = "My study group on roman law meets in a cold library."
    other = "My aunt now sells two of her forty narrow boats in Ghent."
    with remembering() as memory:
        for session, said in enumerate((first, beside, other, change)):
            talk(memory, f"s{session}", said).end()
            memory.consolidate()
            told = [text for text in contents(memory) if text.startswith("“")]
            assert any(first in text for text in told) is (session < 3)
        assert any(other in text for text in told)
