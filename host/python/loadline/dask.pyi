from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from . import Environment, Need, Plan, Table

def sweep(
    environments: Iterable[str | PathLike[str] | Environment],
    plans: str | PathLike[str] | Plan | Sequence[str | PathLike[str] | Plan],
    *,
    client: Any | None = None,
    **options: Any,
) -> Table: ...
def advise_sweep(
    needs: Iterable[str | PathLike[str] | Need],
    *,
    client: Any | None = None,
    **options: Any,
) -> Table: ...
