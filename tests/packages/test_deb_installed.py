"""The Debian package in an empty Debian: installed, used, upgraded, removed and purged."""

import concurrent.futures
import os
import re
import shutil
import subprocess

import pytest
from support import ROOT
from test_documents import blocks

# test_deb.py looks at the files that the package has.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

NOT_OURS = ("dev", "proc", "sys", "run", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/log")
"""What apt, dpkg, its triggers and the kernel write."""


@pytest.fixture(scope="module")
def package(deb, wheel, tmp_path_factory):
    directory = tmp_path_factory.mktemp("package")
    try:
        dependencies = deb.fetch_dependencies(directory / "wheels", deb.platform_of(wheel)[2])
    except SystemExit as error:
        if "NewConnectionError" in str(error) or "Temporary failure" in str(error):
            pytest.skip("the wheels that the package bundles cannot be fetched here")
        raise
    deb.make_tree(wheel, dependencies, directory / "tree")
    return deb.pack(directory / "tree", directory)


def depends(deb):
    control = (deb.DEBIAN / "control").read_text()
    return set(re.findall(r"([a-z][a-z0-9+-]+)(?: \([^)]*\))?(?:, |$)", re.search("(?m)^Depends: (.*)$", control)[1]))


RELEASES = ["bookworm", "trixie"] if os.environ.get("BRIMFUL_ALL_CASES") else ["bookworm"]
"""A Debian takes minutes: the newer one is for who asks."""


def bootstrap(release, needed, root):
    # A root that lives for a test may be lost with the machine.
    unsafe = root / "etc/dpkg/dpkg.cfg.d/test"
    unsafe.parent.mkdir(parents=True)
    unsafe.write_text("force-unsafe-io\n")
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(sorted(needed))}", release, root]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module", params=RELEASES)
def debian(request, deb, tmp_path_factory):
    """Give a root that has what the package depends on, what the test asks with, and nothing else."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("an empty Debian needs root and debootstrap")
    root = tmp_path_factory.mktemp(request.param)
    with concurrent.futures.ThreadPoolExecutor() as beside:
        making = beside.submit(bootstrap, request.param, {*depends(deb), "man-db"}, root)
        request.getfixturevalue("package")
        made = making.result()
    if made.returncode != 0 and re.search(r"Failed getting release file|Couldn't download", made.stdout + made.stderr):
        pytest.skip(f"the packages of {request.param} cannot be fetched here")
    assert made.returncode == 0, made.stdout + made.stderr
    # pytest lets no other user into its directories, and chroot takes the mode along.
    root.chmod(0o755)
    yield root
    shutil.rmtree(root)


def within(root, command):
    done = subprocess.run(["chroot", root, "sh", "-ec", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(root):
    skipped = [word for name in NOT_OURS for word in ("-path", root / name, "-prune", "-o")]
    found = subprocess.run(["find", root, *skipped, "-printf", "%P\\n"], capture_output=True, text=True, check=True)
    return set(found.stdout.splitlines())


def higher(package, version):
    """Give the same package with another version."""
    control = package.parent / "tree" / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^(Version: ).*$", rf"\g<1>{version}", control.read_text()))
    path = package.with_name("higher.deb")
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", "-Znone", package.parent / "tree", path], check=True)
    return path


def install(root, package, command):
    shutil.copyfile(package, root / "root" / package.name)
    within(root, f"cd /root; {command}")
    (root / "root" / package.name).unlink()


def contents_of_users(root):
    """Give what people have written, by its path."""
    places = [root / name for name in ("etc/brimful", "root/runs", "srv/found", "var/lib/private")]
    return {path: path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}


def linked(tree):
    """Give the libraries that programs and modules of the package are linked with and that it does not have."""
    elf = [path for path in tree.rglob("*") if path.parent == tree / "usr/bin" or ".so" in path.name]
    shown = subprocess.run(["readelf", "--dynamic", *elf], capture_output=True, text=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", shown)) - {path.name for path in elf}


def test_it_is_installed_used_upgraded_removed_and_purged(deb, debian, package):
    _, installing, settings, removing, _ = blocks(ROOT / "docs/how-to/install.md", "sh")
    # The rest is what the page says: an answer, and what the package only recommends, would need a person or a network.
    (debian / "etc/apt/apt.conf.d/test").write_text('APT { Get::Assume-Yes "true"; Install-Recommends "false"; };\n')
    before = files(debian)
    install(debian, package, installing)
    within(debian, settings)
    use(debian)
    libraries = linked(package.parent / "tree")
    assert {"libc.so.6", "libz.so.1"} <= libraries
    owners = within(debian, "dpkg-query --search " + " ".join(f"'*/{name}'" for name in libraries))
    assert set(re.findall(r"(?m)^([^:]+):\S+: ", owners)) <= depends(deb)

    (debian / "var/lib/private/brimful").mkdir(parents=True)
    (debian / "var/lib/brimful").symlink_to("private/brimful")
    (debian / "var/lib/brimful/tables").write_text("kept")
    written = contents_of_users(debian)
    assert {"switch.toml", "run.jsonl", "tables"} <= {path.name for path in written}
    version = f"{deb.PROJECT['version']}+1"
    upgrade = higher(package, version)
    install(debian, upgrade, f"dpkg --install {upgrade.name}")
    assert within(debian, "dpkg-query --show --showformat '${Version}' brimful") == version
    assert "regular" in within(debian, "brimful report /srv/found")
    assert contents_of_users(debian) == written

    remove, purge = removing.splitlines()
    # Matplotlib keeps its list of fonts for each user.
    users = ("etc/brimful", "root/runs", "root/.cache", "root/.config", "srv/found", "var/lib/private")
    within(debian, remove)
    left = {name for name in files(debian) - before if not name.startswith(users)}
    assert left == {"var/lib/brimful"}
    assert contents_of_users(debian) == written
    within(debian, purge)
    assert not [name for name in files(debian) - before if not name.startswith(users)]
    assert not (debian / "var/lib/private/brimful").exists()
    assert before <= files(debian)
    assert contents_of_users(debian).items() < written.items()


def use(root):
    """Run what people run first, as a user without rights where that is enough."""
    within(root, "install --directory --owner=nobody /srv/found")
    unprivileged = "setpriv --reuid=nobody --regid=nogroup --clear-groups"
    searched = within(root, f"cd /srv; {unprivileged} brimful search -m sim:sharp --preset quick --out /srv/found")
    assert "regular" in searched
    within(root, "brimful report /srv/found --html /tmp/report.html --pdf /tmp/report.pdf")
    within(root, "rm /tmp/report.*")
    assert "Find how much load something takes at given loss" in " ".join(within(root, "man brimful-search").split())
