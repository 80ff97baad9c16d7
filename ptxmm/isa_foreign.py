"""The instructions that PTX has and no model here: they are read, and the verdict of the test is `unsupported`."""

from __future__ import annotations

from functools import lru_cache

from ptxmm.isa_copy_rules import NOT_TILES
from ptxmm.isa_form import Form, split

MATRICES = "tensor core instructions take part in no model: say with a bulk copy what they read or write of memory"
REPLICAS = "multicast memory (`multimem`) has several replicas behind one address, which no model has"
FABRIC = "accesses through the fabric proxy are outside of every model"
LANES = "exchanging values between the lanes of a warp is not decided"
OPCODES: dict[tuple[str, ...], str] = {
    ("wgmma",): MATRICES,
    ("tcgen05",): MATRICES,
    ("mma",): MATRICES,
    ("wmma",): MATRICES,
    ("ldmatrix",): MATRICES,
    ("stmatrix",): MATRICES,
    ("movmatrix",): MATRICES,
    ("multimem",): REPLICAS,
    ("clusterlaunchcontrol",): "which CTAs a cluster launch control request cancels is in no model",
    ("fabric",): FABRIC,
    ("fence", "proxy", "generic"): FABRIC,
    ("fence", "proxy", "fabric"): FABRIC,
    ("st", "bulk"): "filling shared memory with zeros by `st.bulk` is in no model: write `st`",
    ("setmaxnreg",): "registers that a warp gives back and waits for are in no model: leave `setmaxnreg` out",
    ("vote",): LANES,
    ("match",): LANES,
    ("redux",): LANES,
    ("shfl",): LANES,
    ("activemask",): LANES,
}
QUALIFIERS = {
    **{mode: f"{what} are in no model: a tensor map here is a box of bytes" for mode, what in NOT_TILES.items()},
    "cp_mask": "copies of some bytes in each 16 are in no model",
    "ignore_oob": "copies of bytes beyond an object are in no model",
    "cta_group::2": "completion on the mbarrier of the other CTA of a pair is in no model",
}


NEWER = {
    "multicast::cluster::32b": "arrivals and copies to a mask of 32 CTAs are in no model",
    "mbarrier::report::fabric": FABRIC,
}
"""Qualifiers that the table does not have."""


@lru_cache(maxsize=4096)
def reason(mnemonic: str) -> str | None:
    """Why no model has the instruction of an opcode, in a sentence; None for the others.

    >>> reason("shfl.sync.bfly.b32")
    'exchanging values between the lanes of a warp is not decided'
    """
    words = tuple(word.text for word in split(mnemonic))
    newer = (NEWER[word] for word in words if word in NEWER)
    return next((why for name, why in OPCODES.items() if _heads(name, words)), next(newer, None))


def _heads(name: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether `words` start with an opcode, a word before `::` counting as the whole."""
    return len(words) >= len(name) and all(w.partition("::")[0] == n for w, n in zip(words, name, strict=False))


def reason_of(form: Form) -> str | None:
    """Why no model has a form of an instruction that the table has."""
    return next((QUALIFIERS[word.text] for _, word in form.words if word.text in QUALIFIERS), None)
