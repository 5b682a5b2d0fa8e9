"""Make a tiny model of an architecture: random weights, no network, under 5 million parameters."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from conformance.errors import InfrastructureError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIMIT = 5_000_000  # parameters
TOKENS = 8
SHEET = Path(__file__).with_name("tiny.toml")
_QUIET = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}


class NotTinyError(Exception):
    """No tiny model of this architecture can be made; the text says why."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one architecture differs from the general values; the fields are those of tiny.toml."""

    leave: frozenset[str] = frozenset()
    values: Mapping[str, Any] = None  # type: ignore[assignment]
    part: str = ""
    tokens: int = TOKENS
    cache: bool = True
    training: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """The content of tiny.toml."""

    transformers: str
    general: Mapping[str, Any]
    recipes: Mapping[str, Recipe]
    unbuilt: Mapping[str, str]

    def recipe(self, name: str) -> Recipe:
        """Return the recipe of an architecture, an empty one where the general values do."""
        return self.recipes.get(name, Recipe(values={}))


@cache
def sheet() -> Sheet:
    """Read tiny.toml."""
    content = tomllib.loads(SHEET.read_text(encoding="utf-8"))
    recipes: dict[str, Recipe] = {}
    for special in content["special"]:
        recipe = Recipe(
            leave=frozenset(special.get("leave", ())),
            values=special.get("values", {}),
            part=special.get("part", ""),
            tokens=special.get("tokens", TOKENS),
            cache=special.get("cache", True),
            training=special.get("training", False),
        )
        recipes.update(dict.fromkeys(special["names"], recipe))
    return Sheet(content["transformers"], content["general"], recipes, content["unbuilt"])


def transformers_version() -> str | None:
    """Return the version of the installed transformers without importing it, None where there is none."""
    try:
        return metadata.version("transformers")
    except metadata.PackageNotFoundError:
        return None


def require_transformers() -> Any:
    """Return the module ``transformers``, kept offline and quiet.

    Raises ``InfrastructureError`` (``no-transformers``) where it is missing or too old.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    found = transformers_version()
    what_to_do = "install it with `pip install 'torch-conformance[models]'`"
    if found is None:
        raise InfrastructureError("no-transformers", f"the suite 'models' needs transformers; {what_to_do}")
    if int(found.partition(".")[0]) < 5:
        raise InfrastructureError("no-transformers", f"transformers {found} is too old, 5 is needed; {what_to_do}")
    import transformers

    return transformers


def architectures() -> tuple[str, ...]:
    """Return the names of the text-generation architectures of the installed transformers, sorted.

    Only the table of names is imported, no model.
    """
    require_transformers()
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return tuple(sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES))


def tiny_configuration(name: str) -> Any:
    """Return the configuration of the tiny model; raise NotTinyError."""
    known = sheet()
    if name in known.unbuilt:
        raise NotTinyError(known.unbuilt[name])
    recipe = known.recipe(name)
    try:
        from transformers import CONFIG_MAPPING

        kind = CONFIG_MAPPING[name]
        values = _values(kind(), known.general, recipe)
        whole = kind(**values)
        return getattr(whole, recipe.part) if recipe.part else whole
    except Exception as error:
        raise NotTinyError(f"no tiny configuration: {_line(error)}") from error


def tiny_model(name: str, *, seed: int) -> Any:
    """Return the tiny model on the CPU, in evaluation mode, its weights drawn from ``seed``.

    Raises NotTinyError: for an architecture that tiny.toml calls unbuilt, one that the general values do not suit, and
    one that would have too many parameters.
    """
    import torch

    transformers = require_transformers()
    configuration = tiny_configuration(name)
    try:
        with torch.device("meta"):  # costs no memory, whatever the size
            size = sum(weight.numel() for weight in _model(transformers, name, configuration).parameters())
    except Exception as error:
        raise NotTinyError(f"no model of the tiny configuration: {_line(error)}") from error
    if size > LIMIT:
        raise NotTinyError(f"the tiny configuration still has {size / 1e6:.1f} million parameters")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _model(transformers, name, configuration).eval()


def _model(transformers: Any, name: str, configuration: Any) -> Any:
    if not sheet().recipe(name).part:
        return transformers.AutoModelForCausalLM.from_config(configuration)
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    # The table of models has the class for the whole configuration, which it does not take.
    return getattr(transformers, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[name])._from_config(configuration)


def _values(default: Any, general: Mapping[str, Any], recipe: Recipe) -> dict[str, Any]:
    """Return the arguments for a configuration whose default is ``default``, and for those inside it."""
    values = {key: value for key, value in general.items() if key not in recipe.leave and _has(default, key)}
    special = dict(recipe.values)
    for key, inner in _inner(default):
        own = special.pop(key, {})
        values[key] = _values(inner, general, Recipe(leave=recipe.leave, values=own))
    return values | special


def _inner(default: Any) -> Iterator[tuple[str, Any]]:
    names = getattr(type(default), "sub_configs_defaults", None) or getattr(type(default), "sub_configs", None) or {}
    for key in names:
        inner = getattr(default, key, None)
        if hasattr(inner, "model_type"):
            yield key, inner


def _has(default: Any, key: str) -> bool:
    """Tell whether a configuration has a field; one that differs from layer to layer refuses to be read."""
    try:
        getattr(default, key)
    except AttributeError as error:
        return "Ambiguous" in type(error).__name__
    except Exception:
        return True
    return True


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"
