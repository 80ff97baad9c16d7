"""The command line: exit codes, formats, what goes where, and hostile input."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptxmm import __version__
from ptxmm.cli import main
from ptxmm.pool import Pool

ROOT = Path(__file__).parent.parent

TEST = """\
ptx {name}
"A message."

.global .u32 x = 0;
.global .u32 f = 0;

thread P @ d0.c0.b0 {{
    st.relaxed.gpu.global.u32 [x], 1;
    st.{release}.gpu.global.u32 [f], 1;
}}
thread C @ d0.c1.b1 {{
    ld.acquire.gpu.global.u32 r0, [f];
    ld.relaxed.gpu.global.u32 r1, [x];
}}

~exists (C.r0 == 1 && C.r1 == 0)

expect {expect};
"""


def write(folder: Path, name: str = "mp", release: str = "release", expect: str = "forbidden") -> Path:
    path = folder / f"{name}.lit"
    path.write_text(TEST.format(name=name, release=release, expect=expect), encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of a command line."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    return int(ended.value.code or 0), shown.out, shown.err


def process(*arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    command = [sys.executable, "-m", "ptxmm", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)


# --- exit codes ------------------------------------------------------------------------------------------------------


def test_0_when_all_is_as_expected(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "check", write(tmp_path))
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split()[:4] == ["✓", "mp", "ptx-9.4", "forbidden"]
    assert out.splitlines()[-1].startswith("1 test, 1 verdict: 1 as expected; ")


def test_1_when_something_differs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "check", write(tmp_path, release="relaxed"))
    assert code == 1
    assert "expected forbidden, got allowed" in out


def test_2_when_a_file_cannot_be_read_and_the_others_are_decided(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write(tmp_path, "a")
    (tmp_path / "b.lit").write_text("ptx b\nthread P @ d0 { bogus; }\n")
    write(tmp_path, "c")
    code, out, err = run(capsys, "check", tmp_path)
    assert code == 2
    assert [line.split()[1] for line in out.splitlines()[:3]] == ["a", "b", "c"]
    assert out.splitlines()[1].split()[-3:-2] == ["error"]
    assert "b.lit:2:" in err


def test_3_when_only_unknown_is_in_the_way(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "spin.lit"
    path.write_text(
        "ptx spin\n.global .u32 x = 0;\n.global .u32 y = 0;\n"
        "thread A @ d0.b0 { do { ld.weak r0, [x]; add.u32 r1, r1, 1; st.weak [y], r1; } while (r0 != 1); }\n"
        "thread B @ d0.b1 { st.weak [x], 1; }\n~exists (A.r1 == 30)\nexpect forbidden;\n"
    )
    code, out, _ = run(capsys, "check", path, "--bound", "2")
    assert code == 3
    assert out.startswith("? spin")
    assert "cut" in out


def test_0_when_nothing_is_expected(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "check", write(tmp_path), "-m", "sc")
    assert code == 0
    assert "nothing expected" in out


# --- what is asked ---------------------------------------------------------------------------------------------------


def test_a_test_is_asked_under_the_models_it_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, release="relaxed", expect="allowed, no race; expect forbidden under sc, ptx-6.0")
    code, out, _ = run(capsys, "check", path, "--format", "json")
    results = json.loads(out)["results"]
    assert [(r["model"], r["ok"]) for r in results] == [("ptx-9.4", True), ("sc", True), ("ptx-6.0", False)]
    assert [r["race"]["verdict"] for r in results] == ["no", "not asked", "not asked"]
    assert code == 1


def test_the_models_of_the_command_line_come_instead(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = tmp_path / "own.cat"
    own.write_text('"mine"\nacyclic po | rf as mine\n')
    _, out, _ = run(capsys, "check", write(tmp_path), "-m", "sc", "-m", own, "--format", "json")
    assert [r["model"] for r in json.loads(out)["results"]] == ["sc", "own"]


def test_properties_are_asked_for_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = run(capsys, "check", write(tmp_path), "--property", "race,outcome", "--format", "json")
    assert json.loads(out)["results"][0]["race"]["verdict"] == "no"


def test_both_engines_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for engine in ("z3", "enumeration"):
        code, out, _ = run(capsys, "check", write(tmp_path), "--engine", engine)
        assert (code, out.split()[3]) == (0, "forbidden")


def test_k_selects_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("mp", "mp+late", "sb"):
        write(tmp_path, name)
    _, out, _ = run(capsys, "check", tmp_path, "-k", "m*+")
    assert [line.split()[1] for line in out.splitlines()[:-1]] == ["mp+late"]


def test_k_that_matches_nothing_is_a_mistake(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "check", write(tmp_path), "-k", "nothing")
    assert code == 2
    assert "no test matches" in err


def test_x_stops_at_the_first_surprise(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(tmp_path, "a")
    write(tmp_path, "b", expect="allowed")
    write(tmp_path, "c")
    code, out, _ = run(capsys, "check", "-x", tmp_path)
    assert code == 1
    assert [line.split()[1] for line in out.splitlines() if line[0] in "✓✗"] == ["a", "b"]


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_results_come_in_the_order_of_the_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, jobs: str) -> None:
    names = [f"t{n:02}" for n in range(40)]
    for n, name in enumerate(names):
        write(tmp_path, name, release="relaxed" if n % 2 else "release")
    code, out, _ = run(capsys, "check", tmp_path, "-j", jobs, "--format", "json")
    assert code == 1
    results = json.loads(out)["results"]
    assert [r["test"] for r in results] == names
    assert [r["verdict"] for r in results] == ["forbidden", "allowed"] * 20


def test_folders_globs_and_files_may_be_mixed_and_each_file_counts_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    below = tmp_path / "below"
    below.mkdir()
    write(below, "deep")
    path = write(tmp_path, "flat")
    (tmp_path / "notes.txt").write_text("no test")
    code, out, _ = run(capsys, "check", tmp_path, path, tmp_path / "*.lit")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()[:-1]] == ["deep", "flat"]


# --- formats ---------------------------------------------------------------------------------------------------------


def test_json_and_sarif_alone_are_on_standard_output(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "bad.lit").write_text("ptx")
    code, out, err = run(capsys, "check", tmp_path, "--format", "json")
    assert code == 2
    assert [r["verdict"] for r in json.loads(out)["results"]] == ["error", "forbidden"]
    assert "bad.lit" in err
    _, out, _ = run(capsys, "check", tmp_path, "--format", "sarif")
    assert json.loads(out)["version"] == "2.1.0"


def test_witness_shows_the_execution(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = run(capsys, "check", write(tmp_path, release="relaxed", expect="allowed"), "--witness")
    assert "P @ d0.c0.b0" in out
    assert "x = 0" in out
    assert "\n    fr " in out


def test_witness_shows_the_axioms(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = run(capsys, "check", "--witness", write(tmp_path))
    assert "forbidden by causality" in out.lower()


def test_a_witness_shows_no_synchronisation_that_the_verdict_did_not_depend_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    own = tmp_path / "own.cat"
    own.write_text('"own"\nlet sync = syncbar | sync_fence\nempty rmw & (fr; co) as atomic\n')
    code, out, err = run(capsys, "check", ROOT / "litmus" / "basic" / "SB.lit", "-m", own, "--witness")
    assert (code, err) == (0, "")
    assert "\n    fr " in out
    assert "\n    sync " not in out


def test_witness_with_a_folder_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, release="relaxed", expect="allowed")
    code, _, _ = run(capsys, "check", path, "--witness", tmp_path / "drawn" / "here")
    assert code == 0
    drawn = sorted(p.name for p in (tmp_path / "drawn" / "here").iterdir())
    assert drawn == ["mp.ptx-9.4.dot", "mp.ptx-9.4.svg"]


def test_witness_into_a_folder_that_cannot_be_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, release="relaxed", expect="allowed")
    code, _, err = run(capsys, "check", path, "--witness", path / "below")
    assert code == 2
    assert "cannot be written" in err


def test_outcomes_are_complete(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "outcomes", write(tmp_path))
    assert code == 0
    assert out.splitlines()[:5] == [
        "Test mp Forbidden", "States 3", "C:r0=0; C:r1=0;", "C:r0=0; C:r1=1;", "C:r0=1; C:r1=1;",
    ]  # fmt: skip
    assert "Observation mp Never 0 3" in out


def test_models_lists_every_model(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "models")
    assert code == 0
    assert [line for line in out.splitlines() if not line.startswith(" ") and line] == [
        "ptx-6.0", "ptx-7.5", "ptx-9.4 (default)", "ptx-9.4-literal", "ptx-9.4-strict", "sc",
    ]  # fmt: skip
    _, out, _ = run(capsys, "models", "--format", "json")
    assert [m["name"] for m in json.loads(out)["models"] if m["default"]] == ["ptx-9.4"]


@pytest.mark.parametrize("form", ["program", "events", "smt2", "lit", "dot"])
def test_show_has_five_forms(capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str) -> None:
    code, out, err = run(capsys, "show", write(tmp_path, release="relaxed"), "--as", form)
    assert (code, err) == (0, "")
    part = {"smt2": "(check-sat)", "dot": "digraph"}.get(form, "st.relaxed.gpu.global.u32 [x], 1")
    assert part in out


def test_what_show_prints_as_lit_is_the_same_test(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = run(capsys, "show", write(tmp_path), "--as", "lit")
    again = tmp_path / "again.lit"
    again.write_text(out)
    code, out, _ = run(capsys, "check", again)
    assert (code, out.split()[3]) == (0, "forbidden")


# --- hostile input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "nowhere.lit"],
        ["check", "nowhere*.lit"],
        ["check", ""],
        ["check", "\0"],
        ["check", "a" * 5000],
        ["check", "."],
        ["check", "mp.lit", "-m", "ptx-9.5"],
        ["check", "mp.lit", "-m", "nowhere.cat"],
        ["check", "mp.lit", "-m", "."],
        ["check", "mp.lit", "-m", ""],
        ["check", "mp.lit", "--bound", "0"],
        ["check", "mp.lit", "--bound", "x"],
        ["check", "mp.lit", "--timeout", "0"],
        ["check", "mp.lit", "--timeout", "nan"],
        ["check", "mp.lit", "--timeout", "-1"],
        ["check", "mp.lit", "-j", "0"],
        ["check", "mp.lit", "--property", "speed"],
        ["check", "mp.lit", "--format", "xml"],
        ["check", "mp.lit", "--engine", "oracle"],
        ["check", "mp.lit", "--from", "word"],
        ["check", "mp.lit", "--nonsense"],
        ["outcomes", "nowhere.lit"],
        ["show", "nowhere.lit"],
        ["show"],
        ["show", "mp.lit", "-k", "zzz"],
        ["run", "mp.lit", "-k", "zzz", "--emit", "made"],
        ["run", "mp.lit", "--seconds", "nan"],
        ["run", "mp.lit", "--emit", "mp.lit"],
        ["run", "mp.lit", "--emit", "mp.lit/below"],
        ["compare", "mp.lit", "--timeout", "nan"],
        ["measure", "--all", "--seconds", "nan"],
        ["measure", "--all", "--from", "mp.lit"],
        ["measure", "wait-cost", "--all"],
        ["prove"],
        ["prove", "nothing-between", "--all"],
        ["prove", "nothing-between", "--timeout", "nan"],
        ["models", "extra"],
    ],
    ids=lambda words: " ".join(words)[:40].replace("\0", "NUL"),
)
def test_a_wrong_command_line_is_a_sentence_and_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    write(tmp_path)
    monkeypatch.chdir(empty if arguments[-1] == "." and len(arguments) == 2 else tmp_path)
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert err.strip()
    assert "please report" not in err


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\0" * 100, b"\xff\xfe\x00", b"ptx", "ptx é\n".encode("latin-1"), b"ptx x\n" + b"(" * 100_000,
        b"ptx x\nthread A @ d0.b0 {" + b"if (1) {" * 5000, b"ptx x\n.global .u32 a[99999999999999];\n",
        b"ptx x\n.global .u32 x = 0x" + b"f" * 9999 + b";\n", random.Random(1).randbytes(2000), b"\r\n\r\n", b'ptx "',
    ],
    ids=lambda content: repr(content[:16]),
)  # fmt: skip
@pytest.mark.parametrize("ending", [".lit", ".litmus", ".test"])
def test_a_hostile_file_is_an_error_with_its_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str, content: bytes
) -> None:
    path = tmp_path / f"hostile{ending}"
    path.write_bytes(content)
    code, _, err = run(capsys, "check", path)
    assert code == 2
    assert "hostile" in err
    assert "please report" not in err


def test_a_folder_with_a_tests_name_a_broken_link_and_an_unreadable_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "folder.lit").mkdir()
    (tmp_path / "link.lit").symlink_to(tmp_path / "gone.lit")
    locked = write(tmp_path, "locked")
    locked.chmod(0)
    write(tmp_path, "mp")
    code, out, err = run(capsys, "check", tmp_path)
    assert code == 2
    assert "✓ mp" in out
    assert "link.lit" in err
    assert ("locked.lit" in err) or os.access(locked, os.R_OK)


def test_a_file_name_that_is_no_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff.lit")
    with open(path, "wb") as file:
        file.write(TEST.format(name="mp", release="release", expect="forbidden").encode())
    for output in ("text", "json", "sarif"):
        code, out, err = run(capsys, "check", tmp_path, "--format", output)
        assert (code, err) == (0, "")
        assert "forbidden" in out
    done = process("check", tmp_path, "--format", "json")
    assert json.loads(done.stdout)["results"][0]["verdict"] == "forbidden"


def test_what_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path)
    for below in (path, path / "below"):
        code, out, err = run(capsys, "run", path, "--emit", below)
        assert (code, out) == (2, "")
        assert err.startswith(f"ptxmm: {below}: cannot be written: ")


def test_a_model_that_is_named_twice_is_asked_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = run(capsys, "check", write(tmp_path), "-m", "ptx-9.4", "-m", "sc", "-m", "ptx-9.4")
    assert [line.split()[2] for line in out.splitlines()[:-1]] == ["ptx-9.4", "sc"]


def test_lists_are_json_where_json_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "prove", "--list", "--format", "json")
    assert {"name", "statement"} == set(json.loads(out)["theorems"][0])
    _, out, _ = run(capsys, "measure", "--list", "--json")
    assert {"name", "asks", "claims"} == set(json.loads(out)[0])


def test_an_installation_without_its_packages_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'lark.lexer'", name="lark.lexer")

    monkeypatch.setattr("ptxmm.batch.read_programs", missing)
    code, _, err = run(capsys, "check", write(tmp_path))
    assert code == 2
    assert "the package lark is missing: install ptxmm with pip, which brings it along" in err


def test_a_mistake_of_ours_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("ptxmm.check.check", broken)
    monkeypatch.delenv("PTXMM_DEBUG", raising=False)
    code, out, err = run(capsys, "check", write(tmp_path), "-j", "1")
    assert code == 2
    assert out.startswith("! mp")
    assert "ZeroDivisionError (oops)" in err
    assert "please report" in err


# --- as a process ----------------------------------------------------------------------------------------------------


def test_the_version() -> None:
    assert process("--version").stdout == f"ptxmm {__version__}\n"


def test_a_pipe_gets_no_colour_and_no_bar_even_where_unicode_is_missing(tmp_path: Path) -> None:
    done = process("check", write(tmp_path), PYTHONIOENCODING="ascii", FORCE_COLOR="1")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_text_into_a_pipe_loads_neither_rich_nor_networkx(tmp_path: Path) -> None:
    code = (
        "import sys; from ptxmm.cli import cli; cli.main(['check', sys.argv[1]], standalone_mode=False);"
        "assert not {'rich', 'networkx', 'multiprocessing'} & set(sys.modules), sorted(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code, str(write(tmp_path))], check=True, env=environment, timeout=60)


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    for n in range(30):
        write(tmp_path, f"t{n}")
    command = f"{sys.executable} -m ptxmm outcomes {tmp_path} -j 1 | head -1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60
    )
    assert done.stdout == "Test t0 Forbidden\n"
    assert done.stderr == ""


def test_a_process_that_is_killed_costs_one_item_and_not_the_others() -> None:
    assert list(Pool(fragile, range(12), lambda item: -item, 3).ordered()) == [
        0,
        1,
        4,
        -3,
        16,
        25,
        36,
        -7,
        64,
        81,
        100,
        121,
    ]


def fragile(item: int) -> int:
    if item in (3, 7):
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_when_ptxmm_is_killed(tmp_path: Path, sent: signal.Signals) -> None:
    for n in range(400):
        write(tmp_path, f"t{n}")
    command = [sys.executable, "-m", "ptxmm", "check", str(tmp_path), "-j", "3"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(sent)
        running.communicate(timeout=30)
    for _ in range(100):
        if not subprocess.run(["pgrep", "-g", str(running.pid)], capture_output=True).stdout:
            return
        time.sleep(0.1)
    pytest.fail("a worker is still there")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_it_with_one_line(tmp_path: Path, jobs: str) -> None:
    for n in range(400):
        write(tmp_path, f"t{n}")
    command = [sys.executable, "-m", "ptxmm", "check", str(tmp_path), "-j", jobs]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        os.killpg(running.pid, signal.SIGINT)
        start = time.monotonic()
        _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert err.strip() == "ptxmm: interrupted"
    assert time.monotonic() - start < 5


def test_a_question_that_is_given_up_is_unknown_and_not_without_condition(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = 'ptx many\n"Sixty additions to one word in one thread."\n.global .u32 x = 0;\nthread A @ d0.c0.b0 {\n'
    text += "    atom.relaxed.gpu.global.add.u32 r0, [x], 1;\n" * 60 + "}\nexists (x == 3)\n"
    path = tmp_path / "many.lit"
    path.write_text(text, encoding="utf-8")
    code, out, _ = run(capsys, "check", path, "--timeout", "0.001", "-j", "1")
    assert "unknown: time-out" in out
    assert code == 3


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("prove nosuch", "ptxmm: no theorem is called `nosuch`"),
        ("check mp.lit -m nosuch", "ptxmm: no model is called `nosuch`"),
        ("check README.md", "README.md: error: no reader for the ending `.md`"),
        ("compare runs.jsonl", "ptxmm: runs.jsonl: there is no such file or folder"),
        ("compare runs.jsonl.gz", "ptxmm: runs.jsonl.gz: there is no such file or folder"),
        ("compare *.jsonl", "ptxmm: *.jsonl: no file matches"),
        ("compare README.md", "ptxmm: README.md:1:1: error: this is no line of a log of `ptxmm run`"),
        (
            "compare README.gz",
            "ptxmm: README.gz: error: cannot read the file: it is not a whole log compressed by gzip",
        ),
        ("compare .", "ptxmm: .: error: this is a folder, not a log"),
        ("measure --from README.md", "ptxmm: README.md: error: this is not what `ptxmm measure --json` writes"),
    ],
)
def test_a_message_names_a_line_only_where_there_is_one_and_speaks_no_python(
    command: str, told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    for name in ("README.md", "README.gz"):
        (tmp_path / name).write_text("# A page\n", encoding="utf-8")
    code, _, err = run(capsys, *command.split())
    assert (code, err.splitlines()[0]) == (2, told)


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("compare README.md", "`ptxmm run --log FILE` writes a log; what it prints is none"),
        ("measure --from README.md", "`ptxmm measure NAME --json > FILE` writes such a file"),
        ("compare packed", "a compressed log must end in `.gz`"),
        ("compare .", "name a file in it"),
        ("run runs.jsonl.gz --emit ptx", "a log of `ptxmm run` is read by `ptxmm compare`"),
        ("run runs.jsonl --emit ptx", "a log of `ptxmm run` is read by `ptxmm compare`"),
        ("check own.cat", "a model is named by `-m`"),
    ],
)
def test_a_file_that_is_for_something_else_is_answered_with_what_it_is_for(
    command: str, hint: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("README.md", "runs.jsonl", "own.cat"):
        (tmp_path / name).write_text("# A page\n", encoding="utf-8")
    for name in ("packed", "runs.jsonl.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"a log"))
    assert run(capsys, *command.split())[2].splitlines()[-1] == f"  hint: {hint}"


def test_an_unknown_ending_is_answered_with_the_option(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mp.txt").write_text("ptx mp\n", encoding="utf-8")
    assert "hint: name the format: `--from lit|dartagnan|nvidia`" in run(capsys, "check", tmp_path / "mp.txt")[2]


@pytest.mark.parametrize("command", ["show", "outcomes"])
def test_a_command_that_compares_nothing_has_no_exit_code_for_a_difference(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "differs from what its test expects" in run(capsys, "check", "--help")[1]
    assert "differs" not in run(capsys, command, "--help")[1]
