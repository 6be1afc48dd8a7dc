"""Draw figures of pages again, by the scripts of the gallery.

    python docs/figures/draw.py                  # all of them
    python docs/figures/draw.py four_kernels.png     # some of them

The other figures in this folder are drawn by `benchmarks/` and by `examples/`, as their pages say.
"""

import runpy
import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image, PngImagePlugin

FOLDER = Path(__file__).resolve().parent
#: For each figure the script that draws it, its number among the figures of the script, and how many colours it needs.
DRAWN_BY = {
    "unmixed_images.png": ("plot_ica_images", 1, 40),
    "four_kernels.png": ("plot_kernel_pca_four_kernels", 1, 128),
}


def main(names: list[str]) -> None:
    plt.switch_backend("Agg")
    for name in names or DRAWN_BY:
        script, number, colours = DRAWN_BY[name]
        plt.close("all")
        runpy.run_path(str(FOLDER.parents[1] / "gallery" / f"{script}.py"), run_name="__main__")
        save(plt.figure(number), FOLDER / name, colours)


def save(figure: plt.Figure, path: Path, colours: int) -> None:
    """Write a figure with few colours, so that the file is small, and with its description."""
    figure.set_dpi(100)
    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    text = PngImagePlugin.PngInfo()
    text.add_text("Description", figure.get_label())
    picture.quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True, pnginfo=text)


if __name__ == "__main__":
    main(sys.argv[1:])
