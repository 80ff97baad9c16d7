"""Which module may import which: `docs/architecture.md` draws the picture, these tests keep it true."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ptxmm"

LAYERS = [
    "errors folding resources arith pool options records",
    "deadline files terms",
    "declarations instructions",
    "asynchronous",
    "program isa_form",
    "formula model vocabulary solve tensor_maps verdict spins isa_text_async isa_operands isa_rules",
    "plan running",
    "cat closure compilation expect readings values isa_site isa_slots isa_text isa_copy_rules",
    "boxes script memory pointwise unroll mbarrier_state grounded isa_memory isa_sync",
    "asked relation isa_foreign isa_mbarrier isa_table_mbarrier isa_table_copies isa_table_proxies",
    "isa_table isa_copies",
    "isa_tiles",
    "isa_proxies",
    "events evaluation isa",
    "mbarrier_lanes",
    "accesses aligned arrivals chains deciding features forced mbarrier_reach tags syntax",
    "chain_shapes fixed generations mbarrier_orders gpu tiles walk_registers",
    "mbarrier_certain mbarrier_sequence",
    "counters transfers mbarriers",
    "mbarrier_replay barriers choices copies grids inflight along asynchronous_steps sequential",
    "meetings swaps",
    "attempts walk interleaving",
    "grown",
    "base graph schedule lemma lassos",
    "finals possible",
    "encode",
    "conflicts encodings",
    "execution progress symmetry question",
    "evidence",
    "races endless",
    "hangs states uncertain undefined",
    "check enumeration",
    "paths request",
    "batch prove",
    "compare",
    "report",
    "cli_output",
    "cli_options",
    "cli_prove cli_compare cli_measure cli_run",
    "cli",
    "__main__",
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer.split()}

HOMES = {
    "z3": {"solve", "prove"},
    "lark": {"syntax"},
    "click": {"cli", "cli_options", "cli_output", "cli_prove", "cli_compare", "cli_measure", "cli_run"},
    "rich": {"report"},
    "networkx": {"report", "enumeration"},
    "cupy": {"gpu"},
}
SECOND_ENGINE_MAY_KNOW = {
    "arith",
    "errors",
    "terms",
    "instructions",
    "asynchronous",
    "program",
    "tensor_maps",
    "model",
    "vocabulary",
    "verdict",
    "enumeration",
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def part(name: str) -> str:
    """The module or subpackage directly inside `ptxmm` that a dotted name lies in; the package itself is ``."""
    return name.split(".")[1] if "." in name else ""


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module, without those that only a type checker sees."""
    if not (isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING"):
        yield tree
        for child in ast.iter_child_nodes(tree):
            yield from running(child)


@cache
def imports(path: Path) -> frozenset[str]:
    """The dotted names that a module imports when it runs, `from ptxmm import name` as `ptxmm.name`."""
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in running(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom("ptxmm", names, 0):
                yield from (f"ptxmm.{alias.name}" for alias in names if (PACKAGE / f"{alias.name}.py").exists())
            case ast.ImportFrom(str(module), _, 0):
                yield module
            case ast.ImportFrom():
                pytest.fail(f"{path} uses a relative import")


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_point_down(path: Path) -> None:
    own = part(dotted(path))
    if not own:
        return
    assert own in RANK, f"{own} has no layer yet: add it to LAYERS and to docs/architecture.md"
    known = {part(name) for name in imports(path) if name.split(".")[0] == "ptxmm"} - {"", own}
    above = {name for name in known if RANK.get(name, len(LAYERS)) >= RANK[own]}
    assert not above, f"{own} may not import {', '.join(sorted(above))}"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_third_party_names_have_one_home_each(path: Path) -> None:
    own = part(dotted(path))
    stray = {top for name in imports(path) if own not in HOMES.get(top := name.split(".")[0], {own})}
    assert not stray, f"{own} may not import {', '.join(sorted(stray))}"


@pytest.mark.parametrize("path", [p for p in modules() if part(dotted(p)) == "enumeration"], ids=dotted)
def test_the_second_engine_shares_nothing_with_the_first(path: Path) -> None:
    known = {part(name) for name in imports(path) if name.split(".")[0] == "ptxmm"} - {""}
    assert known <= SECOND_ENGINE_MAY_KNOW


def test_the_architecture_page_has_a_line_for_every_module() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE))
    there = {dotted(path).removeprefix("ptxmm.") for path in modules()} - {"ptxmm"}
    packages = {name.split(".")[0] for name in there if "." in name}
    assert {name for name in there if "." not in name} == {name for name in told if "." not in name}
    assert all(any(name.startswith(f"{package}.") or name == package for name in told) for package in packages)
