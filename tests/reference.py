"""The paper's equations in PyTorch, as plainly as possible: the specification of `dln.network._kernels`.

Tests compare the kernels' loss and gradients with these, by autograd.

Shapes: a batch of n rows; signals are ``(n, n_rows)``; logits are ``(n_candidates, n_neurons)`` as in `Wiring`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from dln.circuit._gates import COEFFICIENTS
from dln.network._network import Network, Wiring

Relaxation = Literal["soft", "separate", "neuron"]
Loss = Literal["squared_error", "huber", "absolute_error", "quantile"]


@dataclass(frozen=True)
class Forward:
    """Settings of a forward pass."""

    temperature: float
    relaxation: Relaxation = "neuron"
    sum_threshold: float = 0.8


def straight_through(soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
    """Return `hard` going forward, with the gradient of `soft` going backward."""
    return soft + (hard - soft).detach()


class ReferenceNetwork(torch.nn.Module):
    """A network of thresholds, logic layers and a sum, with the parameters b, s, W, U, V, S, C as torch parameters."""

    bias: torch.Tensor
    slope: torch.Tensor
    gate_logits: torch.Tensor
    link_logits: torch.Tensor
    sum_logits: torch.Tensor
    weights: torch.Tensor

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.wiring: Wiring = network.wiring
        for name, values in network.parameters.groups().items():
            self.register_parameter(name, torch.nn.Parameter(torch.from_numpy(values.copy())))
        self.coefficients = torch.from_numpy(COEFFICIENTS[network.wiring.gates])
        self.links = torch.from_numpy(network.wiring.links).long()
        self.threshold_input = torch.from_numpy(network.wiring.threshold_input).long()

    def forward(self, numbers: torch.Tensor, bits: torch.Tensor, how: Forward) -> torch.Tensor:
        """Training pass: hard or soft forward, relaxed backward."""
        signals = torch.cat([bits, self._thresholds(numbers, how)], dim=1)
        start = 0
        for size in self.wiring.layer_sizes:
            layer = self._logic_layer(signals, slice(start, start + size), how)
            signals = torch.cat([signals, layer], dim=1)
            start += size
        return self._sum(signals, how)

    def _thresholds(self, numbers: torch.Tensor, how: Forward) -> torch.Tensor:
        """ThresholdLayer: Sigmoid(s·(x - b)/τ) in training, Heaviside(s·(x - b)) in inference."""
        z = self.slope * (numbers[:, self.threshold_input] - self.bias)
        soft = torch.sigmoid(z / how.temperature)
        return soft if how.relaxation == "soft" else straight_through(soft, (z > 0).to(z.dtype))

    def _logic_layer(self, signals: torch.Tensor, neurons: slice, how: Forward) -> torch.Tensor:
        """LogicLayer: mixtures over candidate links and gates in training, their arg max in inference."""
        gate_logits = self.gate_logits[:, neurons]
        a_soft, a_hard = _link(signals, self.links[0, :, neurons], self.link_logits[0, :, neurons], how)
        b_soft, b_hard = _link(signals, self.links[1, :, neurons], self.link_logits[1, :, neurons], how)
        gate_soft = torch.softmax(gate_logits / how.temperature, dim=0)
        gate_hard = torch.nn.functional.one_hot(gate_logits.argmax(dim=0), len(gate_logits)).T.to(gate_soft.dtype)
        if how.relaxation == "soft":
            return self._gates(gate_soft, a_soft, b_soft)
        if how.relaxation == "separate":
            gate = straight_through(gate_soft, gate_hard)
            return self._gates(gate, straight_through(a_soft, a_hard), straight_through(b_soft, b_hard))
        hard = self._gates(gate_hard, a_hard, b_hard)
        return straight_through(self._gates(gate_soft, a_soft, b_soft), hard)

    def _gates(self, probabilities: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Σ P_k · SoftLogic_k(a, b), gate by gate."""
        y = torch.zeros_like(a)
        for p, (c0, c1, c2, c3) in zip(probabilities, self.coefficients, strict=True):
            y = y + p * (c0 + c1 * a + c2 * b + c3 * a * b)
        return y

    def _sum(self, signals: torch.Tensor, how: Forward) -> torch.Tensor:
        """SumLayer: Σ Sigmoid(S/τ)·C·x in training, Σ [Sigmoid(S/τ) ≥ θ]·C·x in inference."""
        rules = signals[:, torch.from_numpy(self.wiring.rule_rows).long()]
        soft = torch.sigmoid(self.sum_logits / how.temperature)
        hard = (soft >= how.sum_threshold).to(soft.dtype)
        if how.relaxation == "separate":
            return (straight_through(soft, hard) * self.weights * rules).sum(dim=1)
        if how.relaxation == "soft":
            return (soft * self.weights * rules).sum(dim=1)
        # A closed link passes its share back to its rule, which can open again, and to its logit, but its
        # weight, which has no part in the output, gets no gradient: it would grow without effect until the link opens.
        by_links = (soft * self.weights.detach() * rules).sum(dim=1)
        by_weights = (hard * self.weights * rules.detach()).sum(dim=1)
        return straight_through(by_links + by_weights, by_weights)


def _link(
    signals: torch.Tensor, links: torch.Tensor, logits: torch.Tensor, how: Forward
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mixture of the candidate rows and the chosen row, each ``(n, n_neurons)``."""
    candidates = signals[:, links]
    soft = (torch.softmax(logits / how.temperature, dim=0) * candidates).sum(dim=1)
    chosen = links.gather(0, logits.argmax(dim=0, keepdim=True))[0]
    return soft, signals[:, chosen]


def mean_loss(
    output: torch.Tensor, target: torch.Tensor, weight: torch.Tensor, loss: Loss, parameter: float
) -> torch.Tensor:
    """Return the weighted mean of a loss over a batch; weights are divided by the rows, not by their sum."""
    difference = output - target
    if loss == "squared_error":
        value = difference**2
    elif loss == "huber":
        value = torch.nn.functional.huber_loss(output, target, reduction="none", delta=parameter)
    elif loss == "absolute_error":
        value = difference.abs()
    else:
        value = torch.maximum((1 - parameter) * difference, -parameter * difference)
    return (weight * value).mean()
