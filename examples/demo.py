"""Fit PCA to scikit-learn's handwritten digits and print how many components to keep."""

from sklearn.datasets import load_digits

from lowdim import PCA

WANTED = 0.9


def main() -> None:
    X = load_digits().data
    n, p = X.shape
    print(f"{n} images of 8 x 8 pixels: X has {n} rows and {p} columns\n")

    pca = PCA(10).fit(X)
    print(pca)

    kept = PCA(WANTED).fit(X)
    share = kept.explained_variance_ratio_.sum()
    print(f"\nTo explain {WANTED:.0%} of the variance, keep {kept.n_components_} of {p} components.")
    print(f"They explain {share:.1%}.")


if __name__ == "__main__":
    main()
