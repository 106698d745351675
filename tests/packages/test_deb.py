"""The tree of files of the Debian package, without what it bundles; test_deb_installed.py installs the whole."""

import gzip
import json
import re
import subprocess
import zipfile
from pathlib import Path

import click
import pytest
from brimful.cli import group
from support import ROOT

PLACES = ("DEBIAN/", "usr/bin/", "usr/lib/brimful/", "usr/lib/systemd/system/", "usr/share/")


@pytest.fixture(scope="module")
def tree(deb, wheel, tmp_path_factory):
    path = tmp_path_factory.mktemp("deb") / "tree"
    deb.make_tree(wheel, [], path)
    return path


def commands(command, path):
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), f"{path}-{name}")


def test_files_are_where_debian_has_them_and_may_be_read_by_all(tree):
    for path in tree.rglob("*"):
        name = str(path.relative_to(tree))
        if path.is_file():
            assert name.startswith(PLACES), name
        is_program = path.is_dir() or name.startswith("usr/bin/") or name.startswith("DEBIAN/p")
        assert path.stat().st_mode & 0o777 == (0o755 if is_program else 0o644), name


def test_every_command_has_a_manual_page_that_man_can_read(tree):
    directory = tree / "usr/share/man/man1"
    for command in commands(group, "brimful"):
        assert (directory / f"{command}.1.gz").exists(), command
    for program in ("disk", "forwarder", "switchd", "switchd-ofctl", "tester", "tester-stations"):
        assert (directory / f"brimful-{program}.1.gz").exists(), program
    page = gzip.decompress((directory / "brimful-search.1.gz").read_bytes()).decode()
    assert re.search(r"^\.TP\n\\fB\\-m, \\-\\-measurer SPEC\\fR\n", page, re.MULTILINE)
    shown = subprocess.run(["man", "-l", directory / "brimful-search.1.gz"], capture_output=True, text=True)
    assert "Find how much load something takes at given loss" in " ".join(shown.stdout.split())
    assert not shown.stderr


def test_pages_of_the_same_name_lead_to_each_other(tree):
    page = gzip.decompress((tree / "usr/share/man/man1/brimful-tester.1.gz").read_bytes()).decode()
    assert page.startswith(".ie")
    assert page.endswith("\\fBbrimful\\-tester\\-check\\fR(1), of the command \\fBbrimful tester\\fR\n")


def test_the_page_of_the_forwarder_has_its_options(tree):
    page = gzip.decompress((tree / "usr/share/man/man1/brimful-forwarder.1.gz").read_bytes()).decode()
    shown = subprocess.run([tree / "usr/bin/brimful-forwarder", "--help"], capture_output=True, text=True, check=True)
    for option in {*re.findall(r"--\w+", shown.stdout)}:
        assert option.replace("-", "\\-") in page
    version = subprocess.run([tree / "usr/bin/brimful-forwarder", "--version"], capture_output=True, text=True).stdout
    assert f'"brimful {version.split()[1]}"' in page


def test_debian_reads_the_changelog(tree):
    text = gzip.decompress((tree / "usr/share/doc/brimful/changelog.gz").read_bytes()).decode()
    lines = text.splitlines()
    assert re.fullmatch(r"brimful \(\d+\.\d+\.\d+\) unstable; urgency=medium", lines[0])
    assert re.fullmatch(r" -- [^<]+<\S+>  \w{3}, \d+ \w{3} \d{4} [\d:]{8} [+-]\d{4}", lines[-1])
    assert {line[:2] for line in lines[2:-2]} == {"  "}
    # A word, such as code, may be longer.
    assert all(len(line) <= 80 or len(line.split()) <= 2 for line in lines)
    assert sum(line.startswith("  * ") for line in lines) == sum(
        line.startswith("* ") for line in (ROOT / "CHANGELOG.md").read_text().splitlines()
    )


def test_options_and_dots_of_help_texts_mean_nothing_to_man(deb):
    assert deb.manual.escaped(".B --x \\n\n'quoted'") == "\\&.B \\-\\-x \\(rsn\n\\&'quoted'"


def test_shells_find_completions(tree):
    assert "complete -o nosort -F _brimful" in (tree / "usr/share/bash-completion/completions/brimful").read_text()
    assert (tree / "usr/share/zsh/vendor-completions/_brimful").read_text().startswith("#compdef brimful")
    assert "--command brimful" in (tree / "usr/share/fish/vendor_completions.d/brimful.fish").read_text()


def completed(script, *words):
    """Give what bash offers for the last of the words."""
    function = f"_{words[0].replace('-', '__')}"
    ask = f'. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {function} "$1" "${{@: -1}}" "${{@: -2:1}}"'
    command = ["bash", "-c", f'{ask}; echo "${{COMPREPLY[@]}}"', script, *words]
    return {*subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()}


@pytest.mark.parametrize("program", ["brimful-disk", "brimful-switchd", "brimful-tester"])
def test_shells_find_completions_of_programs(tree, program):
    bash = tree / "usr/share/bash-completion/completions" / program
    assert {"--device" if program == "brimful-disk" else "--port", "--help"} <= completed(bash, program, "--")
    assert completed(bash, program, "comp") == {"completion"}
    assert {"bash", "zsh", "fish"} <= completed(bash, program, "completion", "")
    assert (tree / "usr/share/zsh/vendor-completions" / f"_{program}").read_text().startswith(f"#compdef {program}")
    assert f"complete -c {program}" in (tree / f"usr/share/fish/vendor_completions.d/{program}.fish").read_text()


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("manylinux_2_34_x86_64", ("2", "34", "x86_64")),
        ("manylinux_2_17_aarch64.manylinux2014_aarch64", ("2", "17", "aarch64")),
    ],
)
def test_the_machine_and_its_library_are_those_of_the_wheel(deb, tag, expected):
    assert deb.platform_of(Path(f"brimful-0.1.0-cp311-abi3-{tag}.whl")) == expected


def test_a_wheel_for_one_linux_alone_makes_no_package(deb):
    with pytest.raises(SystemExit, match=r"^deb\.py: .* is for the Linux that it was built on alone: use make wheel$"):
        deb.platform_of(Path("brimful-0.1.0-cp311-abi3-linux_x86_64.whl"))


def test_the_unit_starts_a_program_of_the_package(tree):
    unit = (tree / "usr/lib/systemd/system/brimful-switchd.service").read_text()
    programs = re.findall(r"^Exec\w+=/(usr\S+)", unit, re.MULTILINE)
    assert len(programs) == 2
    for program in programs:
        assert (tree / program).exists()
    assert "/local/" not in unit
    assert "Copy to" not in unit
    # Then it needs neither a user nor directories of the package.
    assert {"DynamicUser=yes", "RuntimeDirectory=brimful", "StateDirectory=brimful"} <= set(unit.splitlines())


def test_what_is_linked_is_listed_with_its_licence(tree):
    documents = tree / "usr/share/doc/brimful"
    bill = json.loads((documents / "brimful.cdx.json").read_text())
    names = {component["name"] for component in bill["components"]}
    assert {"clap", "cranelift-codegen", "uplot"} <= names
    assert "brimful" not in names
    assert all(one["licenses"] != [{"license": {"name": ""}}] for one in bill["components"])
    notes = (documents / "copyright").read_text()
    texts = gzip.decompress((documents / "crates-licences.gz").read_bytes()).decode()
    for component in bill["components"]:
        assert f"{component['name']} {component['version']} (" in notes
        if component["purl"].startswith("pkg:cargo/"):
            assert f"{component['name']} {component['version']}" in texts


def test_the_bundled_are_listed_by_their_own_words(deb, tmp_path):
    for name, words in {
        "plain": "License-Expression: MIT\n",
        "long": "License: All of\n  it.\nClassifier: License :: OSI Approved :: BSD License\n",
        "brimful": "License-Expression: Apache-2.0\n",
    }.items():
        (tmp_path / f"{name}-1.dist-info").mkdir()
        (tmp_path / f"{name}-1.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1\n{words}\n")
    found = [(one.name, one.licence) for one in deb.bundled.python_components(tmp_path)]
    assert found == [("long", "BSD License"), ("plain", "MIT")]


def test_wheels_of_several_pythons_share_a_directory_unless_they_differ(deb, tmp_path):
    def unpack(name, **files):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for file, text in files.items():
                archive.writestr(f"one/{file}", text)
        deb.unpack(tmp_path / name, tmp_path / "tree")

    unpack("one-1-cp311.whl", RECORD="a", code="same", cpython_311="x")
    unpack("one-1-cp313.whl", RECORD="b", code="same", cpython_313="y")
    assert {path.name for path in (tmp_path / "tree/usr/lib/brimful/one").iterdir()} == {
        "RECORD",
        "code",
        "cpython_311",
        "cpython_313",
    }
    with pytest.raises(SystemExit, match=r"deb\.py: one/code of one-1-cp314\.whl is another file"):
        unpack("one-1-cp314.whl", code="other")


def test_dependencies_are_those_of_the_wheel_and_its_pythons(deb, tree):
    control = (tree / "DEBIAN/control").read_text()
    minors = [int(python.partition(".")[2]) for python in deb.PYTHONS]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert f"python3 (>= 3.{minors[0]}), python3 (<< 3.{minors[-1] + 1}), libc6 (>= 2.34)" in control


def test_two_packages_of_a_commit_have_the_same_bytes(deb, wheel, tree, tmp_path, monkeypatch):
    deb.make_tree(wheel, [], tmp_path / "tree")
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = deb.pack(tree, tmp_path / "first")
    # As where there is one processor.
    monkeypatch.setenv("DPKG_DEB_THREADS_MAX", "1")
    second = deb.pack(tmp_path / "tree", tmp_path / "second")
    assert first.name == second.name == f"brimful_{deb.PROJECT['version']}_amd64.deb"
    assert first.read_bytes() == second.read_bytes()
    # Whatever Python compresses them.
    assert {path.read_bytes()[:10] for path in tree.rglob("*.gz")} == {bytes.fromhex("1f8b0800000000000203")}


def test_the_how_to_names_the_package_that_is_made(deb):
    assert f"./brimful_{deb.PROJECT['version']}_amd64.deb" in (ROOT / "docs/how-to/install.md").read_text()


def test_a_directory_without_a_wheel_is_an_error_of_one_line(deb, tmp_path):
    with pytest.raises(
        SystemExit, match=r"^deb\.py: .* has 0 files .*, and must have one: empty it, then run make wheel$"
    ):
        deb.main(str(tmp_path))
