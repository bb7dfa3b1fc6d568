"""Sweeps on Ray: the rows of `predict_many` and `advise_many`, made by a cluster. They are those of one process, byte for byte.

A worker that dies is replaced, and its chunk is made again. Files that are named must be there on every node; an `Environment`, a `Plan` and a
`Need` carry their text with them.
"""

import ray

from . import _chunks, join


def _swept(function, things, *rest):
    first, chunks = _chunks.chunks(function, things, *rest)
    task = ray.remote(num_cpus=1, max_retries=10)(function)
    return join([*first, *ray.get([task.remote(chunk, *rest) for chunk in chunks])])


def sweep(environments, plans, **options):
    """Every plan on every environment: `predict_many(..., table=True)` on Ray's workers."""
    return _swept(_chunks.predicted, environments, plans, options)


def advise_sweep(needs, **options):
    """Advice for every need: `advise_many` on Ray's workers."""
    return _swept(_chunks.advised, needs, options)
