"""Which test files the paths of a command line name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptxmm.paths import find


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tests, hidden things among them, and links that lead round in a circle."""
    for name in ("a.lit", "b/c.test", "b/d/e.litmus", "b/d/[x].lit", "b/notes.md", ".git/f.lit", "b/.g.lit"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "round").symlink_to(".")
    (tmp_path / "b" / "back").symlink_to("..")
    (tmp_path / "again.lit").symlink_to("a.lit")
    monkeypatch.chdir(tmp_path)
    return tmp_path


BELOW_B = ["b/c.test", "b/d/[x].lit", "b/d/e.litmus"]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["."], ["a.lit", *BELOW_B]),
        (["b"], BELOW_B),
        (["b/**"], BELOW_B),
        (["**/*.lit"], ["a.lit", "b/d/[x].lit"]),
        (["**/d/*"], ["b/d/[x].lit", "b/d/e.litmus"]),
        (["*/**/*.litmus"], ["b/d/e.litmus"]),
        (["*.lit"], ["a.lit"]),
        (["b/d/[x].lit"], ["b/d/[x].lit"]),
        (["b/d/[[]x].lit"], ["b/d/[x].lit"]),
        (["round", "a.lit"], ["a.lit", *BELOW_B]),
    ],
)
def test_folders_and_globs_name_each_file_once_and_go_round_in_no_circle(
    tree: Path, paths: list[str], names: list[str]
) -> None:
    files, complaints = find(tuple(paths))
    assert complaints == []
    assert sorted(os.path.relpath(os.path.realpath(file), tree) for file in files) == names


@pytest.mark.parametrize("path", ["**/*.cat", "nowhere/**", "nowhere/**/*.lit", "b/**/z", "**z/*.lit"])
@pytest.mark.usefixtures("tree")
def test_a_glob_that_names_nothing_says_so(path: str) -> None:
    assert find((path,)) == ([], [f"{path}: no file matches"])


def test_an_absolute_glob_is_one_too(tree: Path) -> None:
    assert find((f"{tree}/**/*.test",)) == ([tree / "b" / "c.test"], [])
