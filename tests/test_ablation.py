"""The table of `bench/ablation.py` names constants that the strategy has."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def ablation(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    spec = importlib.util.spec_from_file_location("ablation", ROOT / "bench/ablation.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop("searches", None)
    return module


def test_every_mechanism_can_be_switched_off(ablation: ModuleType) -> None:
    for name, constants in ablation.MECHANISMS.items():
        for file, constant, value in constants:
            source = (ROOT / ablation.STRATEGY / f"{file}.rs").read_text()
            changed = ablation.switched_off(source, constant, value)
            assert changed != source, name
            assert changed.count("\n") == source.count("\n")


def test_a_constant_that_is_not_there_is_named(ablation: ModuleType) -> None:
    with pytest.raises(ValueError, match="GONE: 0 definitions"):
        ablation.switched_off("const HERE: f64 = 1.0;\n", "GONE", "2.0")
