"""CUDA graphs: a sequence of kernels recorded once and then launched as one, so that Python's pace no longer matters.

A decoding step of a 7B model is some thousand kernels of a few microseconds each; launched one by one, the GPU waits for the
host most of the time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

MAX_GRAPHS = 64
"""Graphs kept at a time; the one that was not used for longest goes first."""


class Graphs:
    """Runs functions that read and write only tensors that stay where they are; on CUDA replays them as graphs.

    A function is recorded when its key comes for the second time: the first time it runs as it is, which loads what its
    kernels need (recording may not) and costs nothing extra for what comes only once. All graphs share one memory pool, so
    temporary tensors of one are overwritten by the next: what a function gives must be copied into a tensor that was there
    before. Off CUDA every call runs the function.
    """

    def __init__(self, device: torch.device, say: Callable[[str], None], limit: int = MAX_GRAPHS) -> None:
        """`say` is told, once, if recording fails; from then on every call runs the function."""
        import torch

        self._device, self._say, self._limit = device, say, limit
        self._graphs: OrderedDict[Hashable, torch.cuda.CUDAGraph | None] = OrderedDict()
        """None: run once, not recorded yet."""
        self._recording = device.type == "cuda"
        if self._recording:
            self._stream = torch.cuda.Stream(device)
            self._pool = torch.cuda.graph_pool_handle()

    def __len__(self) -> int:
        """Recorded graphs."""
        return sum(graph is not None for graph in self._graphs.values())

    @property
    def recording(self) -> bool:
        return self._recording

    def run(self, key: Hashable, function: Callable[[], None]) -> None:
        """Run `function`, or replay what it did when it had this `key`."""
        import torch

        if not self._recording:
            function()
            return
        with torch.cuda.device(self._device):
            if key not in self._graphs:
                self._run_aside(function)
                self._keep(key, None)
                return
            graph = self._graphs[key] or self._record(function)
            if graph is None:
                function()
                return
            self._keep(key, graph)
            graph.replay()

    def clear(self) -> None:
        """Forget all, because tensors have moved. Their memory is free for other things afterwards."""
        import torch

        if self._recording:
            torch.cuda.synchronize(self._device)
            self._pool = torch.cuda.graph_pool_handle()
        self._graphs.clear()

    def _keep(self, key: Hashable, graph: torch.cuda.CUDAGraph | None) -> None:
        self._graphs[key] = graph
        self._graphs.move_to_end(key)
        if len(self._graphs) > self._limit:
            self._graphs.popitem(last=False)

    def _run_aside(self, function: Callable[[], None]) -> None:
        """On the stream that records later: the matrix library keeps its working memory by stream."""
        import torch

        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            function()
        current.wait_stream(self._stream)

    def _record(self, function: Callable[[], None]) -> torch.cuda.CUDAGraph | None:
        """None if it cannot be recorded. Recording runs nothing."""
        import torch

        graph = torch.cuda.CUDAGraph()
        try:
            # the outer context puts the stream back when the inner one fails to end its recording; other threads may use
            # the device meanwhile, hence thread_local
            with (
                torch.cuda.stream(torch.cuda.current_stream()),
                torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"),
            ):
                function()
        except RuntimeError as error:  # torch.AcceleratorError and OutOfMemoryError are kinds of it
            self._recording = False
            self._graphs.clear()
            # a failure to end the recording hides what ended it
            first = error.__context__ if isinstance(error.__context__, RuntimeError) else error
            reason = next(iter(str(first).splitlines()), type(first).__name__)
            self._say(f"CUDA graphs are off, decoding steps are launched one kernel at a time, which is slower: {reason}")
            return None
        return graph
