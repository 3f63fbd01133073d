"""k-means over prompt vectors: the anchors that a prompt is routed by (KNN-SSD, section 3.2). faiss does the clustering."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoding.knn.prompt_vectors import nearest, unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.api import Vectors

RESTARTS = 20
ROUNDS = 50
MOST_CLUSTERS = 10
"""Of a task or label; the original always takes this many."""
MIN_CLUSTER = 4
"""Prompts: a smaller cluster says nothing of the prompts to come."""
MIN_SILHOUETTE = 0.05
"""Below this, one cluster: on the scale of Rousseeuw (1987) such vectors have no structure."""


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """K clusters of N unit rows."""

    centroids: Vectors
    """(K, D), of length 1."""
    medoids: NDArray[np.int64]
    """(K,): the row nearest to each centroid."""
    of: NDArray[np.int64]
    """(N,): the cluster of each row."""
    silhouette: float | None = None
    """Mean over the rows, by cosine; None for one cluster."""

    @property
    def k(self) -> int:
        return len(self.centroids)


def cluster(rows: Vectors, *, k: int | None = None, seed: int = 0) -> Clusters:
    """Clusters of unit rows (N, D). Without `k`, the k in 1..10 with the best silhouette, no cluster being too small."""
    n = len(rows)
    if k is not None:
        return k_means(rows, min(k, n), seed)
    best = k_means(rows, 1, seed)
    for size in range(2, min(MOST_CLUSTERS, n // MIN_CLUSTER) + 1):
        tried = k_means(rows, size, seed)
        if tried.silhouette is None or min((tried.of == i).sum() for i in range(tried.k)) < MIN_CLUSTER:
            continue
        if tried.silhouette > (MIN_SILHOUETTE if best.silhouette is None else best.silhouette):
            best = tried
    return best


def k_means(rows: Vectors, k: int, seed: int) -> Clusters:
    """At most `k` clusters of unit rows (N, D); fewer when rows coincide. Lloyd's algorithm, the best of 20 starts."""
    import faiss
    import numpy as np

    data = np.ascontiguousarray(rows, dtype=np.float32)
    k = min(k, len(np.unique(data, axis=0)))
    if k == 1:
        centroids = unit(data.mean(axis=0, keepdims=True))
    else:
        means = faiss.Kmeans(
            data.shape[1], k, niter=ROUNDS, nredo=RESTARTS, seed=seed, min_points_per_centroid=1, verbose=False
        )
        with _one_thread(faiss):
            means.train(data)
        centroids = unit(np.asarray(means.centroids))
    of = nearest(data, centroids)
    used = np.unique(of)  # a start in a far corner may attract nothing
    centroids, of = centroids[used], np.searchsorted(used, of)
    cosines = data @ centroids.T  # (N, K)
    medoids = np.array([np.where(of == i, cosines[:, i], -np.inf).argmax() for i in range(len(used))])
    return Clusters(centroids, medoids, of, _silhouette(data, of))


def _silhouette(rows: Vectors, of: NDArray[np.int64]) -> float | None:
    from sklearn.metrics import silhouette_score

    k = int(of.max()) + 1
    return float(silhouette_score(rows, of, metric="cosine")) if 2 <= k < len(rows) else None


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    """Sums over several threads round differently from run to run."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
