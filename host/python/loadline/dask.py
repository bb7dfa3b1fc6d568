"""Sweeps on Dask: the rows of `predict_many` and `advise_many`, made by a cluster. They are those of one process, byte for byte.

A worker that dies is replaced, and its chunk is made again. Files that are named must be there on every node; an `Environment`, a `Plan` and a
`Need` carry their text with them.
"""

from distributed import get_client

from . import _chunks, join


def _swept(client, function, things, *rest):
    first, chunks = _chunks.chunks(function, things, *rest)
    client = client or get_client()
    futures = [client.submit(function, chunk, *rest, pure=False) for chunk in chunks]
    return join([*first, *client.gather(futures)])


def sweep(environments, plans, *, client=None, **options):
    """Every plan on every environment: `predict_many(..., table=True)` on the workers of a client, by default the current one."""
    return _swept(client, _chunks.predicted, environments, plans, options)


def advise_sweep(needs, *, client=None, **options):
    """Advice for every need: `advise_many` on the workers of a client."""
    return _swept(client, _chunks.advised, needs, options)
