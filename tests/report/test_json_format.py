from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from expecttest import TestCase

from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.report import json_format
from conformance.report.findings import NoteKind, collect_findings
from conformance.report.json_format import render_json
from conformance.report.skips import SkippedBy
from conformance.store import Database
from tests.report.compiled_runs import write_compiled_run
from tests.report.runs import id_of, write_run
from tests.sample_run import build_sample


def render(path: Path, run_id: int = 1, top: int = 20) -> str:
    with Database.open_existing(path) as db:
        return render_json(collect_findings(db, run_id, top=top))


def keys_of(value: Any) -> set[str]:
    """Return every key at any depth, but those of objects that are keyed by data."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if isinstance(value, dict):
        by_data = ("outcomes", "statuses", "environment", "dtypes")
        return set(value).union(*(keys_of(part) for key, part in value.items() if key not in by_data))
    return set()


class TestJson(TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_shows_a_small_run(self) -> None:
        results = [
            Result(id_of("test_a"), Outcome.PASSED),
            Result(id_of("test_b"), Outcome.FAILED, message="no 1", signature="no N"),
        ]
        path = write_run(self.folder / "db", results, planned=["test_c"], inventory=["a", "b", "c"], probe="")
        self.assertExpectedInline(
            render(path, top=1),
            """\
{
  "by_dtype": [
    {
      "dtypes": {
        "native": [
          "float32"
        ]
      },
      "name": "a",
      "noun": "operator",
      "status": "native"
    },
    {
      "dtypes": {
        "failing": [
          "float32"
        ]
      },
      "name": "b",
      "noun": "operator",
      "status": "failing"
    },
    {
      "dtypes": {
        "untested": [
          "float32"
        ]
      },
      "name": "c",
      "noun": "operator",
      "status": "untested"
    }
  ],
  "compiled": {
    "rows": [],
    "subjects": []
  },
  "failures": {
    "hidden": 0,
    "rows": [
      {
        "frames": [],
        "message": "no 1",
        "modules": 0,
        "operators": 1,
        "outcome": "failed",
        "outcomes": {
          "crashed": 0,
          "error": 0,
          "failed": 1,
          "out_of_memory": 0,
          "timed_out": 0
        },
        "repeat": "conformance run opinfo --device neuron --test opinfo::TestX::test_b",
        "sample": "",
        "samples": null,
        "samples_passed": null,
        "signature": "no N",
        "test_id": "opinfo::TestX::test_b",
        "tests": 1
      }
    ],
    "tests": 1
  },
  "fallbacks": {
    "hidden": 0,
    "rows": [],
    "without_operator": {
      "hidden": 0,
      "rows": [],
      "tests": null
    }
  },
  "groups": {
    "hidden": 0,
    "rest": null,
    "rows": [
      {
        "fell_back": null,
        "key": "pointwise",
        "outcomes": {
          "crashed": 0,
          "error": 0,
          "failed": 1,
          "flaky": 0,
          "not_run": 1,
          "out_of_memory": 0,
          "passed": 1,
          "skipped": 0,
          "timed_out": 0,
          "xfailed": 0,
          "xpassed": 0
        },
        "planned": 3
      }
    ]
  },
  "lost": {
    "hidden": 0,
    "test_ids": [
      "opinfo::TestX::test_c"
    ],
    "total": 1
  },
  "modules": {
    "declared": 0,
    "statuses": {
      "crashing": 0,
      "failing": 0,
      "fallback": 0,
      "native": 0,
      "partial": 0,
      "skipped": 0,
      "untested": 0
    },
    "total": 0
  },
  "notes": [
    {
      "kind": "incomplete",
      "text": "the run is complete; 1 of 3 planned tests has no result."
    },
    {
      "kind": "unobserved",
      "text": "no probe looked for CPU fallbacks; an operator shown as native may have used one."
    }
  ],
  "operators": {
    "declared": 3,
    "statuses": {
      "crashing": 0,
      "failing": 1,
      "fallback": 0,
      "native": 1,
      "partial": 0,
      "skipped": 0,
      "untested": 1
    },
    "total": 3
  },
  "run": {
    "backend": "torch-neuronx",
    "backend_version": "2.13.3.1",
    "command": "conformance run opinfo --device neuron",
    "created_at": "2026-10-01T00:00:00Z",
    "device": "neuron",
    "device_name": "Trainium2",
    "emulated": false,
    "environment": {},
    "finished_at": "2026-10-01T00:01:00Z",
    "harness_version": "0.1.0",
    "host": "host",
    "id": 1,
    "key": "ab12cd34ab12cd34ab12cd34ab12cd34",
    "operating_system": "Linux",
    "probe": "",
    "python_version": "3.11.7",
    "seed": 0,
    "selection": "",
    "started_at": "2026-10-01T00:00:01Z",
    "state": "complete",
    "suites": [
      "opinfo"
    ],
    "torch_version": "2.13.0"
  },
  "schema": 1,
  "skips": {
    "hidden": 0,
    "rows": []
  },
  "templates": {
    "hidden": 0,
    "rest": null,
    "rows": [
      {
        "fell_back": null,
        "key": "test",
        "outcomes": {
          "crashed": 0,
          "error": 0,
          "failed": 1,
          "flaky": 0,
          "not_run": 1,
          "out_of_memory": 0,
          "passed": 1,
          "skipped": 0,
          "timed_out": 0,
          "xfailed": 0,
          "xpassed": 0
        },
        "planned": 3
      }
    ]
  },
  "tests": {
    "fell_back": null,
    "outcomes": {
      "crashed": 0,
      "error": 0,
      "failed": 1,
      "flaky": 0,
      "not_run": 1,
      "out_of_memory": 0,
      "passed": 1,
      "skipped": 0,
      "timed_out": 0,
      "xfailed": 0,
      "xpassed": 0
    },
    "planned": 3
  }
}
""",
        )

    def test_documents_every_key(self) -> None:
        path = build_sample(self.folder / "sample.sqlite", runs=3, operators=13)
        keys = set().union(*(keys_of(json.loads(render(path, run_id, top=2))) for run_id in (1, 2, 3)))
        seen = FallbackAccount((), ("aten::x",))
        local = Result("test_mine.py::test_a", Outcome.PASSED, fallback=seen)
        narrow = write_run(self.folder / "narrow", [Result(id_of("test_a"), Outcome.PASSED, fallback=seen), local])
        keys |= keys_of(json.loads(render(narrow)))
        keys |= keys_of(json.loads(render(write_compiled_run(self.folder / "compiled"))))
        documentation = json_format.__doc__ or ""
        documented = set(re.findall(r"``([a-z_]+)``", documentation))
        assert keys <= documented
        values = {"not_run", "operator", "module", "compile_dynamic"} | {kind.value for kind in (*NoteKind, *SkippedBy)}
        assert documented - keys - values == set()

    def test_is_sorted_ascii_and_names_every_outcome_and_status(self) -> None:
        path = build_sample(self.folder / "sample.sqlite", operators=13)
        text = render(path)
        document = json.loads(text)
        assert text == json.dumps(document, indent=2, sort_keys=True) + "\n"
        assert text.isascii()
        assert document["schema"] == 1
        assert set(document["tests"]["outcomes"]) == {outcome.value for outcome in Outcome}
        assert sum(document["tests"]["outcomes"].values()) == document["tests"]["planned"]
        assert set(document["operators"]["statuses"]) == {status.value for status in OperatorStatus}

    def test_shows_no_data_as_null_or_a_total_of_zero(self) -> None:
        document = json.loads(render(write_run(self.folder / "db", [], probe="", state=None)))
        assert document["tests"]["fell_back"] is None
        assert document["run"]["finished_at"] is None
        assert document["operators"]["total"] == document["operators"]["declared"] == 0

    def test_is_the_same_every_time(self) -> None:
        one = build_sample(self.folder / "one.sqlite", operators=30)
        two = build_sample(self.folder / "two.sqlite", operators=30)
        assert render(one) == render(one) == render(two)
