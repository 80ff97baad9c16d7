"""`ptxmm run` and where results go: what is refused before a test is run, and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ptxmm.cli import cli

TEST = "ptx one\n.global .u32 x;\nthread A @ d0.c0.b0 { st.weak.u32 [x], 1; }\nexists (x == 1)\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one test, in which commands are given."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.lit").write_text(TEST)
    return tmp_path


def refused(*words: str) -> str:
    """The last line of what a command line is told that is wrong."""
    done = CliRunner().invoke(cli, list(words))
    assert done.exit_code == 2, done.output
    return done.output.strip().splitlines()[-1]


@pytest.mark.parametrize(("words", "named"), [
    (("--log", "runs.jsonl"), "`--log`"),
    (("--seconds", "5"), "`--seconds`"),
    (("--profile", "few", "--profile", "few"), "`--profile`"),
    (("--seed", "7", "--device", "3"), "`--seed`, `--device`"),
    (("--audit", "--no-controls"), "`--audit/--no-audit`, `--controls/--no-controls`"),
])  # fmt: skip
def test_what_says_how_tests_run_has_no_place_where_ptx_is_only_written(
    here: Path, words: tuple[str, ...], named: str
) -> None:
    told = refused("run", "one.lit", "--emit", "out", *words)
    assert told == f"Error: --emit only writes PTX and runs nothing: leave {named} away."
    assert not (here / "out").exists()


def test_a_log_is_never_written_over_a_test(here: Path) -> None:
    assert "'one.lit' is named like a test, which the log would overwrite." in refused("run", "--log", "one.lit", ".")
    assert (here / "one.lit").read_text() == TEST


def test_a_log_in_a_folder_that_is_not_there_is_told_before_anything_runs() -> None:
    assert "there is no folder 'elsewhere'." in refused("run", "one.lit", "--log", "elsewhere/runs.jsonl")


@pytest.mark.parametrize("words", [
    ("run", "one.lit", "--emit"), ("run", "one.lit", "--log"), ("compare", "runs.jsonl", "--picture"),
    ("measure", "wait-cost", "--plot"),
])  # fmt: skip
def test_an_empty_name_is_no_place_to_write_to(here: Path, words: tuple[str, ...]) -> None:
    assert refused(*words, "").endswith("the name is empty.")
    assert [path.name for path in here.iterdir()] == ["one.lit"]
