"""Whether a grid barrier without an acquire lets a plain re-read find an old value in L1."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.gpu.measure.arms import Arm, Plan, Reading
from ptxmm.gpu.measure.claims import Stated, every, never, shows
from ptxmm.gpu.measure.machine import Machine
from ptxmm.gpu.measure.measure import Lab, Measure
from ptxmm.gpu.measure.results import Role
from ptxmm.gpu.measure.sources import source

ACQUIRE = 'u64 d; asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(d) : "l"(semaphore) : "memory");'
FENCE, FENCE_CTA = "fence_gpu();", 'asm volatile("fence.acq_rel.cta;" ::: "memory");'
ALL_FENCE = "__threadfence();"
LATE = 20000

AS_IS, MOVED = "all fence; relaxed atom; volatile poll", "thread 0 fences; relaxed atom; volatile poll"
CLOSED, CLOSED_FENCE = "as the first + closing ld.acquire", "as the first + closing fence.acq_rel"
COOPERATIVE, REREAD = "release atom; acquire poll", "as the first, volatile re-read"
CTA_FENCE, NO_FENCE = "fence.acq_rel.cta only", "no fence"
ACQUIRE_ONLY = "no writer's fence, closing ld.acquire"


@dataclass(frozen=True, slots=True)
class Form:
    """A barrier: before its first `bar.sync`, at thread 0's arrival, after its poll, and after the last `bar.sync`."""

    name: str
    role: Role
    before: str = ""
    arrive: str = ""
    after: str = ""
    end: str = ""
    order: str = "relaxed"
    poll: str = "ld.volatile"
    read: str = "ld.weak"

    def filling(self, id: int) -> dict[str, str]:
        return {'ID': str(id), 'BEFORE': self.before, 'ARRIVE': self.arrive, 'AFTER': self.after, 'END': self.end,
                    'ORDER': self.order, 'POLL': self.poll, 'READ': self.read}  # fmt: skip


FORMS = (
    Form(AS_IS, Role.SUBJECT, ALL_FENCE),
    Form(MOVED, Role.SUBJECT, arrive=ALL_FENCE),
    Form(CLOSED, Role.NEGATIVE, ALL_FENCE, after=ACQUIRE),
    Form(CLOSED_FENCE, Role.NEGATIVE, ALL_FENCE, after=FENCE),
    Form("as the first + all fence at the end", Role.NEGATIVE, ALL_FENCE, end=FENCE),
    Form("thread 0 fences before and after", Role.NEGATIVE, arrive=ALL_FENCE, after=ALL_FENCE),
    Form(COOPERATIVE, Role.NEGATIVE, order="release", poll="ld.acquire.gpu"),
    Form(REREAD, Role.NEGATIVE, ALL_FENCE, read="ld.volatile"),
    Form(ACQUIRE_ONLY, Role.SUBJECT, after=ACQUIRE),
    Form(CTA_FENCE, Role.POSITIVE, FENCE_CTA),
    Form(NO_FENCE, Role.POSITIVE),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """What happens around the barrier, as knobs of the kernel; `after_fence` asks who reads after a fence instead."""

    told: str
    touch: int = 0
    bystander: int = 0
    stores: int = 0
    late: int = 0
    after_fence: bool = False


SETTINGS = (
    Setting("the line is not read before"),
    Setting("every thread reads the line before", touch=1),
    Setting("every thread reads the line before, 32 unrelated stores before the write", touch=1, stores=32),
    Setting("every thread reads the line before, half of the CTAs write late", touch=1, late=LATE),
    Setting("a bystander reads the sectors all the time, half of the CTAs write late", touch=1, bystander=1, late=LATE),
    Setting("one thread fences, then one reads; a CTA on another SM writes", after_fence=True),
)
READERS = ("nobody", "the thread that fenced", "its warp", "another warp", "another warp, the next word")
REFILL = "read after the fence"


def prepare(machine: Machine) -> Lab:
    """The kernels of all forms, and the plan of each setting."""
    module = machine.module(source("grid_sync", arms={"each": [form.filling(n) for n, form in enumerate(FORMS)]}))
    scratch = machine.zeros(1 << 24)
    sms = machine.multiprocessors

    def barrier(setting: Setting, form: Form, number: int, rounds: int = 300) -> Arm:
        def run() -> Reading:
            data, semaphore, meet = machine.zeros(sms * 1024), machine.zeros(1, "uint64"), machine.zeros(128)
            out = machine.results()
            knobs = (rounds, setting.touch, setting.bystander, setting.stores, setting.late)
            kernel = module.get_function(f"sync_{number}")
            took = machine.timed(lambda: machine.launch(kernel, sms, 160, data, semaphore, meet, scratch, out, *knobs))
            return Reading(1e3 * took / rounds, machine.counted(out)[0])

        return Arm(form.name, form.role, run)

    def refill(who: int, rounds: int = 500) -> Arm:
        def run() -> Reading:
            data, flags, out = machine.zeros(sms * 1024), machine.zeros(sms * 64), machine.results()
            machine.launch(module.get_function("refill"), sms // 2 * 2, 64, data, flags, out, rounds, who)
            return Reading(count=machine.counted(out)[0])

        return Arm(READERS[who], Role.POSITIVE if who else Role.NEGATIVE, run)

    def plan(setting: Setting) -> Plan:
        if setting.after_fence:
            return Plan(REFILL, setting.told, tuple(map(refill, range(5))), wrong="stale reads")
        arms = tuple(barrier(setting, form, number) for number, form in enumerate(FORMS))
        return Plan("grid barrier", setting.told, arms, "µs a round", "stale reads", AS_IS)

    return plan


MEASURE = Measure(
    "grid-sync",
    "Does a grid barrier of fence, relaxed atomic and volatile poll, without acquire, show other CTAs' writes?",
    SETTINGS,
    prepare,
    (
        Stated(
            "Fences by all, a relaxed atom and a volatile poll are a grid barrier.",
            never("grid barrier", AS_IS),
        ),
        Stated(
            "They are one to threads that fenced after their own last read of the line.",
            never("grid barrier", AS_IS, "the line"),
        ),
        Stated(
            "They are none where somebody brings the line back into L1 between the fence and the write.",
            every(*(shows("grid barrier", form, "bystander", least=0.1) for form in (AS_IS, MOVED))),
        ),
        Stated(
            "A closing ld.acquire or fence makes it sound.",
            every(*(never("grid barrier", form) for form in (CLOSED, CLOSED_FENCE))),
        ),
        Stated(
            "A closing ld.acquire is enough without the fence before the barrier.",
            never("grid barrier", ACQUIRE_ONLY, "32 unrelated"),
        ),
        Stated(
            "A release by the atom and an acquire by the poll are a grid barrier.",
            never("grid barrier", COOPERATIVE),
        ),
        Stated("A volatile re-read is never stale.", never("grid barrier", REREAD)),
        Stated(
            "A fence of cta scope does nothing across CTAs.",
            shows("grid barrier", CTA_FENCE, "every thread", least=0.4),
        ),
        Stated(
            "After the fence any read of the sector makes the next one stale, by whichever warp.",
            every(never(REFILL, READERS[0]), *(shows(REFILL, reader, least=0.9) for reader in READERS[1:])),
        ),
    ),
)
