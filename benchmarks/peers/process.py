"""A peer at work in a process of its own, which stands still unless it is asked something."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.peers.environments import RUNNERS
from benchmarks.rounds import allocator

ROOT = Path(__file__).parents[2]
#: Seconds that an answer may take.
PATIENCE = 900


class Failed(Exception):
    """The process ended or did not answer; the text is the last thing it said."""


class Process:
    """A context. ``ask`` lets the process run until it has answered, and stops it again: threads
    that wait for work by turning in circles would take the processor from the others."""

    def __init__(self, peer: str, workload: str):
        self.command = [RUNNERS[peer].python, "-m", "benchmarks.peers.serve", peer, workload]

    def __enter__(self) -> Process:
        with ExitStack() as stack:
            # Some peers leave files where they are started.
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            self.said = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
                text=True, cwd=folder, env={**allocator(), **os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip
            self.stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()
        self.stack.close()

    def ask(self, *words: str) -> Any:
        """The answer. Raises Failed where there is none."""
        assert self.process.stdin is not None and self.process.stdout is not None
        line = ""
        try:
            self.process.send_signal(signal.SIGCONT)
            print(*words, file=self.process.stdin, flush=True)
            if select.select([self.process.stdout], [], [], PATIENCE)[0]:
                line = self.process.stdout.readline()
            self.process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        except (BrokenPipeError, ChildProcessError):  # it ended
            pass
        if not line:
            self.said.seek(0)
            raise Failed((self.said.read().strip().splitlines() or ["no answer"])[-1])
        return json.loads(line)
