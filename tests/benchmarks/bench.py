"""How long ptxmm takes, beside the recorded figures of other tools.

    python tests/benchmarks/bench.py [--peers DIR] [--repeat N] [--timeout S]

Every figure is the wall time of a whole process from a cold start, with one job; beside it the time of the processor,
which other work on the machine does not lengthen as much. Tests of PTXv7_5 are decided under Dartagnan's own model
file, those of the families under the default model. The peers' figures were recorded on a machine with two cores:
Dartagnan 4.3.1 (ptx-v7.5, eager) and herd7 7.58 (on easier tests: no RMW, no proxies, no barriers).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ptxmm.cat import DEFAULT_MODEL

ROOT = Path(__file__).resolve().parents[2]
Columns = Sequence[tuple[str, Sequence[str]]]


# --- families of tests -----------------------------------------------------------------------------------------------


def litmus(name: str, columns: Columns, condition: str) -> str:
    """A test in Dartagnan's dialect; each column is a thread's place and its code."""
    height = max(len(code) for _, code in columns)
    table = [[place, *code, *[""] * (height - len(code))] for place, code in columns]
    rows = [" | ".join(row) + " ;" for row in zip(*table, strict=True)]
    return "\n".join([f"PTX {name}", "{ }", *rows, condition, ""])


def placed(codes: Sequence[Sequence[str]]) -> Columns:
    """Threads P0, P1 and so on, each in a CTA of its own on one GPU."""
    return [(f"P{i}@cta {i},gpu 0", code) for i, code in enumerate(codes)]


def spin(label: str, load: str, leave: str) -> list[str]:
    """Repeat a load until a branch leaves the loop."""
    return [f"{label}0:", load, f"{leave}, {label}1", f"goto {label}0", f"{label}1:"]


def relay(n: int) -> str:
    """Message passing through a chain of `n` threads."""
    first = ["st.weak x, 1", "st.release.gpu f1, 1"]
    middle = [[f"ld.acquire.gpu r0, f{i}", f"st.release.gpu f{i + 1}, r0"] for i in range(1, n - 1)]
    last = [f"ld.acquire.gpu r0, f{n - 1}", "ld.weak r1, x"]
    return litmus(f"relay-{n}", placed([first, *middle, last]), f"exists (P{n - 1}:r0 == 1 /\\ P{n - 1}:r1 == 0)")


def sb_ring(n: int) -> str:
    """Store buffering around a ring of `n` threads, with `fence.sc`."""
    codes = [[f"st.weak x{i}, 1", "fence.sc.gpu", f"ld.weak r0, x{(i + 1) % n}"] for i in range(n)]
    return litmus(f"sb-ring-{n}", placed(codes), "exists (" + " /\\ ".join(f"P{i}:r0 == 0" for i in range(n)) + ")")


def wait_chain(n: int) -> str:
    """`n` publishers add to one word, a waiter polls it relaxed and closes with one acquire."""
    publishers = [[f"st.weak d{i}, 1", "atom.release.gpu.add r0, w, 1"] for i in range(n)]
    waiter = [*spin("LC", "ld.relaxed.gpu r0, w", f"beq r0, {n}"), "ld.acquire.gpu r1, w", "ld.weak r2, d0"]
    condition = f"exists (P{n}:r0 == {n} /\\ P{n}:r2 == 0)"
    return litmus(f"wait-chain-{n}", placed([*publishers, waiter]), condition)


def ticket_lock(n: int) -> str:
    """`n` threads add to a plain counter under a ticket lock."""
    code = [
        "atom.relaxed.gpu.add r1, in, 1",
        *spin("LC", "ld.acquire.gpu r2, out", "beq r1, r2"),
        "ld.weak r3, x",
        "add r4, r3, 1",
        "st.weak x, r4",
        "atom.release.gpu.add r5, out, 1",
    ]
    entered = " /\\ ".join(f"P{i}:r1 == P{i}:r2" for i in range(n))
    return litmus(f"ticket-lock-{n}", placed([code] * n), f"exists ({entered} /\\ x != {n})")


def grid_barrier(n: int) -> str:
    """`n` CTAs meet at a sign-flip barrier, each reads what its neighbour wrote."""
    flip = 1 << 15

    def code(i: int) -> list[str]:
        step = flip - (n - 1) if i == 0 else 1
        meet = spin("LC", "ld.acquire.gpu r1, w", f"bge r1, {flip}")
        return [f"st.weak d{i}, 1", f"atom.release.gpu.add r0, w, {step}", *meet, f"ld.weak r2, d{(i + 1) % n}"]

    condition = f"exists (P0:r1 >= {flip} /\\ P0:r2 == 0)"
    return litmus(f"grid-barrier-{n}", placed([code(i) for i in range(n)]), condition)


RELEASE = "atom.release.gpu.global.add.u32 r0, [w], 1;"
PUBLISHERS = {
    "relaxed": "atom.relaxed.gpu.global.add.u32 r0, [w], 1;",
    "narrower": "atom.release.cta.global.add.u32 r0, [w], 1;",
    "conditional": "ld.relaxed.gpu.global.u32 r1, [go]; if (r1 != 0) { " + RELEASE + " }",
    "cas loop": "do { ld.relaxed.gpu.global.u32 r0, [w]; r1 = r0 + 1; "
    "atom.release.gpu.global.cas.b32 r2, [w], r0, r1; } while (r2 != r0);",
}


def odd_publisher(kind: str, n: int) -> str:
    """The wait of `wait_chain` where one publisher of `n` is of another kind, and its data is what is read."""
    odd = n // 2
    data = [f".global .u32 d{i} = 0;" for i in range(n)]
    codes = [f"st.weak.global.u32 [d{i}], 1; {PUBLISHERS[kind] if i == odd else RELEASE}" for i in range(n)]
    codes.append("st.relaxed.gpu.global.u32 [go], 0;")
    codes.append(
        f"do {{ ld.relaxed.gpu.global.u32 r0, [w]; }} while (r0 != {n}); "
        f"ld.acquire.gpu.global.u32 r1, [w]; ld.weak.global.u32 r2, [d{odd}];"
    )
    threads = [f"thread P{i} @ d0.c{i}.b{i} {{ {code} }}" for i, code in enumerate(codes)]
    head = [f"ptx wait-{n}", f'"One publisher of {n}: {kind}."', ".global .u32 w = 0;", ".global .u32 go = 1;"]
    return "\n".join([*head, *data, *threads, f"exists (P{n + 1}.r2 == 0)", ""])


FAMILIES: dict[str, Callable[[int], str]] = {
    **{kind: partial(odd_publisher, kind) for kind in PUBLISHERS},
    "relay": relay,
    "sb-ring": sb_ring,
    "wait-chain": wait_chain,
    "ticket-lock": ticket_lock,
    "grid-barrier": grid_barrier,
}

# family, size, seconds that Dartagnan took, most seconds that we may take
SIZES: tuple[tuple[str, int, str, float | None], ...] = (
    ("relay", 64, "Dartagnan 3.9", 1.0),
    ("relay", 256, "", 5.0),
    ("sb-ring", 32, "Dartagnan 4.6", 1.0),
    ("sb-ring", 64, "", 3.0),
    ("wait-chain", 8, "Dartagnan 12.8", 0.5),
    ("wait-chain", 32, "", 2.0),
    ("wait-chain", 64, "", 8.0),
    ("wait-chain", 128, "", 10.0),
    *((kind, 32, "", 2.0) for kind in PUBLISHERS),
    *((kind, 64, "", 8.0) for kind in PUBLISHERS),
    ("ticket-lock", 5, "Dartagnan 5.7", 0.6),
    ("ticket-lock", 8, "", 1.5),
    ("grid-barrier", 8, "Dartagnan 52.7", 1.0),
    ("grid-barrier", 16, "", 1.5),
    ("grid-barrier", 32, "", 8.0),
    ("grid-barrier", 64, "", 10.0),
)


# --- measuring -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; `bar` is the largest value that is good enough."""

    what: str
    value: float
    processor: float
    unit: str
    megabytes: float
    said: str
    peers: str = ""
    bar: float | None = None

    def line(self) -> str:
        """The figure with its peers and its bar."""
        bar = "" if self.bar is None else f"{self.bar:g} {'ok' if self.value <= self.bar else 'MISSED'}"
        value, processor = f"{self.value:.2f} {self.unit}", f"{self.processor:.2f} {self.unit}"
        measured = f"{self.what:24} {value:>10} {processor:>10} {self.megabytes:>5.0f} MB"
        return f"{measured}  {self.said:10} {self.peers:39} {bar}"


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """One `ptxmm check`: seconds, seconds of the processor, peak megabytes, verdicts."""

    seconds: float
    processor: float
    megabytes: float
    verdicts: tuple[str, ...]

    @property
    def said(self) -> str:
        """The verdict, or how many there are."""
        return self.verdicts[0] if len(self.verdicts) == 1 else f"{len(self.verdicts)} tests"


def run(files: Sequence[Path], model: str, timeout: int) -> Run:
    """Check some files from a cold start."""
    limits = ["--timeout", str(timeout), "-j", "1", "--format", "json"]
    command = [sys.executable, "-m", "ptxmm", "check", *map(str, files), "-m", model, *limits]
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, cwd=ROOT)
        _, _, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        out.seek(0)
        text = out.read()
    per_megabyte = 1 << 20 if sys.platform == "darwin" else 1 << 10
    verdicts = [result["verdict"] for result in json.loads(text)["results"]] if text else ["no answer"]
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / per_megabyte, tuple(verdicts))


def figures(options: argparse.Namespace, scratch: Path) -> Iterator[Figure]:
    """Every figure of the table."""
    rows: Path = options.peers.resolve() / "dat3m" / "PTXv7_5-expected.csv"

    def best(files: Sequence[Path], repeat: int = options.repeat, model: str = DEFAULT_MODEL) -> Run:
        return min(run(files, model, options.timeout) for _ in range(repeat))

    if rows.is_file():
        files = [rows.parent / line.rsplit(",", 1)[0] for line in rows.read_text().split()]
        all_rows, each = best(files, model=str(rows.parent / "ptx-v7.5.cat")), 1000 / len(files)
        yield Figure(
            "PTXv7_5, each test", all_rows.seconds * each, all_rows.processor * each, "ms", all_rows.megabytes,
            all_rows.said, "Dartagnan 81, herd7 2.5 (easier tests)", 6.0,
        )  # fmt: skip
    small = scratch / "small.litmus"
    small.write_text(relay(3))
    one = best([small])
    yield Figure("one small test", one.seconds, one.processor, "s", one.megabytes, one.said, "Dartagnan 1.33", 0.4)
    for family, size, told, bar in SIZES:
        path = scratch / f"{family}-{size}.{'lit' if family in PUBLISHERS else 'litmus'}"
        path.write_text(FAMILIES[family](size))
        found = best([path], options.repeat if bar is not None else 1)
        yield Figure(f"{family} {size}", found.seconds, found.processor, "s", found.megabytes, found.said, told, bar)


def main() -> None:
    """Print the table, line by line as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--peers", type=Path, default=ROOT.parent / "shared" / "peers", help="folder of the peers' tests"
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, of which the fastest counts (3)")
    parser.add_argument("--timeout", type=int, default=30, help="seconds after which a test is unknown (30)")
    options = parser.parse_args()
    print(f"{'':24} {'wall':>10} {'processor':>10} {'peak':>8}  {'verdict':10} {'recorded elsewhere':39} at most")
    with tempfile.TemporaryDirectory() as scratch:
        for figure in figures(options, Path(scratch)):
            print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
