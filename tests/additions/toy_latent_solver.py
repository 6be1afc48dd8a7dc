"""A solver of factor analysis: L-BFGS of SciPy on the logarithms of the uniquenesses."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from lowdim.solvers import Cost, LatentFit, LatentSolver, Status


@dataclass(frozen=True)
class Descent(LatentSolver):
    """Minimise sum y + tr S* + sum_{j <= k} (ln theta_j - theta_j + 1), S* = Psi^{-1/2} S Psi^{-1/2}, psi = exp y."""

    name = "descent"
    ties_noise = False
    tol: float = 1e-10

    def cost(self, job):
        return Cost(job.rows * job.p**2, 1, 8 * 8 * job.p**2, "somebody likes it")

    def fit_moments(self, moments, request, spectra):
        n, p, k = moments.weight, moments.n_features, request.k
        S = np.asarray(moments.scatter) / n
        sd = np.sqrt(np.diagonal(S))
        R = S / sd / sd[:, None]

        def leading(y):
            theta, omega = np.linalg.eigh(R * np.exp(-0.5 * (y + y[:, None])))
            return theta[::-1][:k].clip(1.0), omega[:, ::-1][:, :k]

        def objective(y):
            theta, omega = leading(y)
            value = y.sum() + np.exp(-y).sum() + (np.log(theta) - theta + 1.0).sum()
            return value, 1.0 + omega**2 @ (theta - 1.0) - np.exp(-y)

        limits = [(np.log(request.floor), 0.0)] * p
        start = np.log(1.0 / np.diagonal(np.linalg.inv(R)))
        found = optimize.minimize(objective, start, jac=True, method="L-BFGS-B", bounds=limits, options={"ftol": 1e-15})
        theta, omega = leading(found.x)
        W = (omega * np.sqrt(theta - 1.0) * np.exp(0.5 * found.x)[:, None]).T
        loglike = -0.5 * n * (p * np.log(2 * np.pi) + 2 * np.log(sd).sum() + found.fun)
        return LatentFit(
            mean=moments.mean, scale=sd, loadings=W, noise=np.exp(found.x), spread=None, weight=n,
            n_rows=moments.n_rows, loglike=[loglike], status=Status.CONVERGED, residual=float(np.abs(found.jac).max()),
            passes=1,
        )  # fmt: skip
