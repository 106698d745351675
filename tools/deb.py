"""Makes the Debian package of the wheel that lies in a directory, and puts it there.

usage: deb.py DIRECTORY
"""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

import bundled
import manual
from brimful.cli import group
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

ROOT = Path(__file__).resolve().parent.parent
DEBIAN = ROOT / "tools" / "debian"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = ("3.11", "3.12", "3.13")
"""Those of Debian 12 and 13, and the one between them: `Depends` in `debian/control` has no hole."""
EXTRAS = ("report",)
"""What most people use. The engines of the others are several times as large as all else."""
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""How Debian names what a wheel is for."""
PLATFORM = re.compile(r"manylinux_(\d+)_(\d+)_(\w+)")
PLATFORMS = ("manylinux2014", *(f"manylinux_2_{minor}" for minor in range(17, 35)))
OF_A_BUILD = {"RECORD", "WHEEL", "auditwheel.cdx.json", "__config__.py", "_build_config.py"}
"""Files that say how a wheel was built: those of the first Python stand for the others."""
LIBRARY, PROGRAMS = "usr/lib/brimful", "usr/bin"
DOCUMENTS = "usr/share/doc/brimful"
COMPLETIONS: dict[str, tuple[str, type[ShellComplete]]] = {
    "bash": ("usr/share/bash-completion/completions/{}", BashComplete),
    "zsh": ("usr/share/zsh/vendor-completions/_{}", ZshComplete),
    "fish": ("usr/share/fish/vendor_completions.d/{}.fish", FishComplete),
}
DESCRIBED = ("brimful-disk", "brimful-switchd", "brimful-tester")
"""Programs that write manual pages and completions of themselves."""
FORWARDER = "brimful-forwarder"
"""Has few options, and a page in `debian`."""


def fetch_dependencies(directory: Path, machine: str) -> list[Path]:
    """Download the wheels of all that is bundled, for each Python, in the versions that brimful is tested with."""
    wanted = [*PROJECT["dependencies"]]
    for extra in EXTRAS:
        wanted += PROJECT["optional-dependencies"][extra]
    platforms = [f"--platform={platform}_{machine}" for platform in PLATFORMS]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    pip += [*platforms, f"--constraint={ROOT / 'requirements' / 'run.lock'}", f"--dest={directory}"]
    for python in PYTHONS:
        done = subprocess.run([*pip, f"--python-version={python}", *wanted], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"deb.py: what is bundled for Python {python} cannot be fetched; pip says:\n{done.stderr}")
    return sorted(directory.glob("*.whl"))


def platform_of(wheel: Path) -> tuple[str, str, str]:
    """Give the C library that a wheel needs, as its major and minor version, and the machine that it is for."""
    platform = PLATFORM.search(wheel.stem)
    if platform is None:
        raise SystemExit(f"deb.py: {wheel.name} is for the Linux that it was built on alone: use make wheel")
    return platform[1], platform[2], platform[3]


def unpack(wheel: Path, tree: Path) -> None:
    """Put the packages of a wheel where the command finds them, and its own programs in the path.

    Wheels of several Pythons share a directory: their compiled modules have the Python in their names.
    """
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            _, is_data, place = name.partition(".data/")
            if name.endswith("/") or (is_data and not wheel.name.startswith("brimful-")):
                continue
            path = tree / PROGRAMS / Path(place).name if is_data else tree / LIBRARY / name
            content = archive.read(name)
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            elif path.name not in OF_A_BUILD and path.read_bytes() != content:
                raise SystemExit(f"deb.py: {name} of {wheel.name} is another file than that of an earlier wheel")


def write(path: Path, content: bytes | str) -> None:
    """Write a file of the package, in a directory that may be new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def compressed(content: bytes) -> bytes:
    """Compress a file with gzip; Python's own module has had another header since 3.13."""
    return zlib.compress(content, 9, 31)


def add_manual(tree: Path, version: str) -> None:
    """Write the manual pages of all commands, compressed as Debian has them."""
    directory = tree / "usr/share/man/man1"
    directory.mkdir(parents=True)
    for title, text in manual.pages(version):
        write(directory / f"{title}.1", text)
    write(directory / f"{FORWARDER}.1", (DEBIAN / f"{FORWARDER}.1").read_text().replace("{version}", version))
    for program in DESCRIBED:
        subprocess.run([tree / PROGRAMS / program, "man", directory], check=True)
    # It has taken the place of the page of `brimful tester`.
    with (directory / "brimful-tester.1").open("a") as command:
        command.write(".SH SEE ALSO\n\\fBbrimful\\-tester\\-check\\fR(1), of the command \\fBbrimful tester\\fR\n")
    for page in sorted(directory.iterdir()):
        write(page.with_name(f"{page.name}.gz"), compressed(page.read_bytes()))
        page.unlink()


def debian_changelog(version: str) -> str:
    """Give the changelog in the form that Debian's tools read, dated as its commit."""
    of_commit = ["git", "log", "-1", "--format=%cD"]
    dated = subprocess.run(of_commit, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    entries = re.findall(r"^\* (.*(?:\n  .*)*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    lines = textwrap.TextWrapper(80, "  * ", "    ", break_long_words=False, break_on_hyphens=False)
    changes = "".join(f"{lines.fill(' '.join(entry.split()))}\n" for entry in entries)
    maintainer = email.message_from_string((DEBIAN / "control").read_text())["Maintainer"]
    return f"brimful ({version}) unstable; urgency=medium\n\n{changes}\n -- {maintainer}  {dated}\n"


def add_shared(tree: Path, version: str) -> None:
    """Add what other programs read: completions, the unit of systemd, and examples."""
    for shell, (place, completion) in COMPLETIONS.items():
        write(tree / place.format("brimful"), completion(group, {}, "brimful", "_BRIMFUL_COMPLETE").source())
        for program in DESCRIBED:
            printed = subprocess.run([tree / PROGRAMS / program, "completion", shell], check=True, capture_output=True)
            write(tree / place.format(program), printed.stdout)
    unit = (ROOT / "examples/switch/brimful-switchd.service").read_text().replace("/usr/local/bin/", "/usr/bin/")
    unit = unit.replace(
        "# Copy to /etc/systemd/system, and switch.toml to /etc/brimful.", "# Write /etc/brimful/switch.toml."
    )
    write(tree / "usr/lib/systemd/system/brimful-switchd.service", unit)
    write(tree / DOCUMENTS / "changelog.gz", compressed(debian_changelog(version).encode()))
    write(tree / DOCUMENTS / "examples/switch.toml", (ROOT / "examples/switch/switch.toml").read_bytes())


def add_licences(tree: Path, version: str, machine: str) -> None:
    """Say what of others is in the package, and under which licences."""
    crates = bundled.crates(machine)
    components = [*crates, bundled.vendored(), *bundled.python_components(tree / LIBRARY)]
    texts = f"{DOCUMENTS}/crates-licences.gz"
    write(tree / texts, compressed(bundled.licence_texts(crates).encode()))
    write(tree / DOCUMENTS / "copyright", bundled.copyright_notes(version, components, f"/{texts}"))
    write(tree / DOCUMENTS / "brimful.cdx.json", bundled.bill_of_materials(version, components))


def make_tree(wheel: Path, dependencies: Iterable[Path], tree: Path) -> None:
    """Make the tree of files that the package installs."""
    version = wheel.stem.split("-")[1]
    major, minor, machine = platform_of(wheel)
    for one in (wheel, *dependencies):
        unpack(one, tree)
    shutil.copyfile(DEBIAN / "brimful", tree / PROGRAMS / "brimful")
    for program in (tree / PROGRAMS).iterdir():
        program.chmod(0o755)
    add_manual(tree, version)
    add_shared(tree, version)
    add_licences(tree, version, machine)
    files = [path for path in tree.rglob("*") if path.is_file()]
    facts = {
        "version": version,
        "kibibytes": sum(path.stat().st_size for path in files) // 1024,
        "architecture": ARCHITECTURES[machine],
        "libc": f"{major}.{minor}",
    }
    write(tree / "DEBIAN/control", (DEBIAN / "control").read_text().format_map(facts))
    for script in ("postinst", "prerm", "postrm"):
        shutil.copyfile(DEBIAN / script, tree / "DEBIAN" / script)
    for path in (tree, *tree.rglob("*")):
        executable = path.is_dir() or path.parent == tree / PROGRAMS or path.name in ("postinst", "prerm", "postrm")
        path.chmod(0o755 if executable else 0o644)


def pack(tree: Path, directory: Path) -> Path:
    """Make the package of a tree; the same tree gives the same bytes."""
    committed = ["git", "log", "-1", "--format=%ct"]
    epoch = subprocess.run(committed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    for path in (tree, *tree.rglob("*")):
        os.utime(path, (int(epoch), int(epoch)))
    # Any of the formats that Debian 12 reads; this one packs in seconds, not minutes. One thread gives other bytes than
    # two, and two the same as more.
    build = ["dpkg-deb", "--build", "--root-owner-group", "-Zzstd", "-z9", "--threads-max=2", tree, directory]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL, env=environment)
    facts = email.message_from_bytes((tree / "DEBIAN/control").read_bytes())
    return directory / f"brimful_{facts['Version']}_{facts['Architecture']}.deb"


def main(directory: str) -> None:
    """Make the package of the version that `pyproject.toml` has."""
    name = f"brimful-{PROJECT['version']}-*.whl"
    wheels = list(Path(directory).glob(name))
    if len(wheels) != 1:
        raise SystemExit(
            f"deb.py: {directory} has {len(wheels)} files {name}, and must have one: empty it, then run make wheel"
        )
    with tempfile.TemporaryDirectory() as temporary:
        fetched = Path(temporary, "wheels")
        tree = Path(temporary, "tree")
        make_tree(wheels[0], fetch_dependencies(fetched, platform_of(wheels[0])[2]), tree)
        print(pack(tree, Path(directory)))


if __name__ == "__main__":
    main(*sys.argv[1:])
