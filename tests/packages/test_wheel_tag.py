"""Whether what is in a wheel does with the C library that its name promises."""

import runpy
import sys
import unittest.mock
from pathlib import Path

import pytest
from support import ROOT

NAME = "brimful-0.1.0-cp311-abi3-manylinux_2_34_aarch64.whl"
with unittest.mock.patch.object(sys, "path", [str(ROOT / "tools"), *sys.path]):
    TOOL = runpy.run_path(str(ROOT / "tools" / "wheel.py"))
broken_promises = TOOL["broken_promises"]


def program(*versions):
    return b"\x7fELF\x02" + b"".join(b"\0" + version for version in versions) + b"\0"


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ([], None),
        ([b"GLIBC_2.2.5", b"GLIBC_2.17", b"GLIBC_2.34", b"GCC_14.0"], None),
        ([b"GLIBC_2.4", b"GLIBC_2.36"], "a needs glibc 2.36, and"),
        ([b"GLIBC_3.1"], "a needs glibc 3.1, and"),
        # So it is where libm is linked from its archive.
        ([b"GLIBC_2.17", b"GLIBC_PRIVATE"], "a needs private parts of the C library"),
        ([b"GLIBC_2.36 is what it says of the machine"], None),
    ],
)
def test_a_file_that_needs_more_than_the_name_promises_is_named(versions, said):
    broken = broken_promises(NAME, {"a": program(*versions), "b": program(b"GLIBC_2.17"), "c.py": b"\0GLIBC_9.9\0"})
    assert len(broken) == (said is not None)
    assert said is None or broken[0].startswith(said)


def test_a_name_that_promises_nothing_is_named():
    (said,) = broken_promises(NAME.replace("manylinux_2_34", "linux"), {})
    assert said.endswith("is for the Linux that it was built on alone")


def test_programs_of_ours_are_seen_to_need_a_library():
    for name in ("brimful-tester", "brimful-forwarder", "brimful-switchd", "brimful-disk"):
        content = Path(sys.executable).with_name(name).read_bytes()
        assert broken_promises(NAME.replace("_34", "_2"), {name: content})[0].startswith(f"{name} needs glibc 2.")


def test_a_file_that_names_where_it_was_built_is_named():
    said = TOOL["files_that_name"]([Path("/src/one"), Path("/cargo")], {"a": b"\0/src/one/b.rs\0", "b": b"./b.rs"})
    assert said == ["a names /src/one"]
