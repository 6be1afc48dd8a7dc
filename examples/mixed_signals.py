"""Mixed signals: four microphones hear four sources at once, and ICA tells the sources apart.

Nothing is known about the sources or about how they were mixed. You learn to fit ICA, to look at the sources and at how
far each is from a Gaussian, and why PCA is not enough.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import signal

from lowdim import ICA, PCA, Table


def data() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The signals of four sources in ten seconds, and what four microphones recorded of them."""
    random, time = np.random.default_rng(0), np.linspace(0.0, 10.0, 8000)
    sources = pd.DataFrame(
        {
            "hum": np.sin(2 * np.pi * 5.0 * time),
            "alarm": signal.square(2 * np.pi * 3.1 * time),
            "siren": signal.sawtooth(2 * np.pi * 1.7 * time, width=0.8),
            "crackle": random.laplace(size=len(time)) * (0.3 + signal.square(2 * np.pi * 0.7 * time, duty=0.3).clip(0)),
        }
    )
    heard = sources.to_numpy() @ random.uniform(0.3, 1.0, (4, 4))
    return sources, pd.DataFrame(heard, columns=[f"microphone {i}" for i in range(1, 5)])


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
sources, heard = data()
ica = ICA().fit(heard)
print(ica, ica.tables.loadings(), sep="\n\n", end="\n\n")

found = {"ICA": ica.transform(heard), "PCA": PCA().fit_transform(heard)}
similar = {name: np.abs(np.corrcoef(sources.T, Z.T)[:4, 4:]).max(axis=1) for name, Z in found.items()}
print(Table(similar, list(sources), title="Largest correlation of each source with a component"))
ica.plot.sources(heard).figure.savefig(folder / "signals_sources.png")
ica.plot.densities(heard).figure.savefig(folder / "signals_densities.png")
