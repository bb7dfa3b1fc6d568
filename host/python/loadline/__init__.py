"""Loads on storage: measured, predicted, advised, emulated, compared.

Every figure is that of the `loadline` command: an option has the same name and the same meaning, with underscores.
"""

from __future__ import annotations

from . import _loadline
from ._loadline import Advice, Bug, Comparison, Emulation, Error, Forked, Refused, Run, Store, Table, __version__

__all__ = [
    "Advice",
    "Bug",
    "Comparison",
    "Emulation",
    "Environment",
    "Error",
    "Forked",
    "Need",
    "Plan",
    "Refused",
    "Run",
    "Store",
    "Svg",
    "Table",
    "__version__",
    "advise",
    "advise_many",
    "compare",
    "emulate",
    "join",
    "predict",
    "predict_many",
    "read",
    "run",
]


class Svg(str):
    """A chart. Notebooks show it; `save` writes it."""

    __slots__ = ()

    def _repr_svg_(self):
        return str(self)

    def save(self, path):
        """Writes the chart to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)


class _Document:
    """A text in TOML with its name; equal to another with the same text."""

    __slots__ = ("name", "text")

    def __init__(self, text, name=None):
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "name", name or _named(text) or "unnamed")

    def __setattr__(self, key, value):
        raise AttributeError(f"a {type(self).__name__} does not change")

    @classmethod
    def read(cls, path):
        """The document in a file."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    def __eq__(self, other):
        return type(self) is type(other) and self.text == other.text

    def __hash__(self):
        return hash((type(self).__name__, self.text))

    def __reduce__(self):
        return type(self), (self.text, self.name)

    def __repr__(self):
        return f"<loadline.{type(self).__name__} {self.name!r}>"


class Plan(_Document):
    """What is asked of storage (docs/formats/plan.md)."""

    __slots__ = ()

    @classmethod
    def named(cls, name):
        """A plan that comes with loadline."""
        return cls(_loadline.plan_text(name), name)


class Environment(_Document):
    """Storage as it is described (docs/formats/environment.md)."""

    __slots__ = ()

    @classmethod
    def named(cls, name):
        """An environment that comes with loadline."""
        return cls(_loadline.environment_text(name), name)


class Need(_Document):
    """What an application needs of storage (docs/formats/need.md)."""

    __slots__ = ()


def _named(text):
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip() == "name":
            return value.split("#")[0].strip().strip("\"'")
    return None


def _word(value):
    """A value as it is typed: a duration with its unit, a ratio, a number, a text."""
    if hasattr(value, "total_seconds"):
        return f"{round(value.total_seconds() * 1e6)} us"
    return str(value)


def _words(options):
    """Options as the command has them: `warm_up="1 s"` is `--warm-up "1 s"`, a list repeats its option, True stands alone."""
    words = []
    for key, value in options.items():
        option = "--" + key.strip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):
            for one in value:
                words += [option, _word(one)]
        else:
            words += [option, _word(value)]
    return words


class _Files:
    """Documents as files for the time of a call: the command reads files."""

    def __init__(self):
        self._folder = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._folder is not None:
            self._folder.cleanup()

    def of(self, document):
        if not isinstance(document, _Document):
            return str(document)
        if self._folder is None:
            import tempfile

            self._folder = tempfile.TemporaryDirectory(prefix="loadline-")
        import os

        kind = type(document).__name__.lower()
        path = os.path.join(self._folder.name, f"{kind}-{len(os.listdir(self._folder.name))}.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(document.text)
        return path

    def plans(self, plan):
        return [self.of(one) for one in (plan if isinstance(plan, (list, tuple)) else [plan])]


def run(plan, on=None, *, store=None, yes=False, **options):
    """Measures a plan on real storage, as `loadline run` does.

    `on` is a target, or a dictionary of volumes and their targets. The run is kept in `store`, by default the user's.
    """
    if isinstance(on, dict):
        options["on"] = [f"{volume}={target}" for volume, target in on.items()]
    elif on is not None:
        options["on"] = on
    with _Files() as files:
        if "env" in options:
            options["env"] = files.of(options["env"])
        return _loadline.run(files.plans(plan) + _words({**options, "store": store}), True, yes)


def predict(plan, env, *, store=None, **options):
    """Predicts a plan on storage that is described, as `loadline predict` does. It is kept in `store`, if one is given."""
    with _Files() as files:
        words = files.plans(plan) + ["--env", files.of(env)] + _words({**options, "store": store})
        return _loadline.predict(words, store is not None)


def predict_many(environments, plans, *, table=False, limits_only=False, **options):
    """Every plan on every environment.

    A list of runs, environments first, each what `predict` gives. With `table=True` a single table: a row for each environment, volume
    and load, made on several threads. With `limits_only=True` the table is made by ceilings and burst credits alone, a thousand times faster.
    """
    plans = plans if isinstance(plans, (list, tuple)) else [plans]
    if not (table or limits_only):
        return [predict(plan, env, **options) for env in environments for plan in plans]
    with _Files() as files:
        words = files.plans(plans) + _words({**options, "limits_only": limits_only})
        return _loadline.predict_many(words, [_item(env) for env in environments])


def advise_many(needs, **options):
    """Advice for every need, as one table: a row for each choice. A need is a file, or a `Need`."""
    return _loadline.advise_many(_words(options), [_item(need) for need in needs])


def join(tables):
    """The rows of several tables as one table."""
    return _loadline.join_tables(list(tables))


def _item(document):
    return (document.name, document.text) if isinstance(document, _Document) else (str(document), None)


def advise(need=None, *, plan=None, from_=None, **options):
    """From a need to a ranked list, as `loadline advise` does: `advise(iops=9000, reads="70 %", size="500 GiB")`."""
    with _Files() as files:
        words = _words({**options, "plan": files.of(plan) if plan is not None else None, "from": from_})
        return _loadline.advise(words + ([] if need is None else [files.of(need)]))


def compare(*runs, **options):
    """Compares runs with the first of them, as `loadline compare` does."""
    return _loadline.compare(list(runs), _words(options))


def read(path, *more, name=None):
    """What is in a file: a `Store`, a run that was saved, or results of other tools, which become one run.

    Several files of results become one run together.
    """
    paths = list(path) if isinstance(path, (list, tuple)) else [path]
    return _loadline.read([*paths, *more], name)


def emulate(env, *, seed=None, memory_bytes=None, socket=None):
    """Serves an environment over NBD within a `with` block.

    >>> with loadline.emulate("ds3-p30") as disk:
    ...     run = loadline.run("quick-look", on=disk.uri("data"), read_only=True)
    """
    if not isinstance(env, Environment):
        import os

        env = Environment.read(env) if os.path.exists(env) else Environment.named(str(env))
    return _loadline.Emulation(env.text, env.name, seed, memory_bytes, socket)
