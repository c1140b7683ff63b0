"""Compute how much of its time a job trains if failures send it back to its last checkpoint.

The letters are those of Daly 2006: M (``mtbf``) is the mean time between the failures of the whole job, δ (``delta``)
the time to write a checkpoint, during which the job waits, R (``restart``) the time from a failure until training
continues, and τ (``tau``) the training between two checkpoints. All are in the same unit. Failures are a Poisson
process.

Sources:

- J. W. Young: A first order approximation to the optimum checkpoint interval. CACM 17(9), 1974.
- J. T. Daly: A higher order estimate of the optimum checkpoint interval for restart dumps. FGCS 22(3), 2006.
- A. Kokolis et al.: Revisiting Reliability in Large-Scale Machine Learning Research Clusters. HPCA 2025,
  arXiv:2410.21680.
"""

from math import exp, expm1, sqrt
from typing import Final

_MAX_EXPONENT: Final = 700.0
"""Beyond this exponent, e^x overflows; the share of useful time is then below 10^-300."""


def young_interval(delta: float, mtbf: float) -> float:
    """Return Young's best τ, √(2δM), for δ much less than M.

    Examples
    --------
    >>> young_interval(delta=2.0, mtbf=100.0)
    20.0

    """
    return sqrt(2 * delta * mtbf)


def daly_interval(delta: float, mtbf: float) -> float:
    """Return Daly's best τ: √(2δM)·[1 + √(δ/2M)/3 + (δ/2M)/9] - δ, or M if δ ≥ 2M.

    Examples
    --------
    >>> round(daly_interval(delta=2.0, mtbf=100.0), 3), daly_interval(delta=200.0, mtbf=100.0)
    (18.689, 100.0)

    """
    if delta >= 2 * mtbf:
        return mtbf
    ratio = delta / (2 * mtbf)
    return young_interval(delta, mtbf) * (1 + sqrt(ratio) / 3 + ratio / 9) - delta


def training_time_ratio(tau: float, delta: float, restart: float, mtbf: float) -> float:
    """Return the expected share of the time in which a long job trains, its effective training time ratio (ETTR).

    A segment of training and its checkpoint, τ + δ, takes M·e^(R/M)·(e^((τ+δ)/M) - 1) on average, failures during a
    restart included (Daly 2006). This is exact.

    Examples
    --------
    >>> round(training_time_ratio(tau=20.0, delta=2.0, restart=5.0, mtbf=100.0), 4)
    0.7731

    """
    if (restart + tau + delta) / mtbf > _MAX_EXPONENT:
        return 0.0
    return tau / (mtbf * exp(restart / mtbf) * expm1((tau + delta) / mtbf))


def approximate_training_time_ratio(tau: float, delta: float, restart: float, mtbf: float) -> float:
    """Return the ETTR by the approximation of Kokolis et al., (1 - (R + τ/2)/M) / (1 + δ/τ); 0 if it is negative.

    They write N·r_f for 1/M, u_0 for R, Δt_cp for τ and w_cp for δ. Queueing is part of R.

    Examples
    --------
    >>> round(approximate_training_time_ratio(tau=20.0, delta=2.0, restart=5.0, mtbf=100.0), 4)
    0.7727

    """
    return max(0.0, (1 - (restart + tau / 2) / mtbf) / (1 + delta / tau))
