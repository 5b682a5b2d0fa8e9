from __future__ import annotations

from pathlib import Path

from conformance.store.schema_document import schema_document

DOCUMENT = Path(__file__).parents[2] / "docs" / "schema.md"


def test_the_document_says_what_the_code_does() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == schema_document(), (
        "docs/schema.md is out of date: python -m conformance.store.schema_document > docs/schema.md"
    )


def test_every_example_in_the_document_runs(tmp_path: Path) -> None:
    from conformance.store import Database
    from tests.sample_run import build_sample

    examples = [
        part.partition("```")[0] for part in schema_document().split("```sql\n")[1:] if part.startswith("SELECT")
    ]
    assert len(examples) == 4
    with Database.open_existing(build_sample(tmp_path / "a.sqlite", operators=24)) as database:
        rows = [list(database.query(example)) for example in examples]
    assert len(rows[0]) > 3
    assert len(rows[3]) > 0
