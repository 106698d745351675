"""The Debian package in an empty Debian: installed, used, upgraded, removed and purged."""

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


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True).stdout


RELEASES = ["bookworm", "trixie"] if os.environ.get("BRIMFUL_ALL_CASES") else ["bookworm"]
"""A Debian takes minutes: the newer one is for who asks."""


@pytest.fixture(scope="module", params=RELEASES)
def debian(request, package, tmp_path_factory):
    """Give a root that has what the package depends on, what the test asks with, and nothing else."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("an empty Debian needs root and debootstrap")
    needed = re.findall(r"([a-z][a-z0-9+-]+) ?(?:\([^)]*\))?(?:, |$)", field(package, "Depends").strip())
    root = tmp_path_factory.mktemp(request.param)
    include = ",".join(sorted({*needed, "man-db"}))
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={include}", request.param, root],
        capture_output=True,
        text=True,
    )
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


def higher(package, directory):
    """Give the same package with a higher version."""
    subprocess.run(["dpkg-deb", "--raw-extract", package, directory / "tree"], check=True)
    control = directory / "tree" / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^(Version: .*)$", r"\1+1", control.read_text()))
    subprocess.run(["dpkg-deb", "--build", "-Znone", directory / "tree", directory / "higher.deb"], check=True)
    shutil.rmtree(directory / "tree")
    return directory / "higher.deb"


def install(root, package, command):
    shutil.copyfile(package, root / "root" / package.name)
    within(root, f"cd /root; {command}")
    (root / "root" / package.name).unlink()


def contents_of_users(root):
    """Give what people have written, by its path."""
    places = [root / "etc/brimful", root / "root/runs", root / "srv/found"]
    return {path: path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}


def test_it_is_installed_used_upgraded_removed_and_purged(debian, package, tmp_path):
    _, installing, settings, removing, _ = blocks(ROOT / "docs/how-to/install.md", "sh")
    # The rest is what the page says: an answer, and what the package only recommends, would need a person or a network.
    (debian / "etc/apt/apt.conf.d/test").write_text('APT { Get::Assume-Yes "true"; Install-Recommends "false"; };\n')
    before = files(debian)
    install(debian, package, installing)
    within(debian, settings)
    use(debian)
    written = contents_of_users(debian)
    assert {"switch.toml", "run.jsonl"} <= {path.name for path in written}

    upgrade = higher(package, tmp_path)
    install(debian, upgrade, f"dpkg --install {upgrade.name}")
    version = within(debian, "dpkg-query --show --showformat '${Version}' brimful")
    assert version == field(package, "Version").strip() + "+1"
    assert "regular" in within(debian, "brimful report /srv/found")
    assert contents_of_users(debian) == written

    (debian / "var/lib/private/brimful").mkdir(parents=True)
    (debian / "var/lib/brimful").symlink_to("private/brimful")
    remove, purge = removing.splitlines()
    # Matplotlib keeps its list of fonts for each user.
    users = ("etc/brimful", "root/runs", "root/.cache", "root/.config", "srv/found", "var/lib/private")
    within(debian, remove)
    left = {name for name in files(debian) - before if not name.startswith(users)}
    assert left == {"var/lib/brimful"}
    within(debian, purge)
    assert not [name for name in files(debian) - before if not name.startswith(users)]
    assert not (debian / "var/lib/private/brimful").exists()
    assert before <= files(debian)
    assert contents_of_users(debian) == written


def use(root):
    """Run what people run first, as a user without rights where that is enough."""
    within(root, "install --directory --owner=nobody /srv/found")
    unprivileged = "setpriv --reuid=nobody --regid=nogroup --clear-groups"
    searched = within(root, f"cd /srv; {unprivileged} brimful search -m sim:sharp --preset quick --out /srv/found")
    assert "regular" in searched
    within(root, "brimful report /srv/found --html /tmp/report.html --pdf /tmp/report.pdf")
    within(root, "rm /tmp/report.*")
    assert "Find how much load something takes at given loss" in " ".join(within(root, "man brimful-search").split())
