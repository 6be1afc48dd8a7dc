"""Draw the picture of the front page: how many components, the map of the rows, and what the columns mean.

python docs/figures/front.py
"""

from __future__ import annotations

from pathlib import Path

from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

from lowdim import PCA, bootstrap, choose_n_components


def draw(folder: Path = Path(__file__).parent) -> None:
    """Write front.png into the folder."""
    wine = load_wine(as_frame=True)
    kinds = wine.target.map(lambda kind: f"kind {kind + 1}")
    names = dict.fromkeys(wine.data.columns) | {"od280/od315_of_diluted_wines": "od280/od315"}
    table = wine.data.rename(columns={old: (new or old).replace("_", " ") for old, new in names.items()})
    model = PCA("parallel", standardize=True)
    pca = model.fit(table)
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained", width_ratios=[1, 1.15, 1])
    pca.plot.scree(choose_n_components(table, standardize=True), ax=axes[0])
    pca.plot.scores(table, groups=kinds, ax=axes[1])
    draws = bootstrap(PCA(3, standardize=True), table, n_boot=200, random_state=0)
    pca.plot.loading_bars(1, bootstrap=draws, ax=axes[2])
    for ax, title in zip(axes, ("How many components?", "Where are the rows?", "What do they mean?"), strict=True):
        ax.set_title(title)
    figure.get_layout_engine().set(wspace=0.06)
    figure.savefig(folder / "front.png", dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    draw()
