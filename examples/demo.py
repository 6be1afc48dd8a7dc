"""`make demo`: PCA of scikit-learn's handwritten digits: tables, pictures, a report, and the commands that do the same.

You learn to read a file by the names of its columns, how many components the digits need, and what they look like.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import lowdim


def data(path: Path) -> Path:
    """A CSV file of 1797 images: which digit it is, and 64 pixels with values from 0 to 16."""
    digits = load_digits()
    names = ["digit"] + [f"pixel{i}" for i in range(1, 65)]
    table = np.column_stack([digits.target, digits.data])
    np.savetxt(path, table, fmt="%d", delimiter=",", header=",".join(names), comments="")
    return path


folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
folder.mkdir(exist_ok=True)
digits = data(folder / "digits.csv")
pixels = lowdim.scan(digits, columns="pixel*")
pca, choices = lowdim.PCA(20).fit(pixels), lowdim.choose_n_components(pixels)
print(pca, choices, sep="\n\n", end="\n\n")
pca.plot.scree(choices).figure.savefig(folder / "scree.png")
pca.plot.scores(digits, hue="digit").figure.savefig(folder / "scores.png")
pca.plot.reconstructions(pixels).figure.savefig(folder / "reconstructions.png")
lowdim.save(pca, folder / "digits.model")
report = lowdim.report(digits, folder / "report.html", hue="digit", title="Handwritten digits", overwrite=True)
print(f"""{report}

The pictures and the model are in {folder}. The same by commands:

lowdim choose {digits} --columns "pixel*"
lowdim fit pca {digits} --columns "pixel*" -k 20 -o {folder}/digits.model --overwrite
lowdim plot scree {folder}/digits.model -o {folder}/scree.png --overwrite
lowdim plot scores {folder}/digits.model {digits} --hue digit -o {folder}/scores.png --overwrite
lowdim plot reconstructions {folder}/digits.model {digits} -o {folder}/reconstructions.png --overwrite
lowdim report {digits} --hue digit --title "Handwritten digits" -o {folder}/report.html --overwrite

A page that shows what is in the table, to be opened in a browser:
{report.path}""")
