"""The kernels compute what the reference states."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from dln.network import _kernels as kernels
from dln.network._lanes import LANES, exp_minus_abs, load, store
from dln.network._network import Architecture, Data, Network, build_network, kernel_arrays
from plans import outputs
from reference import Forward, Loss, ReferenceNetwork, Relaxation, mean_loss

RELAXATIONS: dict[Relaxation, int] = {"soft": kernels.SOFT, "separate": kernels.SEPARATE, "neuron": kernels.NEURON}
LOSSES: dict[Loss, int] = {
    "squared_error": kernels.SQUARED_ERROR,
    "huber": kernels.HUBER,
    "absolute_error": kernels.ABSOLUTE_ERROR,
    "quantile": kernels.QUANTILE,
}


def random_network(rng: np.random.Generator, *, concatenate: bool, links: int = 4, gates: int = 8) -> Network:
    """A small network with parameters spread far from their initial values."""
    cutoffs = [np.sort(rng.uniform(0.1, 0.9, rng.integers(1, 4))).astype(np.float32) for _ in range(rng.integers(1, 4))]
    sizes = tuple(int(n) for n in rng.choice([2, 3, 5, 8, 40], size=rng.integers(1, 4)))
    network = build_network(
        cutoffs,
        int(rng.integers(0, 3)),
        Architecture(sizes, 5, links, gates, concatenate_inputs=concatenate),
        rng,
    )
    p = network.parameters
    p.slope[:] = rng.normal(0, 3, p.slope.shape)
    p.gate_logits[:] = rng.normal(0, 1, p.gate_logits.shape)
    p.weights[:] = rng.normal(0, 1, p.weights.shape)
    p.sum_logits[:] = rng.normal(1, 1, p.sum_logits.shape)
    spare = p.link_logits < -1e20
    p.link_logits[:] = rng.normal(0, 1, p.link_logits.shape)
    p.link_logits[spare] = -1e30
    return network


def random_data(rng: np.random.Generator, network: Network, n: int) -> Data:
    """Rows with missing numbers (-1), bits and uneven weights."""
    n_scaled = int(network.wiring.threshold_input.max()) + 1
    numbers = rng.uniform(0, 1, (n, n_scaled)).astype(np.float32)
    numbers[rng.uniform(size=numbers.shape) < 0.1] = -1.0
    return Data(
        numbers=numbers,
        bits=rng.integers(0, 2, (n, network.wiring.n_bits)).astype(np.float32),
        target=rng.normal(0, 1, n).astype(np.float32),
        weight=rng.uniform(0, 2, n).astype(np.float32),
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 70),
    relaxation=st.sampled_from(list(RELAXATIONS)),
    loss=st.sampled_from(list(LOSSES)),
    concatenate=st.booleans(),
    links=st.sampled_from([1, 3, 4, 6, 8, 11]),
    gates=st.sampled_from([1, 4, 8, 16]),
    temperature=st.sampled_from([2.0, 1.0, 0.3]),
)
@example(  # a bias whose rows nearly cancel
    seed=51207,
    n=42,
    relaxation="soft",
    loss="quantile",
    concatenate=False,
    links=11,
    gates=4,
    temperature=0.3,
)
def test_loss_and_gradients_equal_the_references_autograd(
    seed: int,
    n: int,
    relaxation: Relaxation,
    loss: Loss,
    concatenate: bool,
    links: int,
    gates: int,
    temperature: float,
) -> None:
    """Loss and gradients of b, s, W, U, V, S, C are autograd's, for every relaxation, loss, weight and shape."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, concatenate=concatenate, links=links, gates=gates)
    data = random_data(rng, network, n)
    parameter = 0.3
    got_loss, got, output = kernel_gradients(
        network, data, RELAXATIONS[relaxation], LOSSES[loss], parameter, temperature
    )
    reference = ReferenceNetwork(network)
    how = Forward(temperature, relaxation)
    predicted = reference(torch.from_numpy(data.numbers), torch.from_numpy(data.bits), how)
    value = mean_loss(predicted, torch.from_numpy(data.target), torch.from_numpy(data.weight), loss, parameter)
    value.backward()
    np.testing.assert_allclose(output, predicted.detach().numpy(), rtol=1e-4, atol=1e-4)
    assert got_loss / n == pytest.approx(value.item(), rel=1e-4, abs=1e-6)
    gradients = {name: parameter.grad.numpy() for name, parameter in reference.named_parameters()}
    # Where large derivatives cancel, what is left is known to their rounding only.
    largest = max(np.abs(gradient).max(initial=0.0) for gradient in gradients.values())
    for name, expected in gradients.items():
        scale = max(np.abs(expected).max(initial=0.0), largest / 10, 1e-3)
        np.testing.assert_allclose(got[name] / scale, expected / scale, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("relaxation", ["separate", "neuron"])
def test_the_weight_of_a_closed_link_stays_where_it_is(relaxation: Relaxation) -> None:
    """It has no part in the output: what it learned meanwhile would come as a jolt when the link opens."""
    rng = np.random.default_rng(3)
    network = random_network(rng, concatenate=True)
    data = random_data(rng, network, 50)
    sum_logits = network.parameters.sum_logits
    sum_logits[:] = np.where(np.arange(sum_logits.size) % 2, 3.0, -3.0)
    _, got, _ = kernel_gradients(network, data, RELAXATIONS[relaxation], 0, 0.0, 1.0)
    assert not got["weights"][::2].any()
    assert got["weights"][1::2].all()
    assert got["sum_logits"].all()  # closed links can open again


def kernel_gradients(
    network: Network,
    data: Data,
    relaxation: int,
    loss: int,
    parameter: float,
    temperature: float,
) -> tuple[float, dict[str, np.ndarray], np.ndarray]:
    """Loss, gradients by group and outputs of one batch."""
    n = len(data.target)
    settings = kernels.Settings(relaxation, temperature, 0.8, loss, parameter, n)
    arrays = kernel_arrays(network, data.numbers.shape[1])
    arrays.gradients[:] = np.nan
    no_rates = np.zeros(arrays.sections.size - 1)
    total = kernels.train_epoch(arrays, data, np.arange(n), settings, no_rates, 0)
    output = np.empty(n)
    again = kernels.evaluate(arrays, data, np.arange(n), settings, output)
    assert again == total
    return total, network.with_parameters(arrays.gradients).parameters.groups(), output


@given(seed=st.integers(0, 2**32 - 1), relaxation=st.sampled_from(["separate", "neuron"]))
def test_training_and_inference_forward_passes_agree_bit_for_bit(seed: int, relaxation: Relaxation) -> None:
    """With straight-through on, the training forward pass is the inference pass, to the last bit."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, concatenate=True)
    data = random_data(rng, network, 50)
    *_, trained = kernel_gradients(network, data, RELAXATIONS[relaxation], 0, 0.0, 0.7)
    inferred, _ = outputs(network, data, 0.7)
    np.testing.assert_array_equal(trained, inferred)


def test_rows_of_other_columns_are_refused() -> None:
    """Without bounds checks, kernels would read beyond them."""
    rng = np.random.default_rng(4)
    network = random_network(rng, concatenate=True)
    data = random_data(rng, network, 5)
    wider = data._replace(bits=np.zeros((5, network.wiring.n_bits + 1), np.float32))
    with pytest.raises(ValueError, match="not those of the network"):
        kernel_gradients(network, wider, kernels.NEURON, 0, 0.0, 1.0)


@numba.njit
def exp_of_all(values: np.ndarray) -> None:
    """Replace values, whole lanes of them, none above zero, by their exponentials."""
    for i in range(values.size // LANES):
        store(values, i, exp_minus_abs(load(values, i)))


def test_exponential_is_accurate_to_single_precision() -> None:
    """The polynomial exponential is within 3e-7 of the true one, down to where it flushes."""
    x = np.linspace(-80, 0, 100_000, dtype=np.float32)  # whole lanes
    got = x.copy()
    exp_of_all(got)
    np.testing.assert_allclose(got, np.exp(x.astype(np.float64)), rtol=8e-6)
    near = x > -5
    np.testing.assert_allclose(got[near], np.exp(x[near].astype(np.float64)), rtol=6e-7)


def test_adam_equals_torchs() -> None:
    """A hundred steps of our Adam are a hundred steps of PyTorch's."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=50).astype(np.float32)
    gradients = rng.normal(size=(100, 50)).astype(np.float32)
    theirs = torch.nn.Parameter(torch.from_numpy(values.copy()))
    optimiser = torch.optim.Adam([theirs], lr=0.01)
    first, second = np.zeros_like(values), np.zeros_like(values)
    for step, gradient in enumerate(gradients, start=1):
        kernels.adam(values, gradient, first, second, 0.01, step)
        theirs.grad = torch.from_numpy(gradient)
        optimiser.step()
    np.testing.assert_allclose(values, theirs.detach().numpy(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("gradient", [0.0, 1e-30, 1e-12, 1e-8, 1.0, 1e12, 1e30])
@pytest.mark.parametrize("n", [1, 31, 32, 70])
def test_adams_first_step_is_the_learning_rate(gradient: float, n: int) -> None:
    """Whatever the gradient's size, as long as its square is a number; none moves nothing, and nothing becomes NaN."""
    values, first, second = (np.zeros(n, np.float32) for _ in range(3))
    kernels.adam(values, np.full(n, gradient, np.float32), first, second, 0.01, 1)
    is_seen = 1e-15 < gradient < 1e19  # by a float32 that holds its square
    expected = -0.01 * gradient / (gradient + 1e-8) if is_seen else 0.0
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-12)


def test_moments_never_become_denormal() -> None:
    """Without gradient, the first moment ends at exactly zero, the second as small as no step can see."""
    values, first = np.zeros(4, np.float32), np.full(4, 1e-17, np.float32)
    second = np.full(4, 1e-33, np.float32)
    for step in range(1, 4000):
        kernels.adam(values, np.zeros(4, np.float32), first, second, 0.01, step)
    assert not first.any()
    assert (second > np.finfo(np.float32).tiny).all()
    assert (second < 1e-30).all()


def test_a_gradient_that_is_no_number_does_not_go_unseen() -> None:
    """Its parameter becomes NaN too, as PyTorch's does; the others move on."""
    values, first, second = (np.zeros(33, np.float32) for _ in range(3))
    gradient = np.ones(33, np.float32)
    gradient[[3, 32]] = np.nan
    kernels.adam(values, gradient, first, second, 0.01, 1)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(values)), [3, 32])
