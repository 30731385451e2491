"""Law 18: what ends what. A narrower or other thing never ends a known one; the same one does."""

from hypothesis import given
from hypothesis import strategies as st
from rule_facts import learned
from tables import each_row

from memoranda.facts.values import same_value
from memoranda.learning.claims import Relation
from memoranda.learning.judge import judge_text

WORDS = ["pine", "nuts", "decaf", "coffee", "new", "jersey", "ana", "maria"]


@each_row
def test_what_is_narrower_or_other_stands_beside(first, later, holds):
    """What was told later ends nothing: the older fact holds.

    I'm allergic to nuts. | I'm not allergic to pine nuts. | allergic to nuts
    I'm allergic to pine nuts. | I'm not allergic to nuts. | allergic to pine nuts
    Remember that I'm allergic to nuts. | I'm not allergic to pine nuts. | I'm allergic to nuts
    My daughter is allergic to milk. | My daughter is not allergic to coconut milk.
    | daughter is allergic to milk
    Ich bin gegen Milch allergisch. | Ich bin nicht gegen Kokosmilch allergisch. | gegen Milch
    Je suis allergique aux noix. | Je ne suis pas allergique aux noix de coco. | est allergique
    Soy alérgica a la leche. | No soy alérgica a la leche de coco. | tiene alergia a leche
    Sono allergico alle noci. | Non sono allergico alle noci di cocco. | ha un'allergia a noci
    ナッツアレルギーです。 | カシューナッツアレルギーではありません。 | ナッツのアレルギーがある
    我对牛奶过敏。 | 我对椰子牛奶不过敏。 | 用户对牛奶过敏
    I like coffee. | I don't like decaf coffee. | likes coffee
    I like decaf coffee. | I don't like coffee. | likes decaf coffee
    J'aime le café. | Je n'aime pas le café décaféiné. | aime le café
    Mi piace il caffè. | Non mi piace il caffè decaffeinato. | piace il caffè
    コーヒーが好きです。 | 缶コーヒーは嫌いです。 | コーヒーが好き
    I prefer tea to coffee. | I prefer wine to beer. | tea to coffee
    My daughter is called Ana. | My other daughter is called Ana Maria. | is called Ana.
    My sister is called Eva. | My sister Eva-Maria died. | sister is called Eva.
    My wife is called Dana Smith. | My wife is called Dana. | Dana Smith
    I work at Delta Dental. | I quit Delta. | works at Delta Dental
    I work at Delta. | I quit Delta Dental. | works at Delta
    I speak French. | I don't speak Canadian French. | speaks French
    I'm not allergic to nuts. | I'm allergic to pine nuts. | not allergic to nuts
    I'm vegetarian. | I eat dairy again. | vegetarian
    I work at Rex. | Our dog Rex died. | works at Rex
    The board meeting is on Monday. | The meeting is on Tuesday. | board meeting
    Ed's class is on Sundays. Tom's class is on Mondays. | His class is on Fridays now. | Sundays
    """
    assert any(holds in fact for fact in learned(first, later)), learned(first, later)


@each_row
def test_the_same_thing_denied_or_of_another_value_is_ended(first, later, over):
    """In singular and plural, whatever its case and article.

    I'm allergic to nuts. | I'm not allergic to nuts. | is allergic to nuts
    I'm allergic to nuts. | I'm not allergic to Nuts any more. | is allergic
    Je suis allergique aux noix. | Je ne suis pas allergique aux noix. | est allergique
    Soy alérgica a la leche. | No soy alérgica a la leche. | usuario tiene alergia
    Sono allergico alle noci. | Non sono allergico alle noci. | utente ha un'allergia
    ナッツアレルギーです。 | ナッツアレルギーではありません。 | アレルギーがある
    I'm not allergic to nuts. | I'm allergic to nuts after all. | not allergic
    Je ne suis pas allergique aux noix. | Je suis allergique aux noix. | n’est pas allergique
    Non sono allergico alle noci. | Sono allergico alle noci. | non ha un'allergia
    ナッツアレルギーではありません。 | ナッツアレルギーです。 | アレルギーはない
    I like tea. | I don't like tea. | likes tea
    Ich mag Tee. | Ich mag keinen Tee. | mag Tee
    Me gusta el té. | No me gusta el té. | usuario le gusta el té
    J'aime le thé. | Je n'aime pas le thé. | aime le thé
    Mi piace il tè. | Non mi piace il tè. | utente piace il tè
    紅茶が好きです。 | 紅茶は嫌いです。 | 紅茶が好き
    I prefer tea to coffee. | I prefer coffee to tea. | tea to coffee
    I prefer tea to coffee. | I prefer coffee over tea. | tea to coffee
    Prefiero el té al café. | Prefiero el café al té. | té al café
    Je préfère le thé au café. | Je préfère le café au thé. | thé au café
    コーヒーより紅茶が好きです。 | 紅茶よりコーヒーが好きです。 | コーヒーより紅茶
    I'm vegetarian. | I eat meat again. | vegetarian
    I live in New Jersey. | I live in Jersey now. | New Jersey
    Vivo en Santiago de Cuba. | Ahora vivo en Santiago. | Cuba
    東京都に住んでいます。 | 京都に住んでいます。 | 東京都
    My boss is called Ana. | My boss is Ana Maria. | is called Ana.
    I have two cats. | I have three cats now. | two cats
    I drive a Skoda. | I sold the Skoda. | drives a Skoda
    """
    assert any(over in fact for fact in learned(first))
    assert not any(over in fact for fact in learned(first, later)), learned(first, later)


def test_a_value_that_holds_a_time_is_compared_by_it():
    """A day in other words is the same day; the same words another day mean another one."""
    assert len(learned("The board meeting is on 30 March.", "The board meeting is today.")) == 1
    said = "My dentist appointment is tomorrow."
    [first], [later] = learned(said), learned(said, said)
    assert first != later


@given(*[st.lists(st.sampled_from(WORDS), min_size=1)] * 2)
def test_values_are_the_same_as_wholes_or_not_at_all(one, other):
    """Never because one holds the words of the other; an article before it changes nothing."""
    assert same_value(" ".join(one), " ".join(other), "en") is (one == other)
    assert same_value(f"The {' '.join(one).upper()}", " ".join(one), "en")


@each_row
def test_a_sentence_repeats_another_only_if_nothing_tells_them_apart(old, new, again):
    """Numbers, names, negations and the order keep two sentences apart.

    I broke my wrist on the ice. | I broke my wrist on the ice! | yes
    I broke my wrist on the old ice rink. | I broke my wrist on the ice rink. | yes
    "I broke my wrist." (the user, 20 February 2026) | I broke my wrist. | yes
    I broke my wrist on the ice rink. | I broke my wrist on the old ice rink. | no
    Ben can swim very well today. | Ben cannot swim very well today. | no
    We keep two old grey horses here. | We keep three old grey horses here. | no
    My old tutor Ben plays the violin. | My old tutor Tom plays the violin. | no
    I would take green tea over black coffee. | I would take black coffee over green tea. | no
    I used to sail with old friends here. | I sail with old friends here. | no
    Mein Bruder spielt gern Schach. | Mein Bruder spielt nie Schach. | no
    猫を飼っています。 | 猫を飼っていません。 | no
    """
    relation = Relation.DUPLICATE if again == "yes" else Relation.NONE
    assert judge_text(old, new) is relation


@given(st.text(min_size=1, max_size=40))
def test_a_text_repeats_itself(text):
    """In any script."""
    assert judge_text(text, text) is Relation.DUPLICATE
