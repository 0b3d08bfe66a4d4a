r"""Where gradient methods end on least squares, and which part of the start is still in it.

Every method whose step is a fixed positive definite D times the gradient ends, without decay and with fewer
examples n than weights d, at the interpolator

.. math:: w_\infty = w_0 + D X^\top (X D X^\top)^{-1} (y - X w_0) = M w_0 + \dots,

where the memory operator :math:`M = I - D X^\top (X D X^\top)^{-1} X` is the projection along the range of
:math:`D X^\top` onto what no example sees. Its trace is :math:`d - n` whatever D is; unless D is a multiple
of the identity there it is oblique and its norm above 1, so that a start can come out larger than it went in.
"""

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace


def memory_operator(X: Array, D: Array | None = None) -> Array:
    r"""What the limit keeps of the start, :math:`M = I - D X^\top (X D X^\top)^{-1} X`.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Examples, of rank n below d.
    D : ndarray, shape (d, d), optional
        Symmetric positive definite preconditioner; the identity by default.

    Returns
    -------
    ndarray, shape (d, d)
        With :math:`M^2 = M` and :math:`X M = 0`.

    Raises
    ------
    InvalidInput
        If shapes do not fit or the examples depend on each other.

    Examples
    --------
    >>> M = memory_operator(np.array([[1.0, 2.0, 2.0]]), np.diag([1.0, 2.0, 4.0]))
    >>> round(float(np.trace(M)), 12), round(float(np.linalg.norm(M, 2)), 4)
    (2.0, 1.08)
    """
    return np.eye(_width(X)) - _correction(X, D) @ X


def limit(X: Array, y: Array, w0: Array, D: Array | None = None) -> Array:
    r"""Where preconditioned descent of least squares ends, :math:`w_0 + D X^\top (X D X^\top)^{-1}(y-Xw_0)`.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Examples, of rank n below d.
    y : ndarray, shape (n,)
        Targets.
    w0 : ndarray, shape (d,)
        Start.
    D : ndarray, shape (d, d), optional
        As in :func:`memory_operator`.

    Returns
    -------
    ndarray, shape (d,)

    Raises
    ------
    InvalidInput
        As :func:`memory_operator`.

    Examples
    --------
    >>> X, y, w0 = np.array([[1.0, 2.0, 2.0]]), np.array([3.0]), np.array([1.0, 0.0, 0.0])
    >>> limit(X, y, w0).round(4).tolist(), limit(X, y, w0, np.diag([1.0, 2.0, 4.0])).round(4).tolist()
    ([1.2222, 0.4444, 0.4444], [1.08, 0.32, 0.64])
    """
    return w0 + _correction(X, D) @ (y - X @ w0)


def decayed_descent(X: Array, y: Array, w0: Array, trace: Trace) -> Array:
    r"""Where full-batch gradient descent with L2 is after the last update, without following it.

    On :math:`\frac{1}{2n}|Xw-y|^2 + \frac\lambda2|w|^2`, with the Hessian :math:`H = X^\top X/n` of the data,

    .. math:: w_K = w_r + \prod_k \bigl(I - \eta_k (H+\lambda)\bigr)\,(w_0 - w_r),\qquad
              w_r = (H+\lambda)^{-1} X^\top y / n.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Examples.
    y : ndarray, shape (n,)
        Targets.
    w0 : ndarray, shape (d,)
        Start.
    trace : Trace
        Of SGD without momentum, under one decay coefficient; batch sizes are not used.

    Returns
    -------
    ndarray, shape (d,)

    Raises
    ------
    InvalidInput
        If the trace has momentum, another optimizer or a decay that changes.

    Examples
    --------
    >>> trace = Trace(lr=np.full(2, 0.1), weight_decay=1.0)
    >>> decayed_descent(np.eye(1), np.array([1.0]), np.array([1.0]), trace).round(12).tolist()
    [0.82]
    """
    decay = float(trace.weight_decay[0])
    if trace.optimizer != "sgd" or trace.momentum_coefficient or (trace.weight_decay != decay).any():
        raise InvalidInput(
            "descent in closed form is that of sgd without momentum under one decay coefficient: give such a "
            "trace."
        )
    curvature, axes = np.linalg.eigh(X.T @ X / len(X))
    # Rounding would pull at what no example sees, for as long as the trace is.
    curvature = np.where(curvature > 1e-13 * curvature.max(), curvature, 0.0)
    slope, pull = curvature + decay, axes.T @ (X.T @ y) / len(X)
    rest = np.divide(pull, slope, out=np.zeros_like(pull), where=curvature > 0)
    left = np.array([np.prod(1 - trace.lr * each) for each in slope])
    return axes @ (rest + left * (axes.T @ w0 - rest))


def _width(X: Array) -> int:
    if X.ndim != 2 or len(X) >= X.shape[1] or np.linalg.matrix_rank(X) < len(X):
        raise InvalidInput(
            f"examples of shape {X.shape} do not lead each start to one interpolator: give independent rows, "
            f"fewer than there are columns."
        )
    return X.shape[1]


def _correction(X: Array, D: Array | None) -> Array:
    """From residuals to the step that removes them, shape (d, n)."""
    width = _width(X)
    D = np.eye(width) if D is None else D
    if D.shape != (width, width) or not np.allclose(D, D.T) or np.linalg.eigvalsh(D).min() <= 0:
        raise InvalidInput(
            f"a preconditioner of shape {D.shape} was given for {width} weights: give a symmetric positive "
            f"definite matrix of that size."
        )
    weighted = X @ D
    return np.asarray(np.linalg.solve(weighted @ X.T, weighted).T, dtype=float)
