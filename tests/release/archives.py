"""What `make dist` checks of the wheel and the source archive: what they hold, and that they install and work.

    python tests/release/archives.py dist

Each archive is installed in a fresh environment in a temporary folder, where smoke.py runs away from the repository.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

SMOKE = Path(__file__).with_name("smoke.py")
README = Path(__file__).parents[2] / "README.md"
SOURCE = Path(__file__).parents[2] / "src"
#: Names of folders and endings of files that belong into no archive.
UNWANTED = {"node_modules", "__pycache__", ".venv", ".venv-oldest", ".git", ".hypothesis", "generated", "build", "dist"}
#: Bytes. The source archive has figures and pictures that tests compare with.
LARGEST = {".whl": 2 << 20, ".gz": 8 << 20}


def package_files() -> set[str]:
    """The files of the package, code or not, and the start of its command, as the wheel names them."""
    found = (path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(SOURCE).as_posix() for path in found}


def check_wheel(path: Path) -> None:
    """It holds every file of the package, its description and the licence, and nothing else."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    described = {name for name in names if ".dist-info/" in name}
    assert names - described == package_files(), (names - described) ^ package_files()
    assert any(name.endswith("/licenses/LICENSE") for name in described), described


def check_sdist(path: Path) -> None:
    """It holds the sources with their tests and pages, nothing that was made from them, and no data under the GPL."""
    with tarfile.open(path) as archive:
        names = {PurePosixPath(*PurePosixPath(name).parts[1:]) for name in archive.getnames()}
    for name in (
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "pyproject.toml",
        "Makefile",
        "docs/conf.py",
        "tests/oracles.py",
    ):
        assert PurePosixPath(name) in names, f"{name} is not in {path.name}"
    assert {f"src/{name}" for name in package_files()} <= {str(name) for name in names}
    for name in names:
        assert not UNWANTED & set(name.parts) and name.suffix != ".pyc", f"{name} is in {path.name}"
        assert name.parts[:2] not in {("tests", "parity"), ("examples", "data"), ("gallery", "data")}, name


def python_of(environment: Path) -> str:
    """The interpreter of a virtual environment."""
    return str(environment / ("Scripts" if os.name == "nt" else "bin") / "python")


def check_installed(archive: Path) -> None:
    """It works alone, and then with the extras, in a new environment and outside of the repository."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "environment")], check=True)
        python = python_of(folder / "environment")
        shutil.copy(SMOKE, folder)
        for extras, kind in (("", "bare"), ("[cli,plot,report]", "extras")):
            print(f"{archive.name}{extras} in an empty environment", flush=True)
            install = ["-m", "pip", "--disable-pip-version-check", "install", "-q", f"{archive}{extras}"]
            subprocess.run([python, *install], cwd=folder, check=True)
            subprocess.run([python, "-I", "smoke.py", kind], cwd=folder, check=True)
        # The first example that a new user tries runs with what the page says is needed, which includes pandas.
        subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "-q", "pandas"], check=True)
        shutil.copy(README, folder)
        subprocess.run([python, "-I", "-m", "doctest", README.name], cwd=folder, check=True)


def main(folder: Path) -> None:
    """Check all archives of a folder: one wheel and one source archive."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    for path, check in ((wheel, check_wheel), (sdist, check_sdist)):
        assert path.stat().st_size < LARGEST[path.suffix], f"{path.name} has {path.stat().st_size} bytes"
        check(path)
    for path in (wheel, sdist):
        check_installed(path.resolve())
    print(f"{wheel.name} and {sdist.name} install and work.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
