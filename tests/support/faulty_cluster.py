"""A cluster of processes that can be made to fail."""

from __future__ import annotations

from contextlib import suppress

import psutil

from swoop.paper.standalone import Cluster


class FaultyCluster(Cluster):
    """Executors and workers that are killed or stopped, and workers that come back."""

    def kill_executor(self, worker: int) -> None:
        killed = 0
        for child in psutil.Process(self.workers[worker].pid).children():
            with suppress(psutil.Error):  # one that is gone
                if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline()):
                    child.kill()
                    killed += 1
        assert killed

    def kill_worker(self, worker: int) -> None:
        self.workers[worker].kill()
        self.workers[worker].wait(30)

    def stop_worker(self, worker: int) -> None:
        self.workers[worker].terminate()
        self.workers[worker].wait(30)

    def mend(self) -> None:
        """Bring back all workers that are gone."""
        for number, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self.bring_back(number)

    def bring_back(self, worker: int) -> None:
        self._end(self.workers[worker])  # what it may have left behind
        self.workers[worker] = self._start_worker()
