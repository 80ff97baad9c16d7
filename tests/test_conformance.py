"""Published verdicts of two other tools: Dartagnan's for its two PTX models, and those that NVIDIA's tests state.

Dartagnan's own models are run as they are. Where one of our models answers otherwise, `DIFFERENCES` says why; each
entry is explained in `models/README.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ptxmm.cat import read_model
from ptxmm.check import Options, check
from ptxmm.program import Branch, Label, Program, Quantifier, Thread
from ptxmm.syntax import dartagnan, nvidia
from ptxmm.verdict import Result

PEERS = Path(__file__).resolve().parents[1].parent / "shared" / "peers"
OUTCOME = Options(properties=frozenset({"outcome"}))
SAYS = {
    (Quantifier.EXISTS, True): "allowed",
    (Quantifier.EXISTS, False): "forbidden",
    (Quantifier.NOT_EXISTS, True): "forbidden",
    (Quantifier.NOT_EXISTS, False): "allowed",
    (Quantifier.FORALL, True): "holds",
    (Quantifier.FORALL, False): "fails",
}

# The verdicts of our own models that differ from the published ones: (model, file or test) to (verdict, reason).
DIFFERENCES: dict[tuple[str, str], tuple[str, str]] = {}

pytestmark = pytest.mark.skipif(not PEERS.is_dir(), reason=f"the tests of other tools are not at {PEERS}")


def published(table: str) -> Iterator[tuple[str, Program, str]]:
    """Each row of a table: the file's name, the test, and the word that the published figure means for it."""
    for line in (PEERS / "dat3m" / table).read_text().split():
        name, figure = line.rsplit(",", 1)
        path = PEERS / "dat3m" / name
        (program,) = dartagnan.read(path.read_text(), name)
        assert program.condition is not None
        yield path.stem, program, SAYS[program.condition.quantifier, figure == "1"]


def loops(thread: Thread) -> bool:
    """Whether a branch of the thread goes backwards."""
    labels: set[str] = set()
    for statement in thread.body:
        if isinstance(statement, Label):
            labels.add(statement.name)
        if isinstance(statement, Branch) and statement.target in labels:
            return True
    return False


def surprise(model: str, name: str, program: Program, stated: str, result: Result) -> str | None:
    """What is wrong with a verdict, None where it is the stated one, a listed difference, or a loop's `unknown`."""
    wanted = DIFFERENCES.get((model, name), (stated, ""))[0]
    if result.verdict == wanted or (result.verdict == "unknown" and any(map(loops, program.threads))):
        return None
    return f"{name}: {result.verdict} {result.why}, not {wanted}"


@pytest.mark.parametrize(
    ("table", "model"),
    [
        ("PTXv6_0-expected.csv", "dat3m/ptx-v6.0.cat"),
        ("PTXv6_0-expected.csv", "ptx-6.0"),
        ("PTXv7_5-expected.csv", "dat3m/ptx-v7.5.cat"),
        ("PTXv7_5-expected.csv", "ptx-7.5"),
    ],
)
def test_every_row_gets_dartagnans_verdict(table: str, model: str) -> None:
    axioms = read_model(str(PEERS / model) if model.endswith(".cat") else model)
    rows = [(name, program, stated, check(program, axioms, OUTCOME)) for name, program, stated in published(table)]
    assert len(rows) == {"PTXv6_0-expected.csv": 69, "PTXv7_5-expected.csv": 146}[table]
    surprises = [surprise(model, name, program, stated, result) for name, program, stated, result in rows]
    assert not list(filter(None, surprises))


def test_every_instance_gets_nvidias_verdict() -> None:
    axioms = read_model("ptx-7.5")
    tests = [
        t for path in sorted((PEERS / "nvlitmus").glob("*.test")) for t in nvidia.read(path.read_text(), str(path))
    ]
    stated = [str(test.expects[0].words[0]) for test in tests]
    surprises = [
        surprise("ptx-7.5", test.full_name, test, word, check(test, axioms, OUTCOME))
        for test, word in zip(tests, stated, strict=True)
    ]
    assert len(tests) == 31
    assert not list(filter(None, surprises))


def test_every_listed_difference_is_one() -> None:
    tables = {"ptx-6.0": "PTXv6_0-expected.csv", "ptx-7.5": "PTXv7_5-expected.csv"}
    for (model, name), (verdict, reason) in DIFFERENCES.items():
        stated = {row: word for row, _, word in published(tables[model])}
        assert reason
        assert stated.get(name) != verdict
