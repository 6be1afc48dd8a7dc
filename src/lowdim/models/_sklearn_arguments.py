"""Arguments of scikit-learn's classes that the models here do not have, and what to write instead."""

from __future__ import annotations

_ROWS = "rows are never overwritten; leave it out"
_EXACT = "the eigenpairs are computed to their full accuracy; leave it out"
_ITERATION = "there is no iteration to stop; leave it out"

#: For each model, the arguments of scikit-learn's class that it does not take, with what to do instead.
SKLEARN_ARGUMENTS: dict[str, dict[str, str]] = {
    "PCA": {
        "copy": _ROWS,
        "tol": "write solver=Krylov(tol=...), from lowdim.solvers",
        "iterated_power": "write solver=Krylov(steps=...), from lowdim.solvers",
        "n_oversamples": "write solver=Krylov(block=...), from lowdim.solvers",
        "power_iteration_normalizer": _EXACT,
        "batch_size": "blocks are of the right size already; leave it out",
    },
    "FactorAnalysis": {
        "copy": _ROWS,
        "tol": "write solver=Newton(tol=...) or solver=EM(tol=...), from lowdim.solvers",
        "max_iter": "write solver=Newton(max_iter=...) or solver=EM(max_iter=...), from lowdim.solvers",
        "noise_variance_init": "the solver finds its own starts; leave it out, or write solver=Newton(n_init=...)",
        "svd_method": _EXACT,
        "iterated_power": _EXACT,
    },
    "KernelPCA": {
        "kernel_params": "pass a kernel with its parameters, as in kernel=Gaussian(sigma=2.0), or a functools.partial",
        "alpha": "write preimage=Ridge(alpha=...), from lowdim.solvers",
        "fit_inverse_transform": "inverse_transform is always there; leave it out, or write preimage=... for a method",
        "eigen_solver": "write solver='dense' or solver='krylov'",
        "tol": "write solver=KrylovKernel(tol=...), from lowdim.solvers",
        "max_iter": "write solver=KrylovKernel(max_steps=...), from lowdim.solvers",
        "iterated_power": "write solver=KrylovKernel(steps=...), from lowdim.solvers",
        "remove_zero_eig": "components without variance are always left out; leave it out",
        "copy_X": _ROWS,
        "n_jobs": "the number of threads is that of BLAS; limit it with threadpoolctl",
    },
    "ICA": {
        "algorithm": "all sources are found together; leave it out",
        "whiten": "rows are always whitened; leave it out, or write ortho=True for sources of variance one",
        "fun": "write density='sech' for 'logcosh', or density=... with a density from lowdim.densities",
        "fun_args": "pass a density with its parameters, from lowdim.densities",
        "whiten_solver": _EXACT,
    },
    "PLSRegression": {"copy": _ROWS, "max_iter": _ITERATION, "tol": _ITERATION},
    "PLSCanonical": {
        "copy": _ROWS,
        "algorithm": "both of scikit-learn's algorithms give the result found here; leave it out",
        "max_iter": _ITERATION,
        "tol": _ITERATION,
    },
    "PLSSVD": {"copy": _ROWS},
    "CCA": {"copy": _ROWS, "max_iter": _ITERATION, "tol": _ITERATION},
}
