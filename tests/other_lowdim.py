"""Folders that come first on the path of a worker: in one there is no lowdim, in the other one of another version."""

from pathlib import Path

import lowdim


def without_lowdim(folder: Path) -> Path:
    folder.mkdir()
    (folder / "lowdim.py").write_text("raise ModuleNotFoundError(\"No module named 'lowdim'\", name='lowdim')\n")
    return folder


def with_another_version(folder: Path) -> Path:
    package, here = folder / "lowdim", Path(lowdim.__file__).parent
    (package / "_core").mkdir(parents=True)
    versioned = here / "_core" / "__init__.py"
    for file in [*here.iterdir(), *versioned.parent.iterdir()]:
        if file not in (versioned, versioned.parent) and file.name != "__pycache__":
            (package / file.relative_to(here)).symlink_to(file)
    (package / "_core" / "__init__.py").write_text(versioned.read_text().replace(lowdim.__version__, "0.0.1"))
    return folder
