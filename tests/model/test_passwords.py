"""No password of an address is shown, and results show themselves in a readable line."""

from tables import each_text

from memoranda import AsyncMemory, Memory
from memoranda.model.passwords import hide_password


def test_records_and_hits_are_one_line():
    """A record says what it is and begins to say its text; a hit says how well it answers."""
    with Memory(":memory:", user="ana") as memory:
        record = memory.remember("Ana is vegetarian and " + "likes tea,\n" * 50)
        line = repr(record)
        assert line.startswith(f"Record(id='{record.id}', kind='fact', content='Ana is vegetarian ")
        assert len(line) < 150
        assert line.splitlines() == [line]
        (hit,) = memory.search("Is Ana vegetarian?")
        assert repr(hit) == f"Hit(score={hit.score:.3f}, record={line})"
        assert repr(memory) == "Memory(location=':memory:', user='ana')"
        assert repr(memory.as_user("ben", agent="a")).endswith("user='ben', agent='a')")
        assert repr(memory.conversation("trip")) == "Conversation(id='trip')"
    assert repr(AsyncMemory("x.db", user="ana")) == "AsyncMemory(user='ana', open=False)"


@each_text
def test_no_password_of_an_address_is_shown(address):
    """However it is written, also where nobody could connect to it.

    postgresql://ana:tiger@host/db | postgresql://ana:ti/g@er@host:5432/db?sslmode=require
    postgresql://ana:7/tiger@host | postgresql+psycopg2://ana:tiger@host/db
    postgresql://ana@corp:tiger@host/db | ⏎PostgreSQL:/ana:tiger@host | postgres:ana:tiger@host/db
    openai:qwen3@http://ana:tiger@host/v1 | //ana:tiger@host
    postgresql://host/db?p%61ssword=tiger&user=ana | postgresql://host/db?password=ti&tiger
    host=h password='a tiger
    """
    for each in (address, r"host=h password=a\ tiger"):
        assert "tiger" not in hide_password(each)
        assert "…" in hide_password(each)


@each_text
def test_what_is_no_password_is_shown(text):
    """Ports, paths, and names of models with signs of an address.

    postgresql://ana@host:5432/db?application_name=a
    postgresql://h:5432,i:5432/db?user=ana | openai:qwen3:8b@http://localhost:11434/v1
    http://localhost:8000/v1/x | C:/memory/a.db | ~/user=ana/agent.db
    """
    assert hide_password(text) == text
