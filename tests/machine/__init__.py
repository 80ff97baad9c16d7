"""A machine that runs the kernels of `ptxmm run` without a GPU: PTX interpreted, sequentially consistent, seeded.

All threads of a launch, and the copies that they start, go on one step at a time; a step is at most one access of
memory, and who makes the next is drawn from a seed. An access outside memory, an mbarrier that is used wrongly or
lanes that do not come together are faults. What no step can end is a hang. Time is counted in steps.

In this process:

    from machine.runs import seen
    counted = seen(program)                            # ptxmm.gpu.log.Counted, through Gpu, Sides and Turn
    counted = seen(program, seed=3, passes=4, multiprocessors=2)

In another, as `ptxmm run` has it:

    os.environ |= machine.environment(seed=3)           # CuPy is the machine, ptxas is hidden
    session = Session(0)

`site/cupy` is what such a process imports as CuPy. `device.Settings` says what can be chosen.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SITE = HERE / "site"
VARIABLE = "PTXMM_MACHINE"


def environment(**settings: Any) -> dict[str, str]:
    """The environment of a process that has the machine as its GPU, and no assembler."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    search = [str(SITE), str(HERE.parent), str(HERE.parent.parent), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, search)),
        "PATH": os.pathsep.join(each for each in path if not Path(each, "ptxas").exists()),
        VARIABLE: json.dumps(settings),
    }
