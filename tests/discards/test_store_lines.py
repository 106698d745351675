"""The lists of lines that a store keeps."""

from brimful.discards.store import Store


def test_a_list_has_a_line_for_each_entry_and_no_other(tmp_path):
    store = Store.create(tmp_path / "store")
    store.note_unread([{"reason": "a"}, {"reason": "b"}])
    store.note_unread([{"reason": "c"}])
    lines = (store.path / "quarantine.jsonl").read_text().splitlines()
    assert lines == ['{"reason": "a"}', '{"reason": "b"}', '{"reason": "c"}']


def test_a_line_that_a_killed_program_left_unfinished_takes_no_other_with_it(tmp_path):
    store = Store.create(tmp_path / "store")
    store.note_ingested([{"digest": "a"}])
    with (store.path / "ingested.jsonl").open("ab") as file:
        file.write(b'{"digest": "b')
    store.note_ingested([{"digest": "c"}])
    assert list(store.ingested()) == ["a", "c"]
