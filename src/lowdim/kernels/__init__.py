"""Kernels: inner products of rows in a feature space, as small parameter objects.

A kernel is called with two blocks of rows, `kernel(X, Y)`, and returns the matrix of k(x_i, y_j). Kernels can be added
and multiplied, and the result is again a kernel. `KERNELS` lists the kernels by name.
"""

from .base import Function, Kernel, Multiple, Product, Sum, no_frequencies, no_width
from .gaussian import Gaussian
from .named_kernels import (
    KERNELS,
    Cosine,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Quadratic,
    Sigmoid,
    ThinPlateSpline,
    as_kernel,
    parameters_of,
    refuse_parameters,
)

__all__ = [
    "KERNELS",
    "Cosine",
    "Function",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Multiple",
    "Polynomial",
    "Product",
    "Quadratic",
    "Sigmoid",
    "Sum",
    "ThinPlateSpline",
    "as_kernel",
    "no_frequencies",
    "no_width",
    "parameters_of",
    "refuse_parameters",
]
