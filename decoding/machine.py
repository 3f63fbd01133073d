"""What a number was measured on: a figure without its machine is worth nothing."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decoding.backend import BackendInfo


def device_name(device: str) -> str:
    """The processor or accelerator behind a torch device string, e.g. `NVIDIA H100 80GB HBM3`."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.get_device_name(torch.device(device))
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


def gpu_name() -> str:
    """The first GPU that torch can use; empty where there is none."""
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""


def cpu_features() -> str:
    """What decides how fast few rows are multiplied here, e.g. `avx2 avx512f avx512_vnni avx512_bf16`; empty if unknown."""
    wanted = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "asimd", "asimddp", "i8mm")
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    named = next((line.partition(":")[2] for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return " ".join(name for name in wanted if name in named.split())


def signature(info: BackendInfo) -> str:
    """Device, threads, dtype, backend and torch: timings are comparable where these are equal."""
    import torch

    threads = "" if info.device.startswith("cuda") else f"{torch.get_num_threads()} threads; "
    return f"{device_name(info.device)}; {threads}{info.dtype}; {info.name}; torch {torch.__version__}"


def versions() -> dict[str, str]:
    """Of what decides speed and text."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in ("torch", "transformers")}}


def synchronise(device: str) -> None:
    """Wait until the device has done what it was given: without this a clock around CUDA calls times their launch."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize(torch.device(device))


def available_bytes() -> int | None:
    """Main memory that can be had without swapping; None where the system does not say (Linux does).

    The limits of a container and of the process (`ulimit -v`) count as well: `MemAvailable` of /proc/meminfo is the machine's.
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None
    free = min(free, _left_to_process(free))
    group = Path("/sys/fs/cgroup")
    try:
        most, used = (int((group / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no limit reads "max"
        return free
    return min(free, max(0, most - used))


def _left_to_process(otherwise: int) -> int:
    """Bytes that this process may still map by its own limit; `otherwise` where it has none."""
    import resource  # not on Windows, where /proc is not either

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return otherwise
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return max(0, limit - pages * resource.getpagesize())
