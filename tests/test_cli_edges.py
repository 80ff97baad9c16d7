"""The command line at its edges: special files, closed and full streams, signals, terminals, strange names."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ptxmm.cli import main

ROOT = Path(__file__).parent.parent
MP = ROOT / "litmus" / "basic" / "MP.lit"
PTXMM = f"{sys.executable} -m ptxmm"
ONE = f"{MP} -k relaxed -m sc"


@dataclass(frozen=True)
class Done:
    """How a command ended in this process, and what it wrote to either stream."""

    returncode: int
    stdout: str
    stderr: str


def here(command: str) -> Done:
    """A command line in this process, where nothing depends on what a process is given."""
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(shlex.split(command))
    done = Done(int(ended.value.code or 0), *(one.buffer.getvalue().decode() for one in (out, err)))
    assert "mistake in ptxmm" not in done.stdout + done.stderr
    return done


def shell(command: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=60)
    assert "Traceback" not in done.stdout + done.stderr
    assert "mistake in ptxmm" not in done.stdout + done.stderr
    return done


# --- special files ---------------------------------------------------------------------------------------------------


def test_a_named_pipe_is_refused_and_the_other_files_are_decided(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.lit")
    done = here(f"check {tmp_path} {ONE}")
    assert done.returncode == 2
    assert "pipe.lit: error: this is a named pipe, not a file with a test" in done.stderr
    assert "✓ MP[relaxed]" in done.stdout


def test_a_named_pipe_is_no_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cat")
    done = here(f"check {MP} -m {tmp_path}/pipe.cat")
    assert (done.returncode, done.stdout) == (2, "")
    assert "this is a named pipe, not a file with a model" in done.stderr


def test_a_device_without_end_is_too_large() -> None:
    for arguments in (f"{MP} -m /dev/zero", "/dev/zero --from lit"):
        done = here(f"check {arguments}")
        assert done.returncode == 2
        assert "/dev/zero: error: the file is too large: more than 16 MiB" in done.stderr


@pytest.mark.parametrize(
    "how",
    [
        "{ptxmm} check /dev/stdin --from lit < {mp}",
        "cat {mp} | {ptxmm} check /dev/stdin --from lit",
        "{ptxmm} check <(cat {mp}) --from lit",
    ],
)
def test_a_test_may_come_through_a_pipe_of_the_shell(how: str) -> None:
    done = shell(how.format(ptxmm=PTXMM, mp=MP) + " -m sc -k relaxed")
    assert (done.returncode, done.stdout.split()[3]) == (0, "forbidden")


def test_a_model_without_axioms_is_warned_about() -> None:
    done = here(f"check {MP} -k relaxed -m /dev/null")
    assert done.returncode == 0
    assert done.stderr == "ptxmm: /dev/null: warning: the model has no axiom, so it allows everything\n"


def test_another_encoding_is_named(tmp_path: Path) -> None:
    for ending, arguments in ((".lit", ""), (".cat", f"{MP} -m")):
        path = tmp_path / f"wide{ending}"
        path.write_bytes("ptx x\n".encode("utf-16"))
        assert "this is UTF-16, not UTF-8" in here(f"check {arguments} {path}").stderr
    path = tmp_path / "latin.lit"
    path.write_bytes("ptx x\n// café\n".encode("latin-1"))
    assert "latin.lit:2:7: error: this is not UTF-8 (Latin-1, perhaps)" in here(f"check {path}").stderr


def test_a_line_may_end_as_on_old_macs(tmp_path: Path) -> None:
    path = tmp_path / "mac.lit"
    path.write_bytes(MP.read_bytes().replace(b"\n", b"\r"))
    assert here(f"check {path} -k relaxed -m sc").stdout.startswith("✓ MP[relaxed]")


# --- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check {one} >&-", 0),
        ("check {one} >&- 2>&- <&-", 0),
        ("check {one} --format json >&-", 0),
        ("check {one} nowhere.lit >&- 2>&-", 2),
        ("check nowhere.lit 2>/dev/full", 2),
        ("check nowhere.lit 2>&-", 2),
        ("check {one} > /dev/full 2> /dev/full", 2),
        ("check --nonsense 2> /dev/full", 2),
    ],
)
def test_a_closed_or_full_stream_changes_no_exit_code(command: str, code: int) -> None:
    done = shell(f"{PTXMM} {command.format(one=ONE)}")
    assert done.returncode == code
    assert len(done.stderr.splitlines()) <= 1


def test_results_that_cannot_be_written_are_a_sentence_and_2() -> None:
    for arguments in (f"check {ONE}", f"check {ONE} --format json", "models", "--help"):
        done = shell(f"{PTXMM} {arguments} > /dev/full")
        assert done.returncode == 2
        assert done.stderr.startswith("ptxmm: ")
        assert done.stderr.endswith("no space left on device\n")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [f"outcomes {ROOT / 'litmus' / 'basic'}", f"check {MP} -m sc", "models", "--help"])
def test_a_reader_that_goes_away_is_told_as_a_broken_pipe(command: str) -> None:
    done = shell(f"set -o pipefail; ({PTXMM} {command}; echo $? >&2) | true")
    assert done.stderr == "141\n"


# --- signals ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.06, 0.08, 0.1, 0.13, 0.17, 0.22, 0.3, 0.4])
def test_ctrl_c_while_starting_up_is_one_line(delay: float) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    code = "from ptxmm.__main__ import main; print(flush=True); main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "check", str(ROOT / "litmus"), "-j", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(delay)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (130, "ptxmm: interrupted\n")


# --- terminals -------------------------------------------------------------------------------------------------------


ON_A_TERMINAL = """\
import json, sys
from ptxmm.cli import main
for command in json.loads(sys.argv[1]):
    try:
        main(command)
    except SystemExit as ended:
        assert ended.code == 0
    print("-----")
"""


def on_a_terminal(*commands: list[str], **more: str) -> list[str]:
    """What commands write to a terminal, one after another."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **more}
    with subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL, json.dumps(commands)], stdout=theirs, stderr=theirs, env=environment
    ) as running:
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:
            pass
    os.close(ours)
    assert running.returncode == 0, text
    return text.decode().split("-----\r\n")[:-1]


@pytest.mark.parametrize("columns", ["1", "7", "39"])
def test_a_narrow_terminal_gets_text_that_is_forty_wide(columns: str) -> None:
    shown = on_a_terminal(["models"], COLUMNS=columns)[0].replace("\r\n", "\n")
    assert "ptx-9.4 (default)" in shown
    assert max(map(len, shown.splitlines())) <= 40


STRANGE = """\
ptx "a\x1b[31m\u202e\x9b"
"Bells\x07."
.global .u32 x = 0;
thread P @ d0.c0.b0 { st.relaxed.gpu.global.u32 [x], 1; }
exists (x == 1)
expect allowed;
"""


def test_nothing_in_a_test_acts_on_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "strange.lit"
    path.write_text(STRANGE, encoding="utf-8")
    asked = ("check", "check --witness", "outcomes", "show", "check --format json", "check --format sarif")
    commands = [[*command.split(), str(path)] for command in asked]
    shown = on_a_terminal(*commands)
    assert len(shown) == len(asked)
    for command, text in zip(asked, shown, strict=True):
        assert text
        assert all(c.isprintable() or c in "\r\n" for c in text), command
    assert "a?[31m??" in shown[0]
    pure = here(f"check {path} --format json").stdout
    assert json.loads(pure)["results"][0]["test"] == "a\x1b[31m\u202e\x9b"


def test_a_picture_of_a_test_with_a_strange_name_is_xml(tmp_path: Path) -> None:
    path = tmp_path / "strange.lit"
    path.write_text(STRANGE, encoding="utf-8")
    here(f"check {path} --witness {tmp_path / 'drawn'}")
    (picture,) = (tmp_path / "drawn").glob("*.svg")
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
