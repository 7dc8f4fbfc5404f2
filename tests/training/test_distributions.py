"""The contract of every distribution of losses."""

import inspect
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
import pytest

from regrax import specs, training
from regrax.games import weighted_rps
from regrax.learners import Hedge, Uniform
from regrax.training import BiasedGaussian, Distribution, Gaussian, InGame, Mixture, UniformLosses

LARGEST_Z = 5.0  # about 400 z-scores: one run in four thousand exceeds it

KEY, OTHER = jax.random.split(jax.random.key(3))
D, T, N = 3, 6, 20_000
COVARIANCE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]])


class Entry(NamedTuple):
    """A distribution, the variance of all its losses if its mean is known, and its spec if it has one."""

    distribution: Distribution
    variance: float | None = None
    spec: str = ""


TABLE = {
    "gaussian": Entry(Gaussian(), 1.0, "gaussian"),
    "covariance": Entry(Gaussian(COVARIANCE), 3.5 / 3),
    "biased": Entry(BiasedGaussian(0.5), spec="biased-gaussian(0.5)"),
    "uniform": Entry(UniformLosses(), 1 / 3, "uniform"),
    "uniform above 0": Entry(UniformLosses(0.0, 1.0), 1 / 12, "uniform(0.0, high=1.0)"),
    "rademacher": Entry(training.Rademacher(), 1.0, "rademacher"),
    "laplace": Entry(training.Laplace(), 1.0, "laplace"),
    "student": Entry(training.StudentT(6.0), 1.5, "student-t(6.0)"),
    "alternating": Entry(training.Alternating(), spec="alternating"),
    "drifting": Entry(training.Drifting(), spec="drifting"),
    "in a game": Entry(
        InGame(weighted_rps(), (Uniform(), Hedge(0.5)), 1),
        spec='in-game("weighted-rps", "uniform", "hedge(0.5)", seat=1)',
    ),
    "from a key": Entry(training.FromKey(lambda key: jax.random.exponential(key, (T, D)))),
    "mixture": Entry(Mixture((Gaussian(), UniformLosses()), (0.25, 0.75)), 0.5),
    "mixture of means": Entry(
        Mixture((Gaussian(), BiasedGaussian())), spec="mixture(gaussian, biased_gaussian)"
    ),
    "random horizon": Entry(training.RandomHorizon(Gaussian()), 7 / 12),
    "random horizon above 0": Entry(training.RandomHorizon(UniformLosses(0.0, 1.0))),
    "rescaled": Entry(training.Rescaled(UniformLosses(0.0, 1.0), 0.5), 1 / 3),
}


@pytest.fixture(params=TABLE.values(), ids=TABLE)
def entry(request):
    return request.param


@jax.jit
def drawn(distribution, key):
    return distribution.draw(T, D, N, key=key)


def largest_z(samples):
    """Largest z-score of the means over the last axis."""
    return np.max(np.abs(samples.mean(-1)) / (samples.std(-1) / samples.shape[-1] ** 0.5))


def test_every_distribution_keeps_the_contract(entry):
    """Shape, key, traced parameters, and the stated mean given any past rounds."""
    losses, again, other = (np.asarray(drawn(entry.distribution, k)) for k in (KEY, KEY, OTHER))
    assert (losses.shape, losses.dtype) == ((T, D, N), np.float32)
    with jax.enable_x64(True):
        doubles = jax.eval_shape(lambda: entry.distribution.draw(T, D, 2, key=KEY))
    assert doubles.dtype == np.float64
    assert np.isfinite(losses).all()
    np.testing.assert_array_equal(losses, again)
    assert (losses != other).any()
    mean = entry.distribution.mean
    assert (mean is None) == (entry.variance is None)
    if mean is not None:
        centred = losses.astype(float) - mean
        assert largest_z(centred) < LARGEST_Z
        assert largest_z(centred[1:] * losses[:-1]) < LARGEST_Z
        np.testing.assert_allclose(centred.var(), entry.variance, rtol=0.03)
    if entry.spec:
        assert eqx.tree_equal(specs.parse_distribution(entry.spec), entry.distribution)


def test_the_table_has_every_distribution():
    kinds = {kind for kind in vars(training).values() if inspect.isclass(kind)}
    distributions = {kind for kind in kinds if issubclass(kind, Distribution)} - {Distribution}
    assert distributions == {type(entry.distribution) for entry in TABLE.values()}
    named = {entry.spec.split("(")[0].replace("-", "_") for entry in TABLE.values() if entry.spec}
    assert named == set(specs.registered("distribution"))


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian([[1.0, 2.0], [2.0, 1.0]]), "eigenvalues above 0"),
        (lambda: Gaussian("wide"), "covariance must be numbers"),
        (lambda: Gaussian(np.eye(2)).draw(T, 3, 4, key=KEY), "covariance must have shape"),
        (lambda: BiasedGaussian("wide"), "spread must be numbers"),
        (lambda: training.Alternating(np.inf), "noise must be finite"),
        (lambda: training.Drifting(np.nan), "drift must be finite"),
        (lambda: UniformLosses(1.0, -1.0), "low must be below high, got 1.0 and -1.0"),
        (lambda: UniformLosses("a"), "low must be numbers"),
        (lambda: training.StudentT(2.0), "freedom must be above 2, got 2.0"),
        (lambda: training.StudentT("heavy"), "freedom must be numbers"),
        (lambda: Mixture(()), "the number of parts must be"),
        (lambda: Mixture((Gaussian(), 5)), "every part of a mixture must be a Distribution.*got 5"),
        (lambda: Mixture((Gaussian(), training.Laplace()), (0.5, 0.6)), "must sum to 1"),
        (lambda: Mixture((Gaussian(), training.Laplace()), (1.0,)), "weights must have shape"),
        (lambda: training.RandomHorizon("gaussian"), "base must be a Distribution.*got 'gaussian'"),
        (lambda: training.Rescaled("gaussian", 1.0), "base must be a Distribution.*got 'gaussian'"),
        (lambda: training.Rescaled(Gaussian(), 0.0), "deviation must be above 0"),
        (lambda: InGame(weighted_rps(), (Uniform(),), 2), "seat must be below 2.*got 2"),
        (lambda: InGame(weighted_rps(), (Uniform(),), -1), "seat must be"),
        (lambda: InGame(weighted_rps(), (Uniform(),)).draw(T, 2, 4, key=KEY), "2 actions at seat"),
        (lambda: TABLE["from a key"].distribution.draw(T, 2, 4, key=KEY), "each sequence must"),
        (lambda: Gaussian().draw(0, D, 4, key=KEY), "^rounds must be .*0"),
        (lambda: Gaussian().draw(T, 2.5, 4, key=KEY), "^actions must be .*2.5"),
        (lambda: Gaussian().draw(T, D, True, key=KEY), "^count must be .*True"),
    ],
)
def test_wrong_arguments_are_rejected(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("freedom", [2.5, 5.0, 40.0])
def test_student_losses_have_their_distribution(freedom):
    from scipy import stats  # takes a second to import

    losses = np.ravel(drawn(training.StudentT(freedom), KEY)[..., :5_000])
    assert stats.kstest(losses, stats.t(freedom).cdf).pvalue > 1e-3
    tails = np.quantile(np.abs(losses), [0.99, 0.999])  # to which that test is insensitive
    np.testing.assert_allclose(stats.t(freedom).sf(tails), [0.005, 0.0005], rtol=0.2)


def test_gaussian_losses_have_their_covariance():
    losses = np.asarray(drawn(TABLE["covariance"].distribution, KEY))
    flat = np.moveaxis(losses, 1, 0).reshape(D, -1)
    np.testing.assert_allclose(np.cov(flat), COVARIANCE, atol=0.03)
