"""How long ptxmm takes for asynchronous tests: the library's folders, rings of bulk copies, and larger pipelines.

    python tests/benchmarks/bench_async.py [--timeout S]

Rings are measured as whole processes from a cold start with one job, all four properties asked; the library's
variants by what `ptxmm check --format json` says of each. No other tool decides such tests, so no recorded figures
stand beside these.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.pipelines import Pipeline, in_flight

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("mbarrier", "async", "tensormap", "cluster")
RINGS = ((2, 3, 3.0), (4, 4, 20.0), (4, 8, 6.0), (8, 16, 60.0))
PIPELINES = (
    Pipeline(4, 4, copies=4), Pipeline(4, 4, copies=8), Pipeline(4, 4, consumers=4, arrivals=32),
    Pipeline(4, 4, consumers=8), Pipeline(2, 3, copies=3, consumers=3), Pipeline(2, 3, ctas=2), Pipeline(1, 2, ctas=3),
)  # fmt: skip
IN_FLIGHT = (10, 30, 100)


def ring(stages: int, rounds: int, fence: str = "fence.proxy.async.shared::cta;") -> str:
    """A producer fills stages by bulk copies; a consumer waits for each, reads it, and frees it after a `fence`."""
    count = stages * rounds
    lines = [f"ptx ring-{stages}-{rounds}"]
    for stage in range(stages):
        lines.append(f".shared @ d0.c0.b0 .u32 s{stage}[4];")
        lines += [f".shared @ d0.c0.b0 .mbarrier {kind}{stage}(1);" for kind in ("full", "empty")]
    lines += [f".global .u32 g{i}[4] = {{{i + 1}, 0, 0, 0}};" for i in range(count)]
    producer, consumer = [], []
    for i in range(count):
        stage, parity = i % stages, i // stages % 2
        producer += [
            f"await mbarrier.try_wait.parity.shared::cta.b64 [empty{stage}], {1 - parity};",
            f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [full{stage}], 16;",
            f"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s{stage}], [g{i}], 16, [full{stage}];",
        ]
        consumer += [
            f"await mbarrier.try_wait.parity.shared::cta.b64 [full{stage}], {parity};",
            f"ld.weak.shared::cta.u32 r{i}, [s{stage}];",
            fence,
            f"mbarrier.arrive.shared::cta.b64 _, [empty{stage}];",
        ]
    lines += ["thread P @ d0.c0.b0 {", *producer, "}", "thread C @ d0.c0.b0 {", *consumer, "}"]
    lines.append("~exists (" + " || ".join(f"C.r{i} != {i + 1}" for i in range(count)) + ")")
    return "\n".join([*lines, "expect forbidden, no race, no hang, no undefined;", ""])


@dataclass(frozen=True)
class Timing:
    """One process: seconds of wall and processor time, peak memory in MB, and whether all was as expected."""

    wall: float
    processor: float
    peak: int
    right: bool


def timed(arguments: list[str], timeout: float) -> Timing:
    """Run ptxmm once."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    command = [sys.executable, "-m", "ptxmm", *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=timeout, check=False)
        right = done.returncode == 0
    except subprocess.TimeoutExpired:
        right = False
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Timing(time.perf_counter() - start, after.ru_utime - before.ru_utime, after.ru_maxrss // 1024, right)


def library(folder: str) -> tuple[int, float, float]:
    """How many verdicts a folder of the library has, and their median and longest time in seconds."""
    command = [sys.executable, "-m", "ptxmm", "check", f"litmus/{folder}", "-j1", "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    seconds = [result["seconds"] for result in json.loads(done.stdout)["results"]]
    return len(seconds), statistics.median(seconds), max(seconds)


def main() -> None:
    """Print the figures with their bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=240.0)
    timeout = parser.parse_args().timeout
    print(f"{'folder':14}{'verdicts':>9}{'median':>10}{'longest':>10}   at most 0.5 s and 5 s")
    for folder in FOLDERS:
        count, median, longest = library(folder)
        print(
            f"{folder:14}{count:9}{median:8.2f} s{longest:8.2f} s   {'ok' if median <= 0.5 and longest <= 5 else 'NO'}"
        )
    print(f"\n{'test':32}{'wall':>10}{'processor':>12}{'peak so far':>14}   processor at most")
    tests = [(f"ring {stages} x {rounds}", ring(stages, rounds), limit) for stages, rounds, limit in RINGS]
    tests += [(f"{copies} copies on one mbarrier", in_flight(copies), 10.0) for copies in IN_FLIGHT]
    tests += [(f"pipeline {one.name}", one.text(), 60.0) for one in PIPELINES]
    with tempfile.TemporaryDirectory() as folder:
        for name, text, limit in tests:
            path = Path(folder) / "test.lit"
            path.write_text(text)
            one = timed(["check", str(path), "-j1", "--timeout", str(timeout)], timeout)
            good = one.right and one.processor <= limit and one.peak <= 1500
            print(
                f"{name:32}{one.wall:8.2f} s{one.processor:10.2f} s{one.peak:11} MB   "
                f"{limit:g} s, 1500 MB {'ok' if good else 'NO'}"
            )


if __name__ == "__main__":
    main()
