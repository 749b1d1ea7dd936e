"""Register the hooks of features that only some options of the command line need. They are imported only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converse_harness.features import FEATURES, module_of

if TYPE_CHECKING:
    import pytest


def attach(config: pytest.Config) -> None:
    """Register the hooks of the features with an option that is given. Raises UsageError for a wrong value."""
    for name, feature in FEATURES.items():
        if any(config.getoption(f"--converse-{option}") not in (None, False, []) for option in feature.options):
            hooks = getattr(module_of(name, "hooks"), feature.plugin)
            config.pluginmanager.register(hooks(config), f"converse_{name}")
