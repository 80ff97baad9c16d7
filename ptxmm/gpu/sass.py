"""Machine code of a kernel as `nvdisasm` prints it, each instruction with the line of PTX that it comes from.

`ptxas -lineinfo` records the lines without changing the code; `nvdisasm -gp` prints them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ptxmm.errors import MissingTool, PtxmmError

LINE = re.compile(r'\s*//## File "\.nv_debug_ptx_txt[^"]*", line (\d+)')
LABEL = re.compile(r"\s*(\.L_\w+):")
CODE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?(\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
TARGET = re.compile(r"`\((\.L_\w+)\)")
NEVER = ("PT", "UPT")
SECONDS = 60


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine instruction: its address, the line of PTX, its opcode with modifiers, its operands as they stand.

    `target` is where it may branch to.
    """

    at: int
    line: int
    opcode: str
    target: int | None = None
    operands: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The opcode and its modifiers: `LDG`, `E`, `STRONG`, `GPU`."""
        return tuple(self.opcode.split("."))


def machine(listing: str) -> tuple[tuple[Machine, ...], frozenset[int]]:
    """The instructions of a listing, and the addresses at which basic blocks begin.

    Instructions that never run (`@!PT`) are left out. The branch of a divided warp to a wait for its lanes belongs to
    the line of that wait.

    >>> listing = '''
    ... .L_x_1:
    ... 	//## File ".nv_debug_ptx_txt", line 7
    ...         /*0010*/                   LDG.E.STRONG.GPU R2, desc[UR4][R4.64] ;
    ...         /*0020*/              @!P0 BRA `(.L_x_1) ;
    ...         /*0030*/              @!PT LDS RZ, [RZ] ;'''
    >>> instructions, leaders = machine(listing)
    >>> [(one.at, one.line, one.opcode, one.target) for one in instructions], sorted(leaders)
    ([(16, 7, 'LDG.E.STRONG.GPU', None), (32, 7, 'BRA', 16)], [16, 48])
    """
    found: list[tuple[int, int, str, str, str]] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    leaders, line, after_branch = set[int](), 0, False
    for text in listing.splitlines():
        if told := LINE.match(text):
            line = int(told[1])
        elif name := LABEL.match(text):
            waiting.append(name[1])
        elif code := CODE.match(text):
            at = int(code[1], 16)
            if waiting or after_branch:
                leaders.add(at)
            labels.update(dict.fromkeys(waiting, at))
            waiting = []
            to = TARGET.search(code[4])
            after_branch = code[3].split(".")[0] in ("BRA", "EXIT", "RET", "BRX", "JMP")
            if not ("@!" in text and code[2] in NEVER):
                found.append((at, line, code[3], to[1] if to and after_branch else "", code[4]))
    waits = [(at, line) for at, line, op, _, _ in found if op.startswith("WARPSYNC")]
    made = []
    for at, line, op, goes, operands in found:
        target = labels.get(goes)
        if op.startswith("BRA.DIV") and target is not None:
            line = next((own for there, own in waits if there >= target), line)
        made.append(Machine(at, line, op, target, operands))
    return tuple(made), frozenset(leaders)


def listing(ptx: str, architecture: str) -> str:
    """What `ptxas` makes of a kernel for an architecture (`sm_90a`), as `nvdisasm` prints it."""
    ptxas, nvdisasm = tool("ptxas"), tool("nvdisasm")
    with TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        _run([ptxas, "-lineinfo", f"-arch={architecture}", "-o", str(cubin), str(source)])
        return _run([nvdisasm, "-gp", "-c", str(cubin)])


def disassembled(code: bytes) -> str:
    """Machine code that was assembled with lines, as `nvdisasm` prints it."""
    nvdisasm = tool("nvdisasm")
    with TemporaryDirectory() as folder:
        cubin = Path(folder, "kernel.cubin")
        cubin.write_bytes(code)
        return _run([nvdisasm, "-gp", "-c", str(cubin)])


def tool(name: str) -> str:
    """Where a tool of the CUDA toolkit is: on the path, or below `CUDA_HOME`."""
    homes = [os.environ[key] for key in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(key)]
    paths = os.pathsep.join([os.environ.get("PATH", ""), *(str(Path(home, "bin")) for home in homes)])
    found = shutil.which(name, path=paths)
    if found is None:
        raise MissingTool(f"there is no {name}: it comes with the CUDA toolkit")
    return found


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    except subprocess.CalledProcessError as failed:
        reason = (failed.stderr or failed.stdout or "").strip().splitlines()
        raise PtxmmError(f"{Path(command[0]).name}: {reason[0] if reason else 'it failed'}") from failed
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise PtxmmError(f"{Path(command[0]).name}: {failed}") from failed
    return done.stdout
