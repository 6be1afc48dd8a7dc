"""The rows of a file, in blocks."""

import numpy as np

from lowdim import scan
from lowdim.sources import open_source


def rows(path, **options):
    source = open_source(scan(path, **options))
    return np.concatenate(list(source.blocks(100)))
