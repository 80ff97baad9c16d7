"""What a recorded log of the library says, and the page that tells it: `scripts/hardware-page` makes both.

`standings.json` holds what `ptxmm compare` says of the log; of a test that uses the generic proxy alone
across CTAs also what `h200.cat` says, a presumption of what the chip does. `reasons.json` has the reasons for what was
not seen although it is allowed, and not exercised, by names of tests with `*`.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ptxmm.gpu.lines import read_log
from ptxmm.gpu.log import Run
from ptxmm.program import AsyncCopy, CopyArrive, Program, Proxy, ProxyFence, TensormapCopy, TensormapReplace
from ptxmm.syntax import lit

ROOT = Path(__file__).parent.parent
HARDWARE = ROOT / "tests" / "hardware"
LOG, STANDINGS = HARDWARE / "h200-library.jsonl.gz", HARDWARE / "standings.json"
REASONS, FINDINGS, PRESUMED = HARDWARE / "reasons.json", HARDWARE / "findings.json", HARDWARE / "h200.cat"
MODEL = None
"""The model that is asked where none is named: `ptx-9.4`, or an older one where that lacks a proxy."""

ORDER = (
    "agree", "allowed, seen", "hung, as it may", "allowed, not seen", "not exercised", "undefined", "unsupported here",
    "FORBIDDEN BUT SEEN", "hung, should end", "failed, should run", "unknown", "no evidence",
)  # fmt: skip
SHOWN = {"not seen": "allowed, seen", "not exercised": "agree"}
"""The kinds of reasons, and the standing of a test that needs none."""

OTHER_PROXIES = (AsyncCopy, CopyArrive, ProxyFence, TensormapCopy, TensormapReplace)


@dataclass(frozen=True)
class Said:
    """What a log says of one test. `crosses` says that it is one of the generic proxy alone, across CTAs.

    `presumed` is the verdict of `h200.cat` on what the condition asks for, `violated` that it forbids a state that was
    seen; both only on one GPU, and where the machine code is as written.
    """

    path: str
    standing: str
    crosses: bool
    presumed: str = ""
    violated: bool = False
    why: str = ""

    @property
    def folder(self) -> str:
        return Path(self.path).parent.name


@dataclass(frozen=True)
class Recorded:
    """The tests of a log by their names, with what is to be told of it as a whole."""

    sha256: str
    devices: tuple[str, ...]
    runs: int
    instances: int
    tests: dict[str, Said]

    @cached_property
    def counts(self) -> Counter[tuple[str, str]]:
        return Counter((test.folder, test.standing) for test in self.tests.values())

    def standing(self, word: str) -> list[str]:
        return [name for name, test in self.tests.items() if test.standing == word]

    @property
    def unseen(self) -> list[str]:
        """Tests of the generic proxy across CTAs whose allowed outcome was not seen."""
        return [name for name in self.standing("allowed, not seen") if self.tests[name].crosses]

    @property
    def presumed(self) -> list[str]:
        """Those of them that the presumption explains."""
        return [name for name in self.unseen if self.tests[name].presumed in ("forbidden", "holds")]


def crosses(program: Program) -> bool:
    """Whether a test uses the generic proxy alone, and its threads are in several CTAs."""
    for thread in program.threads:
        for statement in thread.body:
            if isinstance(statement, OTHER_PROXIES) or getattr(statement, "proxy", Proxy.GENERIC) is not Proxy.GENERIC:
                return False
    places = {(t.place.kernel, t.place.device, t.place.cluster, t.place.cta) for t in program.threads}
    plain = not program.views and not any(item.tensormap is not None for item in program.objects)
    return plain and len(places) > 1


# --- from a log ------------------------------------------------------------------------------------------------------


def digest(log: Path) -> str:
    return hashlib.sha256(log.read_bytes()).hexdigest()


def compared(log: Path, model: Path | None, *options: str | Path) -> list[dict[str, Any]]:
    """What `ptxmm compare` says, as it prints it for programs."""
    models = ["-m", model] if model is not None else []
    command = [sys.executable, "-m", "ptxmm", "compare", *models, "--format", "json", *options, log]
    found = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if not found.stdout:
        raise SystemExit(found.stderr)
    results: list[dict[str, Any]] = json.loads(found.stdout)["results"]
    return results


def name_of(result: dict[str, Any]) -> str:
    return f"{result['test']}[{result['variant']}]" if result["variant"] is not None else str(result["test"])


def recorded(log: Path, results: list[dict[str, Any]], presumptions: list[dict[str, Any]]) -> Recorded:
    """What is worth keeping of two comparisons."""
    runs = list(read_log(log))
    first: dict[str, Run] = {}
    for run in runs:
        first.setdefault(run.name, run)
    presumed = {name_of(result): result for result in presumptions}
    tests = {name_of(r): _tested(first[name_of(r)], r, presumed.get(name_of(r))) for r in results}
    devices = dict.fromkeys(
        f"{run.device.name}, driver {run.device.driver}, ptxas {run.device.ptxas}" for run in runs if run.device
    )
    instances = sum(run.counted.instances for run in runs if run.counted is not None)
    return Recorded(digest(log), tuple(devices), len(runs), instances, tests)


def _tested(run: Run, result: dict[str, Any], presumed: dict[str, Any] | None) -> Said:
    (program,) = lit.read(run.text, run.path)
    crossing, why = crosses(program), ""
    if result["standing"] == "not exercised":
        why = _unexercised(result)
    if result["standing"] == "unknown":
        why = result["told"]
    if presumed is None or not crossing or run.gpus > 1 or result["audit"] != "as written":
        return Said(run.path, result["standing"], crossing, why=why)
    own = [state for state in presumed["states"] if not state["control"]]
    violated = any(state["verdict"] == "forbidden" for state in own)
    return Said(run.path, result["standing"], crossing, presumed["verdict"], violated, why)


def _unexercised(result: dict[str, Any]) -> str:
    """Why nothing says that an outcome could have been seen, as far as the comparison says it."""
    if "were merged" in result["told"]:
        return "merged"
    return "certain" if result["control_verdict"] == "forbidden" else ""


# --- as files --------------------------------------------------------------------------------------------------------


def to_json(found: Recorded) -> str:
    """One line a test, so that a change shows in a difference."""
    head = {"sha256": found.sha256, "devices": found.devices, "runs": found.runs, "instances": found.instances}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    rows = [f"  {json.dumps(name)}: {json.dumps(_row(test))}" for name, test in found.tests.items()]
    return "\n".join(["{", *lines, ' "tests": {', ",\n".join(rows), " }", "}", ""])


def _row(test: Said) -> list[Any]:
    return [test.path, test.standing, test.crosses, test.presumed, test.violated, test.why]


def from_json(text: str) -> Recorded:
    found = json.loads(text)
    tests = {name: Said(*row) for name, row in found["tests"].items()}
    return Recorded(found["sha256"], tuple(found["devices"]), found["runs"], found["instances"], tests)


@dataclass(frozen=True)
class Reason:
    """Why outcomes are not seen, for tests whose names match one of the patterns; `rare` ones are seen in some runs."""

    because: str
    tests: tuple[str, ...]
    rare: bool = False

    def fits(self, name: str) -> bool:
        return any(matches(pattern, name) for pattern in self.tests)


def matches(pattern: str, name: str) -> bool:
    """Whether a name is the pattern, where `*` stands for anything."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) is not None


def reasons(kind: str) -> list[Reason]:
    found = json.loads(REASONS.read_text())[kind]
    return [Reason(one["because"], tuple(one["tests"]), one.get("rare", False)) for one in found]


# --- what is explained ------------------------------------------------------------------------------------------------


def unexplained(found: Recorded) -> dict[str, list[str]]:
    """The tests that need a reason of their own, by kind."""
    rest = [name for name in found.unseen if name not in found.presumed]
    loose = [name for name in found.standing("not exercised") if not found.tests[name].why]
    return {"not seen": rest, "not exercised": loose}


def needless(found: Recorded, kind: str) -> list[str]:
    """Reasons for tests, by their whole names, that show what the reason says cannot be shown."""
    names = [pattern for reason in reasons(kind) if not reason.rare for pattern in reason.tests]
    return [name for name in names if name in found.tests and found.tests[name].standing == SHOWN[kind]]


def prune(found: Recorded) -> None:
    """Drop needless reasons."""
    kept = {}
    for kind in SHOWN:
        gone = set(needless(found, kind))
        rest = [replace(one, tests=tuple(name for name in one.tests if name not in gone)) for one in reasons(kind)]
        kept[kind] = [asdict(one) for one in rest if one.tests]
    REASONS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def problems(found: Recorded) -> list[str]:
    """What must be explained and is not, and what is explained although it is not so."""
    findings, surprises = json.loads(FINDINGS.read_text()), found.standing("FORBIDDEN BUT SEEN")
    told = [f"{name}: seen, and `h200.cat` forbids it" for name, test in found.tests.items() if test.violated]
    told += [f"{name}: FORBIDDEN BUT SEEN, and no finding" for name in surprises if name not in findings]
    told += [f"{name}: not seen, and no reason says why" for name in loose_ends(found, "not seen")]
    told += [f"{name}: seen, and a reason why not" for name in needless(found, "not seen")]
    return told


def loose_ends(found: Recorded, kind: str) -> list[str]:
    """Tests for which no reason is given."""
    known = reasons(kind)
    return [name for name in unexplained(found)[kind] if not any(reason.fits(name) for reason in known)]
