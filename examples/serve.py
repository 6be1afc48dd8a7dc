"""Save, load, serve: a model that was fitted here answers in another program, with lowdim or without it.

You learn what a saved file holds, that a loaded model gives the same numbers, that rows with the wrong columns are
refused, and how to hand a model to programs in other languages as ONNX.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
from sklearn.datasets import load_diabetes

import lowdim


def data() -> tuple[pd.DataFrame, pd.Series]:
    """Ten measurements of 442 patients, and how far their diabetes had progressed a year later."""
    return load_diabetes(return_X_y=True, as_frame=True, scaled=False)


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

X, y = data()
lowdim.save(lowdim.PLSRegression("cv").fit(X[:400], y[:400]), folder / "diabetes.model")

# In a service. `load` runs no code from the file; it gives a whole model or an error.
model = lowdim.load(folder / "diabetes.model")
print(model, model.tables.coefficients(), sep="\n\n", end="\n\n")
try:
    model.predict(X[["bmi", "bp"]])
except ValueError as error:
    print("Rows with too few columns are refused.", error, sep="\n")

# Elsewhere, without lowdim.
(folder / "diabetes.onnx").write_bytes(lowdim.to_onnx(model, output="predict").SerializeToString())
(predicted,) = onnxruntime.InferenceSession(folder / "diabetes.onnx").run(None, {"X": X[400:].to_numpy()})
print(f"Largest difference of predictions by ONNX: {np.abs(predicted.ravel() - model.predict(X[400:])).max():.1e}")
model.plot.predictions(X[400:], y[400:]).figure.savefig(folder / "diabetes_predictions.png")
