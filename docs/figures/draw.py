"""Draw figures of pages again, by the other scripts in this folder and by those of the gallery.

    python docs/figures/draw.py                  # all of them
    python docs/figures/draw.py failures.png     # some of them

The other figures in this folder are drawn by `benchmarks/` and by `examples/`, as their pages say.
"""

import runpy
import sys
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from PIL import Image, PngImagePlugin

FOLDER = Path(__file__).resolve().parent
#: For each figure the script that draws it, its number among the figures of the script, and how many colours it needs.
DRAWN_BY = {
    "front.png": ("plot_pca_wine", 1, 128),
    "unmixed_images.png": ("plot_ica_images", 1, 40),
    "four_kernels.png": ("plot_kernel_pca_four_kernels", 1, 128),
    "failures.png": ("plot_when_methods_fail", 1, 128),
}
#: Figures of three kinds of pages: functions that draw on axes, and how many axes they need.
METHODS, TUTORIALS, QUESTIONS = (
    {f"{name}.png": drawn for name, drawn in runpy.run_path(str(FOLDER / script))["FIGURES"].items()}
    for script in ("methods.py", "tutorials.py", "questions.py")
)


def main(names: list[str]) -> None:
    plt.switch_backend("Agg")
    for name in names or [*METHODS, *TUTORIALS, *QUESTIONS, *DRAWN_BY]:
        plt.close("all")
        if name not in DRAWN_BY:
            save(of_a_page(name), FOLDER / name, 256)
        else:
            script, number, colours = DRAWN_BY[name]
            runpy.run_path(str(FOLDER.parents[1] / "gallery" / f"{script}.py"), run_name="__main__")
            save(plt.figure(number), FOLDER / name, colours)


def of_a_page(name: str) -> plt.Figure:
    """A figure of one of the scripts in this folder; what is drawn is its description."""
    function, panels = (METHODS | TUTORIALS | QUESTIONS)[name]
    with matplotlib.rc_context({"font.size": 9, "axes.titlesize": 10}):
        figure = plt.figure(figsize=(8, 2.9 if panels == 3 else 3.7), layout="constrained")
        figure.set_label(function.__doc__)
        function(figure.subplots(1, panels))
        figure.canvas.draw()
    return figure


def save(figure: plt.Figure, path: Path, colours: int) -> None:
    """Write a figure with few colours, so that the file is small, and with its description."""
    figure.set_dpi(100)
    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    text = PngImagePlugin.PngInfo()
    text.add_text("Description", figure.get_label())
    picture.quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True, pnginfo=text
    )


if __name__ == "__main__":
    main(sys.argv[1:])
