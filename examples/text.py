"""Text as sparse rows: the help pages that come with Python, ordered by the words that they use.

The table of TF-IDF weights is nearly all zeros and stays sparse. You learn latent semantic analysis, which is PCA
without centring, to read a component by its words, and to find the pages that are similar to a given one.
"""

import sys
from pathlib import Path
from pydoc_data.topics import topics

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from lowdim import PCA, Table


def data() -> pd.DataFrame:
    """A row for each page and a column for each word that occurs in several pages; the columns are sparse."""
    pages = {text: name for name, text in topics.items()}  # some pages have two names
    words = TfidfVectorizer(stop_words="english", token_pattern="[a-z]{3,}", min_df=3, sublinear_tf=True)
    weights = words.fit_transform(pages)
    return pd.DataFrame.sparse.from_spmatrix(weights, index=list(pages.values()), columns=words.get_feature_names_out())


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
pages = data()
lsa = PCA(10, center=False).fit(pages)
print(lsa, end="\n\n")
words, scores = lsa.tables.loadings(), lsa.tables.scores(pages)
for name in ("PC2", "PC3"):
    print(words.sort(name).select([name]).head(5), scores.sort(name).select([name]).head(5), sep="\n", end="\n\n")

similar = cosine_similarity(scores)[pages.index.get_loc("for")]
print(Table({"cosine": similar}, pages.index, title='Pages that are similar to "for"').sort("cosine").head(6))
lsa.plot.scores(pages, components=("PC2", "PC3")).figure.savefig(folder / "text_map.png")
lsa.plot.loading_bars("PC2").figure.savefig(folder / "text_words.png")
