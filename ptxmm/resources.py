"""Where the shipped models and litmus tests lie: inside the installed package, or in the source tree."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def models_dir() -> Path:
    """The folder of the shipped `*.cat` files."""
    return _data("models")


def litmus_dir() -> Path:
    """The folder of the shipped litmus tests."""
    return _data("litmus")


def _data(name: str) -> Path:
    """`ptxmm/data/NAME` of a wheel; a source tree keeps its one copy beside the package."""
    package = Path(str(files("ptxmm")))
    installed = package / "data" / name
    return installed if installed.is_dir() else package.parent / name
