from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from . import Environment, Need, Plan, Table

def sweep(
    environments: Iterable[str | PathLike[str] | Environment],
    plans: str | PathLike[str] | Plan | Sequence[str | PathLike[str] | Plan],
    **options: Any,
) -> Table: ...
def advise_sweep(needs: Iterable[str | PathLike[str] | Need], **options: Any) -> Table: ...
