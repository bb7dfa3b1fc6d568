"""A sweep in chunks of one to two seconds, for schedulers of clusters."""

import time

from . import advise_many, predict_many

CHUNK_S = 1.5
FIRST = 4


def predicted(environments, plans, options):
    """The rows of a chunk, on one thread."""
    return predict_many(environments, plans, table=True, threads=1, **options)


def advised(needs, options):
    """The rows of a chunk of needs, on one thread."""
    return advise_many(needs, threads=1, **options)


def chunks(function, things, *rest):
    """The first rows, made here to see how long a thing takes, and the other things in chunks."""
    things = list(things)
    # The first call of a process reads the catalog.
    tables, done, count = [function(things[:1], *rest)], min(1, len(things)), FIRST
    size = 1
    while done < len(things):
        some = things[done : done + count]
        began = time.perf_counter()
        tables.append(function(some, *rest))
        took = time.perf_counter() - began
        done += len(some)
        size = max(1, round(len(some) * CHUNK_S / took))
        if took > 0.05 * CHUNK_S:
            break
        # Too short to say how long a thing takes.
        count *= 4
    return tables, [things[begin : begin + size] for begin in range(done, len(things), size)]
