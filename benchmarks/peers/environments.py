"""The peers, and an environment for each: ``python -m benchmarks.peers.environments [names]``.

Versions are pinned here and nowhere else. An environment that cannot be made leaves the reason in
its folder, and the results tell it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".bench"

ENVIRONMENTS = {
    "autograd": ("autograd==1.9.1", "scipy==1.17.1", "numpy==2.4.6"),
    "torch": ("torch==2.13.0", "numpy==2.4.6"),
    "jax": ("jax==0.10.2", "jaxlib==0.10.2", "numpy==2.4.6"),
    "mindspore": ("mindspore==2.10.0", "numpy<2"),
}


@dataclass(frozen=True)
class Peer:
    """``title`` is for tables, ``package`` the one whose version is told; ``environment`` is None
    for the one that measures.

    Where ``counted``, NumPy and Python allocate all memory, which ``tracemalloc`` counts exactly.
    ``tolerance`` is what its answers may be off, where that is more than a workload grants.
    ``notes`` tells what is not as in the other peers, by workload.
    """

    title: str
    package: str
    environment: str | None = None
    counted: bool = False
    tolerance: float = 0.0
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def python(self) -> str:
        """The interpreter that runs it."""
        if self.environment is None:
            return sys.executable
        return str(FOLDER / self.environment / "bin" / "python")

    @property
    def missing(self) -> str:
        """Why there is no environment for it; empty where there is one."""
        if self.environment is None or _is_ready(self.environment):
            return ""
        reason = _reason(self.environment)
        return reason.read_text("utf-8") if reason.is_file() else "not installed: make bench-envs"


BOUNDED = (
    "has no reverse derivative of a loop without a bound: runs 64 times, and what is over keeps "
    "its value"
)
#: By the name of the runner's file. Ours is measured beside other systems at level 2.
PEERS = {
    "hand": Peer("hand", "numpy", counted=True),
    "ours": Peer("ours", "numpy", counted=True),
    "hips_autograd": Peer(
        "autograd",
        "autograd",
        "autograd",
        counted=True,
        notes={"graph": "has no derivative of a sum by segments: edges stand in a matrix"},
    ),
    "torch_eager": Peer("torch", "torch", "torch"),
    "torch_compiled": Peer(
        "torch.compile",
        "torch",
        "torch",
        notes={"adaptive": "compiles no loop in which a branch hangs on data: runs as it is"},
    ),
    "jax_jit": Peer("jax.jit", "jax", "jax", notes={"while": BOUNDED, "adaptive": BOUNDED}),
    "mindspore_graph": Peer(
        "MindSpore",
        "mindspore",
        "mindspore",
        tolerance=1e-3,
        notes={
            "norm_gelu": "is off by up to 7.5e-4",
            "adaptive": "is off by up to 3e-4",
            "heat": "its gradients are right in the first call, and wrong from the second on",
        },
    ),
}


#: Ours at level 1: ``python -m benchmarks`` measures both levels.
DEFAULT = "ours_default"
#: Ours as C.
C = "ours_c"
#: All that can be measured.
RUNNERS = {
    **PEERS,
    DEFAULT: Peer("ours, -O1", "numpy", counted=True),
    C: Peer("ours, C", "numpy"),
}


def make(name: str) -> str:
    """Makes an environment anew, unless it has these packages; returns why it could not."""
    packages = ENVIRONMENTS[name]
    if _is_ready(name):
        return ""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    run = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages]
    for command in ([sys.executable, "-m", "venv", str(folder)], run):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "ERROR" in line] or ["ERROR: ?"]
            why = f"{' '.join(packages)} could not be installed: {said[-1].partition(': ')[2]}"
            folder.mkdir(parents=True, exist_ok=True)
            _reason(name).write_text(why, "utf-8")
            return why
    _stamp(name).write_text("\n".join(packages), "utf-8")
    return ""


def _is_ready(name: str) -> bool:
    """Whether it is there, with these very versions."""
    stamp = _stamp(name)
    return stamp.is_file() and stamp.read_text("utf-8").split() == list(ENVIRONMENTS[name])


def _stamp(name: str) -> Path:
    return FOLDER / name / "installed.txt"


def _reason(name: str) -> Path:
    return FOLDER / name / "failed.txt"


def main(names: list[str]) -> int:
    """Makes the environments of these names, or all; what fails does not stop the others."""
    for name in names or ENVIRONMENTS:
        print(f"{name}: {make(name) or 'ready'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
