"""PCA of a table with names: which kinds of crime went together in the states of the USA in 1973, and where.

The columns have different units, so their correlations are analysed. You learn to read the loadings, to see which
states make a component what it is, and to decide how many components are worth a look.
"""

import sys
from pathlib import Path

import pandas as pd

from lowdim import PCA, choose_n_components


def data() -> pd.DataFrame:
    """Arrests per 100,000 inhabitants, and the share of people in towns; the states are the labels of the rows."""
    return pd.read_csv(Path(__file__).parents[1] / "tests/parity/data/usarrests.csv", index_col="state")


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

states = data()
pca = PCA(2, scale=True).fit(states)
print(pca, pca.tables.loadings(), sep="\n\n", end="\n\n")
print(pca.tables.contributions(states).sort("PC1").head(5), pca.tables.diagnose(states), sep="\n\n", end="\n\n")

choices = choose_n_components(states, scale=True)
print(choices)
pca.plot.scree(choices).figure.savefig(folder / "states_scree.png")
pca.plot.biplot(states).figure.savefig(folder / "states_biplot.png")
pca.plot.correlation_circle(states).figure.savefig(folder / "states_circle.png")
