"""Whose words a message is: the user's, another person's, or nobody's because they were pasted."""

from learning_talks import by_hand, remembering
from tables import each_row

from memoranda.learning.speakers import SpeakerLabels


@each_row
def test_a_label_says_who_speaks(messages, speakers):
    """By its name, a bridge's brackets or that it comes again; "-" is the user, "?" nobody.

    Bob: I moved. | Bob
    lucía: vivo en Lima | lucía
    Anna-Lena Krüger: Ich bin da. | Anna-Lena Krüger
    Sara, 3:45 PM: Hi. / **Chloé:** Salut. / Alice (work): Hi. | Sara, Chloé, Alice
    [Thandiwe] Hi. / <Wiebke> Moin. / [Ngozi]: Hi. | Thandiwe, Wiebke, Ngozi
    Thandiwe: Hi. / Tom: Hi. / Thandiwe: I moved. | Thandiwe, Tom, Thandiwe
    alice_99: hi / alice_99: i moved | alice_99, alice_99
    Thandiwe: I moved. / Dr. Meyer: I moved. / Me: I moved. / User: I moved. / [xx99] hi
    | ?, ?, ?, ?, ?
    # A label of one's own is nobody's name, in any language, also where it comes again.
    Note: I moved. / Note: I am back. / PS: I moved. / TODO: I move. / [Update] I moved.
    | -, -, -, -, -
    Shoes: I'm in the old pair. / Plan: Ich bin weg. / Laptop: mine. / Cena: algo. | -, -, -, -
    Heads-up: I moved. / Quick question: Why? / My address: Rome / Correction: Rome. | -, -, -, -
    Dear Alice: I moved. / @Bob: I moved. / Monday: I swim. / Paris: I like it. / See 10:15
    | -, -, -, -, -
    Hinweis: Ich zog um. / Klarstellung: Ich zog um. / Nachtrag: Ich bin da. / Frage: Wer?
    | -, -, -, -
    Remarque : je suis là. / Précision : non. / Rappel : demain. / Question : qui ? | -, -, -, -
    Aviso: me mudé. / Advertencia: no. / Pregunta: ¿quién? / Recuerda: soy vegana. | -, -, -, -
    """
    texts = messages.split(" / ")
    labels = SpeakerLabels(texts)
    split = list(map(labels.split, texts))
    nobody = ["-" if said in texts else "?" for _, said in split]
    assert [label or no for (label, _), no in zip(split, nobody, strict=True)] == speakers.split(
        ", "
    )


@each_row
def test_what_is_pasted_is_nobodys(text, own):
    """Minutes, logs, exports of chats and e-mails are left out; what stands before them stays.

    Alice: I moved.⏎Bob: Me too. |
    Thandiwe: I moved.⏎Xiomara: Me too. |
    I'm vegan. The minutes:⏎- Alice: I moved.⏎- Note: none | I'm vegan. The minutes:⏎
    User: I moved.⏎Assistant: Nice. |
    Q: Where are you?⏎A: In Rome. |
    [12/05/2024, 10:15:22] Alice: I moved. |
    12.05.24, 10:15 - Alice: I moved.⏎12.05.24, 10:16 - Bob: Me too. |
    (10:15) bob: hi |
    Alice Smith — Today at 10:15⏎I moved. |
    Alice⏎10:15 AM⏎I moved. |
    # What asks something below what is pasted is the user's own again.
    (10:15) Alice: I moved.⏎Where to? I'm in Rome. | ⏎Where to? I'm in Rome.
    See:⏎From: Alice <alice@example.com>⏎Subject: hi⏎⏎I moved. | See:⏎
    Am Mo., 3. Mai um 10:15 schrieb Alice Meier:⏎Ich zog um. |
    Le lundi, Alice <a@example.com> a écrit :⏎J'habite à Lyon. |
    Name: Tom⏎Home: Rome⏎Pros: none | Name: Tom⏎Home: Rome⏎Pros: none
    Dentist at 10:15⏎I moved. | Dentist at 10:15⏎I moved.
    ```⏎Alice: I moved.⏎Bob: Hi.⏎```⏎I'm vegan. | ```⏎Alice: I moved.⏎Bob: Hi.⏎```⏎I'm vegan.
    """
    assert SpeakerLabels([text]).split(text) == (None, own)


@each_row
def test_nobodys_words_become_anothers_facts(messages, facts):
    """``name>`` stands for the name of a message; the memory is Ann's, ``//`` parts talks.

    Bob>I live in Bonn. / Eva>I live in Oslo. / I live in Rome.
    | Bob lives in Bonn. / Eva lives in Oslo. / The user lives in Rome.
    Bob: I'm allergic to nuts. / I'm allergic to milk.
    | Bob is allergic to nuts. / The user is allergic to milk.
    Ann>I live in Rome. / [ann] I'm vegan. | The user lives in Rome. / The user is vegan.
    My name is Zoë Reed. // Zoë>I live in Rome.
    | The user's name is Zoë Reed. / The user lives in Rome.
    Eva: I live in Oslo⏎Bob: I live in Bonn | -
    assistant>I live in Oslo. / tool>I live in Bonn. | -
    Bob>Please remember that I'm vegan. | Bob is vegan.
    I live in Rome. / Bob>Please forget that I live in Rome. | The user lives in Rome.
    """
    with remembering(user="ann", settings=by_hand()) as memory:
        for number, talk in enumerate(messages.split(" // ")):
            for each in talk.split(" / "):
                name, _, text = each.rpartition(">")
                memory.conversation(str(number)).add("user", text, name=name or None)
            memory.consolidate()
        known = [each.content for each in memory.records(kind="fact")]
    assert sorted(known) == sorted(each for each in facts.split(" / ") if each != "-")
