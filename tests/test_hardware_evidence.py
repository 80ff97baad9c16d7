"""What GPUs did, as recorded in `tests/hardware`, against the model as it is: nothing that was seen is forbidden."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from building import model
from runs import Seen, mp, ran

from ptxmm.compare import Comparison, Standing, by_test, compare
from ptxmm.gpu.log import Run, read_log, to_line
from ptxmm.options import Options

LOGS = sorted((Path(__file__).parent / "hardware").glob("*.jsonl*"))
EVIDENCE = pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
FAILURES = (Standing.FORBIDDEN_SEEN, Standing.BROKEN)
QUICK_TESTS = 60
FOUND = json.loads((Path(__file__).parent / "hardware" / "findings.json").read_text())


def failures(tests: list[tuple[Run, ...]]) -> list[Comparison]:
    """The tests in which a state was seen that the model forbids, and those that are no evidence."""
    found = (compare(runs, model("ptx-9.4"), Options(timeout=20)) for runs in tests)
    return [result for result in found if result.standing in FAILURES]


@EVIDENCE
def test_no_state_that_a_gpu_reached_is_forbidden_in_a_sample_of_each_log(log: Path) -> None:
    tests = sorted(by_test(read_log(log)), key=lambda runs: runs[0].hash)
    assert tests
    assert {result.name for result in failures(tests[:QUICK_TESTS])} <= FOUND.keys()


@pytest.mark.slow
@EVIDENCE
def test_no_state_that_a_gpu_reached_is_forbidden_beside_the_findings(log: Path) -> None:
    assert {result.name for result in failures(by_test(read_log(log)))} == FOUND.keys()


def test_a_forbidden_state_in_a_recorded_log_is_found(tmp_path: Path) -> None:
    right: Seen = {(0, 0): 10**6, (0, 1): 10**6, (1, 1): 10**6}
    runs = [ran(mp("release"), right), ran(mp("relaxed"), {**right, (1, 0): 40}), ran(mp("release"), {(1, 0): 1})]
    path = tmp_path / "evidence.jsonl.gz"
    path.write_bytes(gzip.compress("".join(to_line(run) + "\n" for run in runs).encode()))
    tests = by_test(read_log(path))
    assert [result.name for result in failures(tests)] == ["MP[release]"]
    assert not failures(by_test(runs[:2]))
