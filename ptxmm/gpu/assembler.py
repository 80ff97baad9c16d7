"""The assembler of the CUDA toolkit, where there is one: several kernels at a time, which the driver does not do."""

from __future__ import annotations

import os
import re
import subprocess
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory


def architecture_of(capability: str) -> str:
    """What an assembler calls the device, with the instructions of this architecture alone where it has any.

    >>> architecture_of("9.0"), architecture_of("8.6")
    ('sm_90a', 'sm_86')
    """
    major, minor = capability.split(".")
    return f"sm_{major}{minor}{'a' if int(major) >= 9 else ''}"


def assembled(assembler: str, text: str, architecture: str) -> bytes:
    """The machine code of a kernel: by an assembler of its own process, since the driver assembles one at a time."""
    with TemporaryDirectory() as folder:
        source, code = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(text, encoding="utf-8")
        command = [assembler, "-lineinfo", f"-arch={architecture}", "-o", str(code), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[0])
        return code.read_bytes()


def kept(folder: Path, assembler: str, text: str, architecture: str) -> bytes:
    """The machine code of a kernel, assembled once for all processes that share a folder."""
    name = sha256(f"{architecture}\n{text}".encode()).hexdigest()
    found = folder / f"{name}.cubin"
    if found.exists():
        return found.read_bytes()
    code = assembled(assembler, text, architecture)
    coming = folder / f"{name}.{os.getpid()}"
    coming.write_bytes(code)
    coming.replace(found)
    return code


def version(assembler: str) -> str:
    """The version of an assembler."""
    shown = subprocess.run([assembler, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    found = re.search(r"V(\d+\.\d+\.\d+)", shown)
    return found[1] if found else "unknown"
