"""How the speed of contended atomics depends on the address of their counters, and what adding up in a warp gains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from ptxmm.gpu.measure.arms import Arm, Plan, Reading
from ptxmm.gpu.measure.claims import Stated, costs, every, never
from ptxmm.gpu.measure.machine import Machine
from ptxmm.gpu.measure.measure import Lab, Measure
from ptxmm.gpu.measure.results import Role
from ptxmm.gpu.measure.sources import source
from ptxmm.gpu.measure.statistics import Count

OFFSETS = tuple(range(0, 1024, 64))
FINE = tuple(range(0, 128, 16))


@dataclass(frozen=True, slots=True)
class Contended:
    """`counters` of 4 bytes, added to by `op`; lanes choose by `pattern`."""

    op: str
    counters: int
    pattern: int
    rounds: int
    offsets: tuple[int, ...] = OFFSETS

    def __str__(self) -> str:
        counters = f"{self.counters} counter{'s' * (self.counters > 1)}"
        return f"{self.op}, {counters}, {('lanes spread', 'lane l adds to l mod C')[self.pattern]}"


@dataclass(frozen=True, slots=True)
class Keys:
    """How 4 million keys are distributed: `many` of them, and the exponent of Zipf's law, or one hot key for half."""

    told: str
    many: int
    skew: float = 0.0
    hot: bool = False


@dataclass(frozen=True, slots=True)
class Publication:
    """Unrelated stores of each lane before the word that is published."""

    stores: int


SETTINGS: tuple[Contended | Keys | Publication, ...] = (
    Contended("red", 1, 0, 4),
    Contended("red", 8, 0, 8, FINE),
    Contended("red", 64, 0, 8),
    Contended("red", 128, 0, 16),
    Contended("red", 256, 0, 16),
    Contended("atom", 256, 0, 16),
    Contended("red", 256, 1, 16),
    Keys("one key", 1),
    Keys("8 keys", 8),
    Keys("256 keys", 256),
    Keys("256 keys, Zipf 1.0", 256, 1.0),
    Keys("256 keys, one of them half", 256, hot=True),
    Keys("4096 keys", 4096),
    Publication(128),
    Publication(512),
)
PUBLISHED = {
    "match.any, leader's red.release": ("", "release", Role.SUBJECT),
    "match.any, bar.warp.sync, leader's red.release": ("__syncwarp();", "release", Role.NEGATIVE),
    "match.any, leader's red.relaxed": ("", "relaxed", Role.POSITIVE),
}
COUNTS = {
    "one red a key": "count_plain",
    "match.any, one red a distinct key": "count_together",
    "atomicAdd": "count_cuda",
}
PLAIN, TOGETHER, CUDA = COUNTS
APART = "a load and a store, not atomic"
OFFSET, KEYED, HANDED = "counters at an offset", "a histogram", "words published by one lane"
KEYS = 1 << 22


def prepare(machine: Machine) -> Lab:
    """Counters at one fixed address, aligned to 2 MB, and the plan of each setting."""
    cp, np, sms = machine.cp, machine.np, machine.multiprocessors
    fillings = [{"ID": str(n), "SYNC": sync, "ORDER": order} for n, (sync, order, _) in enumerate(PUBLISHED.values())]
    module = machine.module(source("atomics_offset", arms={"each": fillings}))
    pool = machine.aligned(4 << 20, 2 << 20)
    scratch = machine.zeros(1 << 24)

    def contended(setting: Contended, op: str, offset: int) -> Reading:
        base = pool[offset : offset + 4 * setting.counters].view("uint32")
        base.fill(0)
        out, kernel = machine.results(), module.get_function(f"contend_{op}")
        knobs = (setting.counters, setting.rounds, setting.pattern)
        took = machine.timed(lambda: machine.launch(kernel, 2 * sms, 512, base, out, *knobs))
        adds = 2 * sms * 512 * setting.rounds
        return Reading(1e9 * took / adds, Count(abs(adds - int(base.sum())), adds))

    def drawn(setting: Keys) -> Any:
        dice = np.random.default_rng(3)
        weights = 1 / np.arange(1, setting.many + 1) ** setting.skew
        keys = np.searchsorted(np.cumsum(weights / weights.sum()), dice.random(KEYS)).clip(0, setting.many - 1)
        keys = dice.permutation(setting.many)[keys]
        return np.where(dice.random(KEYS) < 0.5, 7, keys) if setting.hot else keys

    def counted(key: Any, right: Any, kernel: str) -> Reading:
        base = pool[: 4 * len(right)].view("uint32")
        base.fill(0)
        took = machine.timed(lambda: machine.launch(module.get_function(kernel), 4 * sms, 512, key, base, KEYS))
        return Reading(1e3 * took, Count(int((base != right).sum()), len(right)))

    def published(setting: Publication, number: int, rounds: int = 500) -> Reading:
        data, flags, out = machine.zeros(sms * 512), machine.zeros(sms * 64), machine.results()
        kernel = module.get_function(f"publish_{number}")
        knobs = (rounds, setting.stores)
        took = machine.timed(lambda: machine.launch(kernel, sms // 2 * 2, 32, data, flags, scratch, out, *knobs))
        return Reading(1e6 * took / rounds, machine.counted(out)[0])

    def plan(setting: Contended | Keys | Publication) -> Plan:
        if isinstance(setting, Contended):
            arms = [Arm(f"+{o}", Role.NEGATIVE, partial(contended, setting, setting.op, o)) for o in setting.offsets]
            arms.append(Arm(f"+0, {APART}", Role.POSITIVE, partial(contended, setting, "apart", 0)))
            return Plan(OFFSET, str(setting), tuple(arms), "ps an add", "lost adds", "+0")
        if isinstance(setting, Publication):
            arms = [
                Arm(name, role, partial(published, setting, number))
                for number, (name, (_, _, role)) in enumerate(PUBLISHED.items())
            ]
            told = f"{setting.stores} unrelated stores of each lane before"
            return Plan(HANDED, told, tuple(arms), "ns a round", "stale reads", next(iter(PUBLISHED)))
        keys = drawn(setting)
        key, right = cp.asarray(keys.astype("uint32")), cp.asarray(np.bincount(keys, minlength=setting.many))
        arms = [Arm(name, Role.NEGATIVE, partial(counted, key, right, kernel)) for name, kernel in COUNTS.items()]
        arms.append(Arm(APART, Role.POSITIVE, partial(counted, key, right, "count_apart")))
        return Plan(KEYED, setting.told, tuple(arms), "µs", "wrong counters", PLAIN)

    return plan


MEASURE = Measure(
    "atomics-offset",
    "Does the address of packed counters change the throughput of atomics, and does adding up in a warp first pay?",
    SETTINGS,
    prepare,
    (
        Stated(
            "Counters at 512 bytes into a KB are twice as fast as at its start.",
            costs(OFFSET, "+512", most=0.6),
        ),
        Stated(
            "They are for 256 counters, which there lie half in one KB and half in the next.",
            every(*(costs(OFFSET, "+512", f"{op}, 256 counters, lanes spread", most=0.6) for op in ("red", "atom"))),
        ),
        Stated(
            "For 1 and 128 counters the offset changes nothing beyond 10 %.",
            every(
                *(
                    costs(OFFSET, f"+{o}", f"red, {c} counter", least=0.9, most=1.1)
                    for c in (1, 128)
                    for o in (128, 512)
                )
            ),
        ),
        Stated(
            "8 counters that lie in two sectors of 32 bytes take 1.5 times as long or more.",
            costs(OFFSET, "+16", "red, 8 counters", least=1.5),
        ),
        Stated(
            "Adding up in a warp gains 20 times for one key and nothing for 4096.",
            every(costs(KEYED, TOGETHER, "one key", most=0.05), costs(KEYED, TOGETHER, "4096", least=0.9, most=1.1)),
        ),
        Stated("The compiler adds up in a warp for keys that vary.", costs(KEYED, CUDA, "8 keys", most=0.5)),
        Stated(
            "No add is lost.", every(*(never(OFFSET, f"+{o}") for o in (0, 512)), *(never(KEYED, n) for n in COUNTS))
        ),
        Stated(
            "What one lane publishes for all was never seen stale without bar.warp.sync.",
            never(HANDED, "match.any, leader's red.release"),
        ),
    ),
)
