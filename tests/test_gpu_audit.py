"""What the assembler made of a test: the machine code of small kernels, as it was recorded."""

from __future__ import annotations

import re
import shutil

import pytest
from kernels import ARCHITECTURE, KERNELS, RECORDED, recorded, text

from ptxmm.gpu.audit import audit, audited
from ptxmm.gpu.needed import needed
from ptxmm.gpu.sass import listing, machine

TOOLS = pytest.mark.skipif(
    not (shutil.which("ptxas") and shutil.which("nvdisasm")), reason="ptxas and nvdisasm are not installed"
)
EXPECTED = {
    "release-acquire": "as written",
    "two-loads": "merged",
    "two-loads-opaque": "as written",
    "two-stores": "merged",
    "store-load": "reordered by ptxas",
    "fences": "as written",
    "wait-closed": "as written",
    "acquire-thrown-away": "merged",
    "wait-closed-in-cta": "as written",
    "weak-poll": "merged",
    "thrown-away": "merged",
    "part-of-a-vector": "merged",
    "atomic-thrown-away": "merged",
    "election-of-lanes": "as written",
    "election-thrown-away-by-lanes": "as written",
    "copies-and-barriers": "as written",
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_machine_code_of_a_kernel_is_judged(name: str) -> None:
    assert audited(text(name), recorded(name)).label == EXPECTED[name]


def test_two_weak_loads_of_one_address_become_one() -> None:
    assert audited(text("two-loads"), recorded("two-loads")).remarks == (
        "thread 1: `ld.weak.global.u32 r1, [x]`: there is no such instruction in the machine code",
    )


def test_the_first_of_two_relaxed_stores_to_one_address_is_dropped() -> None:
    (remark,) = audited(text("two-stores"), recorded("two-stores")).remarks
    assert "`st.relaxed.gpu.global.u32 [x], 1`" in remark


def test_weak_loads_above_weak_stores_of_other_addresses_are_a_reordering() -> None:
    remarks = audited(text("store-load"), recorded("store-load")).remarks
    assert remarks[0] == (
        "thread 0: `ld.weak.global.u32 r0, [x+256]` comes before `st.weak.global.u32 [x], 1`"
    )  # fmt: skip
    assert len(remarks) == 2


def test_an_acquire_whose_value_is_thrown_away_is_gone_although_it_empties_the_cache() -> None:
    (remark,) = audited(text("acquire-thrown-away"), recorded("acquire-thrown-away")).remarks
    assert "`ld.acquire.gpu.global.u32 sink32, [x+256]`: there is no such instruction" in remark
    assert "CCTL.IVALL" in recorded("acquire-thrown-away")


def test_an_atomic_operation_whose_value_is_thrown_away_becomes_a_reduction() -> None:
    (remark,) = audited(text("atomic-thrown-away"), recorded("atomic-thrown-away")).remarks
    assert "`atom.release.gpu.global.add.u32 sink32, [x], role`: there is no such instruction" in remark


def without(name: str, pattern: str) -> str:
    """A recorded listing without the instructions of a pattern."""
    lines = recorded(name).splitlines(keepends=True)
    kept = [line for line in lines if not re.search(pattern, line)]
    assert len(kept) < len(lines)
    return "".join(kept)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("release-acquire", r"MEMBAR\.ALL\.GPU"),
        ("release-acquire", r"CCTL\.IVALL"),
        ("release-acquire", r"LDG\.E\.STRONG\.GPU"),
        ("release-acquire", r"STG\.E\.STRONG\.GPU"),
        ("fences", r"MEMBAR\.SC\.GPU"),
        ("fences", r"MEMBAR\.ALL\.CTA"),
        ("wait-closed", r"CCTL\.IVALL"),
        ("wait-closed", r"REDG"),
        ("election-of-lanes", r"WARPSYNC"),
        ("election-of-lanes", r"ELECT"),
        ("copies-and-barriers", r"ACQBULK"),
        ("copies-and-barriers", r"PREEXIT"),
        ("copies-and-barriers", r"SYNCS\.EXCH"),
        ("copies-and-barriers", r"SYNCS\.ARRIVE"),
        ("copies-and-barriers", r"SYNCS\.PHASECHK"),
        ("copies-and-barriers", r"UBLKCP\.S\.G"),
        ("copies-and-barriers", r"UBLKCP\.G\.S"),
        ("copies-and-barriers", r"UTMACMDFLUSH"),
        ("copies-and-barriers", r"DEPBAR\.LE SB0, 0x0"),
        ("copies-and-barriers", r"LDGSTS"),
        ("copies-and-barriers", r"LDGDEPBAR"),
        ("copies-and-barriers", r"UCGABAR_ARV"),
        ("copies-and-barriers", r"UCGABAR_WAIT"),
        ("copies-and-barriers", r"BAR\.SYNC"),
        ("copies-and-barriers", r"MEMBAR\.SC\.SYS"),
        ("copies-and-barriers", r"FENCE\.VIEW\.ASYNC\.S"),
        ("copies-and-barriers", r"UTMACCTL\.IV"),
        ("copies-and-barriers", r"CCTL\.IVALL"),
    ],
)
def test_nothing_that_a_test_needs_can_be_missing_without_notice(name: str, pattern: str) -> None:
    assert audited(text(name), without(name, pattern)).label == "merged"


@pytest.mark.parametrize(
    ("name", "strong", "weak"),
    [
        ("release-acquire", "LDG.E.STRONG.GPU", "LDG.E.STRONG.SM"),
        ("release-acquire", "STG.E.STRONG.GPU", "STG.E"),
        ("release-acquire", "MEMBAR.ALL.GPU", "MEMBAR.ALL.CTA"),
        ("fences", "MEMBAR.SC.GPU", "MEMBAR.SC.CTA"),
    ],
)
def test_nothing_that_a_test_needs_can_be_weaker_without_notice(name: str, strong: str, weak: str) -> None:
    assert strong in recorded(name)
    assert audited(text(name), recorded(name).replace(strong, weak)).label == "merged"


def test_lanes_whose_atomic_operations_become_one_are_noticed() -> None:
    combined = recorded("wait-closed").replace("REDG.E", "VOTEU.ANY UR8, UPT, PT ;\n        /*0fff*/  REDG.E", 1)
    (remark,) = audited(text("wait-closed"), combined).remarks
    assert remark.endswith("VOTEU.ANY: lanes share one operation")


def test_a_store_above_the_wait_of_an_election_is_a_reordering() -> None:
    branch = re.search(r".*BRA\.DIV.*\n", recorded("election-thrown-away-by-lanes"))
    assert branch is not None
    rest = recorded("election-thrown-away-by-lanes").replace(branch[0], "", 1)
    later = re.sub(r"/\*\w+\*/", "/*00e8*/", branch[0], count=1)
    found = audited(text("election-thrown-away-by-lanes"), rest.replace("        /*00f0*/", later + "        /*00f0*/"))
    assert found.label == "reordered by ptxas"
    assert "`st.relaxed.gpu.global.u32 [x], 1` comes before `elect.sync _|p1, 3`" in found.remarks[0]


def test_a_stronger_access_is_as_written() -> None:
    assert audited(text("release-acquire"), recorded("release-acquire").replace("STRONG.GPU", "STRONG.SYS")).label == (
        "as written"
    )  # fmt: skip


def test_a_listing_without_lines_is_not_audited() -> None:
    plain = "".join(line for line in recorded("fences").splitlines(keepends=True) if "//##" not in line)
    assert audited(text("fences"), plain).label == "not audited"


def test_without_the_tools_nothing_is_audited_and_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATH", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, "")
    found = audit(text("fences"), ARCHITECTURE)
    assert (found.label, found.remarks) == ("not audited", ("there is no ptxas: it comes with the CUDA toolkit",))


def test_basic_blocks_begin_at_labels_and_behind_branches() -> None:
    instructions, leaders = machine(recorded("wait-closed"))
    branches = [one for one in instructions if one.words[0] == "BRA"]
    assert all(one.at + 16 in leaders for one in branches)
    assert any(one.target is not None and one.target <= one.at for one in branches)


@pytest.mark.parametrize(
    ("instruction", "accesses", "level", "before", "after"),
    [
        ("ld.weak.global.u32 a, [p]", "LDG", None, None, False),
        ("ld.acquire.cta.global.u32 a, [p]", "LDG", 0, None, False),
        ("@p1 st.release.sys.global.u32 [p], 1", "STG", 2, 2, False),
        ("atom.acq_rel.gpu.global.add.u32 a, [p], 1", "ATOMG", 1, 1, True),
        ("fence.acq_rel.cluster", "MEMBAR", 1, None, True),
        ("fence.proxy.async.global", "FENCE.VIEW.ASYNC.G", None, None, False),
        ("mbarrier.arrive.release.cta.shared::cta.b64 _, [m]", "SYNCS.ARRIVE", None, None, False),
        ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [m]", "SYNCS.ARRIVE", None, 1, False),
        ("cp.async.bulk.wait_group 0", "DEPBAR.LE", None, None, False),
        ("mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 p, [m], 0", "SYNCS.PHASECHK", None, None, True),
        ("barrier.cluster.arrive.release.aligned", "UCGABAR_ARV", None, 1, False),
        ("barrier.cluster.arrive.relaxed", "UCGABAR_ARV", None, None, False),
        ("barrier.cluster.wait.acquire", "UCGABAR_WAIT", None, None, True),
        ("barrier.cta.red.popc.aligned.u32 r, 0, p", "BAR.RED", None, None, False),
        ("bar.warp.sync 3", "WARPSYNC", None, None, False),
        ("elect.sync _|p, 3", "ELECT", None, None, False),
        ("fence.proxy.tensormap::generic.release.sys", "MEMBAR", 2, None, False),
        ("fence.release.sync_restrict::shared::cta.cluster", "MEMBAR", None, None, False),
        ("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [m, {a}], [s]", "UTMASTG", None, None, False),
    ],
)
def test_what_an_instruction_must_become(
    instruction: str, accesses: str, level: int | None, before: int | None, after: bool
) -> None:
    found = needed(instruction)
    assert found is not None
    assert accesses in found.accesses
    assert (found.level, found.before, found.after) == (level, before, after)


# --- with the tools --------------------------------------------------------------------------------------------------


@TOOLS
@pytest.mark.parametrize("name", KERNELS)
def test_the_tools_at_hand_give_what_was_recorded(name: str) -> None:
    assert audited(text(name), listing(text(name), ARCHITECTURE)).label == EXPECTED[name]


def test_every_kernel_has_its_recorded_listing() -> None:
    assert {path.stem for path in RECORDED.glob("*.txt")} == set(KERNELS) == set(EXPECTED)
