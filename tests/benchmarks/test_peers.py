"""Measuring in processes of their own, and what the tables say of it. No peer need be installed."""

from __future__ import annotations

import ast
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.measure import Result, measure
from benchmarks.peers import __main__ as peers
from benchmarks.peers import environments
from benchmarks.peers.__main__ import MARKS
from benchmarks.peers.environments import DEFAULT, ENVIRONMENTS, PEERS, C
from benchmarks.peers.ours import class_name
from benchmarks.peers.process import Failed, Process
from benchmarks.rounds import interleaved, repeated
from benchmarks.table import brief, full, mean, short
from benchmarks.workloads import WORKLOADS

FOLDER = Path(environments.__file__).parent


@pytest.mark.thorough
def test_ours_and_the_hand_written_one_answer_from_their_processes(monkeypatch, tmp_path):
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    hand, ours, jax = measure("line", ["hand", "ours", "jax_jit"], rounds=2)
    assert hand.seconds > 0 and ours.seconds > 0
    assert ours.first > ours.seconds and ours.again > ours.seconds
    assert 0 < hand.allocated < ours.allocated < 2**20
    assert jax.seconds is None and jax.reason == "not installed: make bench-envs"
    text = full([hand, ours, jax])
    assert "- jax.jit, line: not installed: make bench-envs" in text
    assert f"| line | 1.00 | {ours.seconds / hand.seconds:.2f} | – |" in text


def test_who_fails_in_a_round_does_not_stop_the_others(monkeypatch):
    ask = Process.ask

    def asked(self, *words):
        if words == ("round",) and "ours" in self.command:
            raise Failed("no memory")
        return ask(self, *words)

    monkeypatch.setattr(Process, "ask", asked)
    hand, ours = measure("line", ["hand", "ours"], rounds=2, starts=1)
    assert hand.seconds > 0 and hand.allocated > 0
    assert ours == Result("line", "ours", reason="failed: no memory")


def test_a_process_that_fails_says_why():
    with Process("hand", "nothing") as process, pytest.raises(Failed, match="KeyError: 'nothing'"):
        process.ask("first")


def test_a_process_stands_still_until_it_is_asked():
    with Process("hand", "line") as process:
        process.ask("first")
        status = Path(f"/proc/{process.process.pid}/status").read_text()
        assert "State:\tT" in status
        process.ask("warm")
        assert process.ask("round") > 0


@pytest.mark.parametrize(
    "path", sorted((FOLDER / "programs").glob("[!_]*.py")), ids=lambda path: path.stem
)
def test_each_peer_has_every_program(path):
    tree = ast.parse(path.read_text("utf-8"))
    names = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    programs = {make().program for name, make in WORKLOADS.items() if name != "chain_1e7"}
    assert not [each for each in programs if not {each, class_name(each)} & names]


def test_the_environments_are_those_of_the_peers():
    assert {peer.environment for peer in PEERS.values()} - {None} == set(ENVIRONMENTS)


def test_what_cannot_be_installed_is_told_from_then_on(monkeypatch, tmp_path):
    monkeypatch.setattr(environments, "FOLDER", tmp_path)

    def run(command, **options):
        failed = "install" in command
        return subprocess.CompletedProcess(command, int(failed), "", "...\nERROR: no such version")

    monkeypatch.setattr(subprocess, "run", run)
    assert environments.make("jax").endswith("could not be installed: no such version")
    assert PEERS["jax_jit"].missing.startswith("jax==")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 0))
    (tmp_path / "jax").mkdir(exist_ok=True)
    monkeypatch.setattr(environments.shutil, "rmtree", lambda *a, **k: None)
    assert environments.make("jax") == "" == PEERS["jax_jit"].missing


def test_rounds_begin_with_another_each_time():
    asked = []
    times = interleaved(
        {name: lambda name=name: asked.append(name) or float(len(asked)) for name in "abc"}, 3
    )
    assert "".join(asked) == "abcbcacab"
    assert times == {"a": 6.0, "b": 4.0, "c": 5.0}


def test_a_round_repeats_what_is_quick():
    calls = []
    one_round = repeated(lambda: calls.append(0), 0.002)
    before = len(calls)
    assert one_round() > 0
    assert len(calls) > before + 10


def results():
    a, b = "rnn", "graph"
    rows = [(a, "hand", 2.0), (a, "ours", 1.0), (b, "hand", 1.0), (b, "ours", 2.0)]
    rows += [(a, DEFAULT, 4.0), (b, DEFAULT, 2.0), (a, C, 0.5), (b, C, 0.25)]
    return [Result(workload, peer, seconds, allocated=100) for workload, peer, seconds in rows]


def test_the_table_ends_in_the_geometric_mean():
    assert mean(results(), "ours") == pytest.approx(1.0)
    shares = "2.00 | 0.50 | 1.10 | 0.25 | 0.65 | 1.00 | 1.00"
    assert f"| rnn | {shares} | 0 ms | 0 ms | 0 ms |" in brief(results())
    assert "| geometric mean | 2.00 | 1.00 | 1.00 | 0.25 | 0.22 | | | | | |" in brief(results())


def test_what_is_outside_its_limit_is_told():
    assert brief(results()).endswith(
        "\nOutside the limits: graph (time 2.00), the mean of C (0.25)."
    )
    rows = [replace(each, workload="while", first=1.0) for each in results()[:2]]
    assert "\nAll within the limits.\n" in short(rows)
    rows[1] = replace(rows[1], seconds=8.0, allocated=120)
    slow = Result("while", "jax_jit", 1.0, first=4.0)
    told = "while (time 4.00), while (memory 1.20), while (JAX's first call 4.0 ours), the mean"
    assert f"Outside the limits: {told} (4.00)." in short([*rows, slow])


@pytest.fixture
def written(monkeypatch, tmp_path):
    """Where a page is written, and not drawn."""
    (tmp_path / "README.md").write_text(f"a\n{MARKS[0]}old\n{MARKS[1]}b\n")
    monkeypatch.setattr(peers, "README", tmp_path / "README.md")
    monkeypatch.setattr(peers, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(peers, "describe", lambda: "a machine")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 1))
    return tmp_path


def test_what_is_written_is_shown(written, monkeypatch):
    """Workload by workload; what is measured anew replaces what was, and nothing else."""
    asked = []

    def measured(workload, names, rounds, starts):
        asked.append((workload, rounds))
        return [Result(workload, name, float(len(asked))) for name in names]

    monkeypatch.setattr(peers, "measure", measured)
    assert peers.main(["--write", "line", "seed_net"]) == 0
    assert peers.main(["--write", "--rounds", "3", "line"]) == 0
    assert asked == [("line", 15), ("seed_net", 15), ("line", 3)]
    found = peers.read()
    assert [(each.workload, each.peer) for each in found] == [
        (workload, peer) for workload in ("seed_net", "line") for peer in PEERS
    ]
    assert found[-1].seconds == 3.0 and found[-1].machine == "a machine"
    readme = (written / "README.md").read_text()
    assert readme == f"a\n{MARKS[0]}{short(found)}\n{MARKS[1]}b\n"
    assert (written / "results" / "peers.md").read_text() == f"{full(found)}\n"


def test_a_part_of_the_peers_is_not_written(written, capsys):
    with pytest.raises(SystemExit):
        peers.main(["--write", "--of", "jax_jit", "line"])
    assert "--write takes all peers" in capsys.readouterr().err


def test_what_the_page_shows_was_measured():
    """The tables of the page are those of the figures, and of every workload."""
    found = peers.read()
    assert short(found) in peers.README.read_text("utf-8")
    assert (peers.RESULTS / "peers.md").read_text("utf-8") == f"{full(found)}\n"
    assert {each.workload for each in found} <= set(WORKLOADS)
    assert {each.peer for each in found} == set(PEERS)
