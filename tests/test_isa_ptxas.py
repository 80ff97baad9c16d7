"""NVIDIA's assembler as the judge of the instruction table: forms, versions and targets."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from isa_forms import forms, lines, read, refused, sink, turned

from ptxmm.errors import InputError
from ptxmm.isa import ROWS, form_of, ptx, requirement
from ptxmm.isa_form import Requirement, Row
from ptxmm.program import Foreign

PTXAS = shutil.which("ptxas")
pytestmark = pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed")

REAL = tuple(row for row in ROWS if row.real)
VERSIONS = (
    *((6, n) for n in range(3, 6)),
    *((7, n) for n in range(9)),
    *((8, n) for n in range(9)),
    *((9, n) for n in range(5)),
)
TARGETS = {75: (6, 3), 80: (7, 0), 90: (7, 8), 100: (8, 6)}
"""Targets, each with the first version that has it."""

EARLIER = re.compile(r"fence\.(acquire|release)\.(gpu|cluster|cta|sys)|cp\.async\.c[ag]\.shared::cta\.global.*")
"""What ptxas takes below the version and target of the ISA's text, which the table follows."""

LAXER = (
    re.compile(r"`.v8` does not go with `.[bsu](8|16)`"),
    re.compile(r"`.(c[agsv]|lu|w[bt])` and `.L2::evict_\w+` exclude each other"),
    re.compile(r"`.volatile` takes no `.L2::evict_\w+`"),
    re.compile(r"`.L2::evict_\w+` is for global memory"),
    re.compile(r"`.local` memory is private to a thread"),
    re.compile(r"`.(cta|cluster|gpu|sys)` needs a memory order"),
    re.compile(r"`red.async` has no `.add.s64`"),
)
"""What the table refuses and ptxas takes: outside the ISA's syntax, but for local memory, which no test shares."""

KERNEL = """.version {version}
.target sm_{target}
.address_size 64
.global .align 128 .b8 gx[1024]; .global .align 128 .b8 dx[128];
.const .align 128 .b8 kx[1024];
.visible .entry k(.param .align 16 .b8 px[64]) {{
.shared .align 128 .b8 sx[1024]; .shared .align 128 .b8 ex[128]; .shared .align 8 .b64 mx;
.reg .b8 %b<2>; .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .b64 %a<2>;
.reg .f32 %f<16>; .reg .f64 %g<16>; .reg .pred %p<4>; {wide}
"""


def assembled(instructions: list[str], version: tuple[int, int], target: int, tmp_path: Path) -> dict[str, str]:
    """The instructions that ptxas rejects, with its reasons; at an architecture-specific target where they need one."""
    found: dict[str, str] = {}
    for specific in (False, True):
        group = [line for line in instructions if needs_specific(line) is specific]
        if group:
            found |= _assembled(group, version, f"{target}{'a' * (specific and target >= 90)}", tmp_path)
    return found


def needs_specific(line: str) -> bool:
    """Whether only architecture-specific targets have an instruction."""
    try:
        return form_of(line.partition(" ")[0]).specific
    except InputError:
        return False


def _assembled(instructions: list[str], version: tuple[int, int], target: str, tmp_path: Path) -> dict[str, str]:
    reasons: dict[str, str] = {}
    wide = ".reg .b128 %q<16>;" if version >= (8, 3) else ""
    head = KERNEL.format(version=f"{version[0]}.{version[1]}", target=target, wide=wide)
    file = tmp_path / f"sm_{target}.ptx"
    file.write_text(head + "".join(f"{line};\n" for line in instructions) + "ret;\n}\n")
    command = [str(PTXAS), f"-arch=sm_{target}", "-o", "/dev/null", str(file)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    first = head.count("\n") + 1
    for found in re.finditer(r"line (\d+); error\s*: (.*)", run.stderr + run.stdout):
        number = int(found[1]) - first
        if number < len(instructions):
            reasons.setdefault(instructions[number], found[2])
    assert run.returncode in (0, 255), f"ptxas ended with {run.returncode}"
    assert (run.returncode == 0) == (not reasons), run.stderr
    return reasons


@lru_cache(maxsize=1)
def newest() -> tuple[int, int]:
    """The newest PTX version that this ptxas knows."""
    empty = ".version {0}.{1}\n.target sm_90\n.address_size 64\n"
    for version in reversed(VERSIONS):
        command = [str(PTXAS), "-arch=sm_90", "-o", "/dev/null", "-"]
        text = empty.format(*version)
        if subprocess.run(command, input=text, text=True, capture_output=True, timeout=60, check=False).returncode == 0:
            return version
    raise AssertionError(f"{PTXAS} assembles nothing")


def supported(need: Requirement) -> Requirement:
    """The least version and target of this ptxas that cover a requirement."""
    target = next(target for target in TARGETS if target >= need[1])
    return max(need[0], TARGETS[target]), target


def crashes(line: str) -> bool:
    """Whether ptxas 13.0 itself breaks on a line: a discarded result of a bf16 atomic."""
    return ".bf16" in line and " _," in line


def batches(pairs: Iterable[tuple[str, Requirement]]) -> dict[Requirement, list[str]]:
    """Lines by what they need."""
    found: dict[Requirement, list[str]] = defaultdict(list)
    for line, need in dict.fromkeys(pairs):
        if not crashes(line):
            found[supported(need)].append(line)
    return found


def assemble_all(pairs: Iterable[tuple[str, Requirement]], tmp_path: Path) -> dict[str, str]:
    """What ptxas rejects of lines at just what they need, of those that are not newer than it."""
    rejected: dict[str, str] = {}
    for (version, target), group in sorted(batches(pairs).items()):
        if version <= newest():
            rejected |= assembled(group, version, target, tmp_path)
    return rejected


def spelled(row: Row, depth: int) -> Iterator[tuple[str, Requirement]]:
    """Forms of a row with their operands, and what they need."""
    for mnemonic in forms(row, depth):
        need = form_of(mnemonic).requirement
        yield from ((line, need) for line in lines(mnemonic))


def test_ptxas_assembles_every_form(tmp_path: Path) -> None:
    assert assemble_all((pair for row in REAL for pair in spelled(row, 1)), tmp_path) == {}


def test_ptxas_takes_qualifiers_in_any_order_where_the_table_does(tmp_path: Path) -> None:
    pairs = []
    for row in REAL:
        for mnemonic in forms(row, 1) if row.any_order else ():
            other, need = turned(mnemonic, row), form_of(mnemonic).requirement
            pairs += [(line.replace(mnemonic, other, 1), need) for line in lines(mnemonic)]
    assert assemble_all(pairs, tmp_path) == {}


@pytest.mark.slow
@pytest.mark.parametrize("row", REAL, ids=lambda row: row.name)
def test_ptxas_assembles_every_pair_of_qualifiers(row: Row, tmp_path: Path) -> None:
    assert assemble_all(spelled(row, 2), tmp_path) == {}
    newer = [mnemonic for mnemonic in forms(row, 1) if form_of(mnemonic).requirement[0] > newest()]
    if newer:
        version = "{}.{}".format(*newest())
        pytest.skip(f"all forms up to PTX {version} assemble; newer than this ptxas: {' '.join(newer)}")


def test_ptxas_assembles_what_statements_are_written_as(tmp_path: Path) -> None:
    pairs = []
    for row in REAL:
        for mnemonic in forms(row, 1):
            space = form_of(mnemonic).get("space") or ""
            for line in lines(mnemonic):
                statement = read(line)
                text = ptx(statement, space=space, sink=sink(statement))
                if text and not isinstance(statement, Foreign):
                    pairs.append((text, requirement(statement, space)))
    assert assemble_all(pairs, tmp_path) == {}


def test_no_form_assembles_below_the_version_and_target_that_the_table_names(tmp_path: Path) -> None:
    older: dict[Requirement, list[str]] = defaultdict(list)
    for row in REAL:
        for mnemonic in forms(row, 1):
            version, target = form_of(mnemonic).requirement
            device = supported((version, target))[1]
            if version > newest():
                continue
            if version > TARGETS[device]:
                older[VERSIONS[VERSIONS.index(version) - 1], device].append(lines(mnemonic)[0])
            if target > min(TARGETS):
                smaller = max(other for other in TARGETS if other < target)
                older[max(version, TARGETS[smaller]), smaller].append(lines(mnemonic)[0])
    for (version, target), group in sorted(older.items()):
        taken = set(group) - set(assembled(group, version, target, tmp_path))
        assert all(EARLIER.fullmatch(line) for line in taken), (version, target, sorted(taken))


@pytest.mark.slow
def test_the_table_refuses_what_ptxas_takes_only_where_the_isa_does(tmp_path: Path) -> None:
    largest = max(target for target, since in TARGETS.items() if since <= newest())
    for row in REAL:
        found = refused(row, 2 if row.name in ("ld", "st") else 1)
        instructions = [line for line in found if not crashes(line)]
        for line in set(instructions) - set(assembled(instructions, newest(), largest, tmp_path)):
            with pytest.raises(InputError) as caught:
                form_of(found[line])
            assert any(form.match(caught.value.message) for form in LAXER), line
