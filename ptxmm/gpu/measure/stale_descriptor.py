"""Whether a load through a tensor map that was changed finds the old map."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.gpu.measure.arms import Arm, Plan, Reading
from ptxmm.gpu.measure.claims import Judge, Stated, costs, every, never, shows
from ptxmm.gpu.measure.machine import CYCLES, EXTRA, Machine, insist
from ptxmm.gpu.measure.measure import Lab, Measure
from ptxmm.gpu.measure.results import Role
from ptxmm.gpu.measure.sources import source

CHANGES = {
    "replace, cp_fenceproxy.release": "replaced(map, copy, bases[t], lane);",
    "plain stores, proxy release fence": "map_copy(map, encoded + 128 * t, lane); map_release();",
    "plain stores, __threadfence": "map_copy(map, encoded + 128 * t, lane); __threadfence();",
    "plain stores, release flag only": "map_copy(map, encoded + 128 * t, lane);",
}
PROXY, NOTHING, LATER = "proxy acquire fence", "no fence", "no fence, 5000 cycles later"
FENCES = {
    PROXY: "map_acquire(map);",
    NOTHING: "",
    "__threadfence": "__threadfence();",
    "fence.proxy.async": "fence_async();",
}
FORMS = tuple((change, fence) for change in CHANGES for fence in FENCES)
REPLACED = next(iter(CHANGES))
OTHERS = (0, 16, 28, 32, 48, 64, 96, 512)


@dataclass(frozen=True, slots=True)
class Setting:
    """`kind` names what is asked; the knob is whether the map was used in the same round before."""

    kind: str
    told: str
    touch: int = 1


CHANGED, EVICTED, LAUNCHED = "changed by another CTA", "changed, then others used", "changed by another launch"
LAUNCHED_BEFORE = "changed by the launch before"
SETTINGS = (
    Setting(CHANGED, "the map is used just before the change"),
    Setting(CHANGED, "the map was used in the round before", 0),
    Setting(EVICTED, "one thread, no acquire fence before the last use"),
    Setting(LAUNCHED, "no fence in either kernel"),
)


def prepare(machine: Machine) -> Lab:
    """Four tensors, their maps, and the plan of each setting."""
    sms, pairs = machine.multiprocessors, machine.multiprocessors // 2
    fillings = [{"ID": str(n), "CHANGE": CHANGES[c], "FENCE": FENCES[f]} for n, (c, f) in enumerate(FORMS)]
    module = machine.module(source("tma", "stale_descriptor", arms={"each": fillings}))
    words = [t << 28 | i for t in range(4) for i in range(256)]
    tensors = machine.words(words, "uint32")
    addresses = [machine.address(tensors) + 1024 * t for t in range(4)]
    encoded = machine.maps([machine.tensor_map(address, 32, 8, 8) for address in addresses])
    bases = machine.words(addresses)
    maps = machine.aligned(sms * 128 * 1032, 128)
    first = encoded[:128]

    def change(setting: Setting, number: int, name: str, role: Role, lag: int = 0, rounds: int = 300) -> Arm:
        def run() -> Reading:
            maps[: pairs * 128].reshape(pairs, 128)[:] = first
            flags, out = machine.zeros(pairs * 128), machine.results()
            kernel = module.get_function(f"change_{number}")
            machine.launch(kernel, 2 * pairs, 32, maps, encoded, bases, flags, out, rounds, setting.touch, lag)
            count, slots = machine.counted(out)
            return Reading(slots[CYCLES] / max(1, count.tried), count)

        return Arm(name, role, run)

    def evicted(others: int, rounds: int = 20) -> Arm:
        def run() -> Reading:
            maps.reshape(sms * 1032, 128)[:] = first
            out = machine.results()
            machine.launch(module.get_function("evicted"), sms, 32, maps, encoded, out, rounds, others)
            count, slots = machine.counted(out)
            insist(slots[EXTRA], "loads of the old tensor right after the acquire fence")
            return Reading(count=count)

        return Arm(f"{others} others", Role.SUBJECT if others else Role.POSITIVE, run)

    def launched() -> Reading:
        out = machine.results()
        launch, map = machine.launch, maps[:128]
        for turn in range(16):
            launch(module.get_function("change_map"), 1, 32, map, encoded, turn % 4)
            launch(module.get_function("launched"), sms, 32, map, out, turn % 4)
        return Reading(count=machine.counted(out)[0])

    def plan(setting: Setting) -> Plan:
        if setting.kind == EVICTED:
            return Plan(setting.kind, setting.told, tuple(map(evicted, OTHERS)), wrong="loads of the old tensor")
        if setting.kind == LAUNCHED:
            # The control is a change inside a kernel, seen without a fence.
            control = change(SETTINGS[0], FORMS.index((REPLACED, NOTHING)), "changed inside the kernel", Role.POSITIVE)
            arms = (Arm(LAUNCHED_BEFORE, Role.SUBJECT, launched), control)
            return Plan(setting.kind, setting.told, arms, "cycles", wrong="loads of the old tensor")
        changes = tuple(
            change(setting, number, f"{changed}; {fence}", Role.NEGATIVE if fence == PROXY else Role.POSITIVE)
            for number, (changed, fence) in enumerate(FORMS)
        )
        late = change(setting, FORMS.index((REPLACED, NOTHING)), f"{REPLACED}; {LATER}", Role.POSITIVE, lag=5000)
        return Plan(
            setting.kind, setting.told, (*changes, late), "cycles", "loads of the old tensor", f"{REPLACED}; {NOTHING}"
        )

    return plan


def _all(fence: str, least: float) -> list[Judge]:
    return [shows(CHANGED, f"{change}; {fence}", least=least) for change in CHANGES]


MEASURE = Measure(
    "stale-descriptor",
    "Does a load find the old tensor map after it was changed, if nobody fences the tensormap proxy?",
    SETTINGS,
    prepare,
    (
        Stated(
            "__threadfence after the stores and an acquire of the flag make a changed tensor map visible.",
            never(CHANGED, f"plain stores, __threadfence; {NOTHING}"),
        ),
        Stated(
            "Without the acquire proxy fence every load finds the map of the first use (right every fourth round).",
            every(*_all(NOTHING, 0.74)),
        ),
        Stated(
            "__threadfence or fence.proxy.async in its place do nothing.",
            every(*_all("__threadfence", 0.74), *_all("fence.proxy.async", 0.74)),
        ),
        Stated("Waiting does nothing.", shows(CHANGED, f"{REPLACED}; {LATER}", least=0.74)),
        Stated(
            "With the acquire proxy fence no load finds the old one, whatever the writer does.",
            every(*(never(CHANGED, f"{change}; {PROXY}") for change in CHANGES)),
        ),
        Stated("The fence costs 10 % of a load or more.", costs(CHANGED, f"{REPLACED}; {PROXY}", least=1.1)),
        Stated(
            "28 other maps in between do not push the old one out, 512 always do.",
            every(shows(EVICTED, "28 others", least=0.999), never(EVICTED, "512 others")),
        ),
        Stated("A launch finds what an earlier one wrote, without a fence.", never(LAUNCHED, LAUNCHED_BEFORE)),
    ),
    needs=(9, 0),
)
