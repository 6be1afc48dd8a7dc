"""PLS and PCR on spectra: the octane number of gasoline, predicted from its near-infrared spectrum.

There are 401 wavelengths and only 60 samples. You learn to choose the number of components by cross-validation, to see
which wavelengths matter, and how far predictions of new samples are off.
"""

import sys
from pathlib import Path

import pandas as pd
from sklearn.model_selection import train_test_split

from lowdim import PCR, PLSRegression, bootstrap, cross_validate, plot


def data() -> list:
    """Spectra and octane numbers of 45 samples to learn from, and of 15 to try; the columns are wavelengths in nm."""
    table = pd.read_csv(Path(__file__).parents[1] / "tests/parity/data/gasoline.csv")
    table.columns = table.columns.str.removeprefix("nm")
    X, X_new, y, y_new = train_test_split(table.drop(columns="octane"), table["octane"], random_state=0)
    return [X, X_new, y, y_new]


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

X, X_new, y, y_new = data()
for kind in (PLSRegression, PCR):
    found = cross_validate(kind(scale=False), X, y, cv=9, n_components=range(1, 9))
    model = kind(found.one_standard_error, scale=False).fit(X, y)
    print(found, model, f"R2 of new samples: {model.score(X_new, y_new):.3f}", sep="\n\n", end="\n\n")
    plot.validation(found).figure.savefig(folder / f"spectra_{kind.__name__}.png")
    model.plot.predictions(X_new, y_new).figure.savefig(folder / f"spectra_{kind.__name__}_new.png")

pls = PLSRegression(3, scale=False).fit(X, y)
print(pls.tables.vip().sort("VIP").head(5))
sure = bootstrap(PLSRegression(3, scale=False), X, y, n_resamples=100, random_state=0)
pls.plot.coefficients(bootstrap=sure).figure.savefig(folder / "spectra_coefficients.png")
