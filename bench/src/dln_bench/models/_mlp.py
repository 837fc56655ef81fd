"""A multilayer perceptron in PyTorch, as the paper has one: ReLU, Adam, early stopping."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

if TYPE_CHECKING:
    import torch

#: Fewer rows than this are all trained on: a validation share of them would tell nothing.
FEWEST_TO_VALIDATE: Final = 20


class TorchMLP(RegressorMixin, BaseEstimator):
    """Regression by a multilayer perceptron; inputs should lie around 0 to 1, the target is standardised inside.

    One thread, whatever the machine: the same data, parameters and seed give the same network.

    Parameters
    ----------
    n_layers, width : int, default=2, 64
        Hidden layers, and neurons in each.
    learning_rate, weight_decay : float, default=0.003, 0.0
        Of Adam.
    dropout : float, default=0.0
        Share of hidden neurons that are silent in a step.
    batch_size : int, default=64
        Rows per step.
    max_epochs, n_iter_no_change : int, default=300, 30
        Passes over the data at most, and passes to wait for a better validation loss.
    validation_fraction : float, default=0.1
        Share of the rows set aside to validate; the best pass by their loss is kept.
    random_state : int, default=0
        Seed of all that is random.

    Attributes
    ----------
    module_ : torch.nn.Sequential
        The network; it predicts the standardised target.
    n_iter_ : int
        Passes that were run.

    """

    def __init__(
        self,
        *,
        n_layers: int = 2,
        width: int = 64,
        learning_rate: float = 0.003,
        weight_decay: float = 0.0,
        dropout: float = 0.0,
        batch_size: int = 64,
        max_epochs: int = 300,
        n_iter_no_change: int = 30,
        validation_fraction: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.n_layers = n_layers
        self.width = width
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network."""
        import torch

        X, y = validate_data(self, X, y, dtype=np.float32, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        self.mean_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        rng = np.random.default_rng(self.random_state)
        order = rng.permutation(len(y))
        n_validation = int(self.validation_fraction * len(y)) if len(y) >= FEWEST_TO_VALIDATE else 0
        validation, training = order[:n_validation], order[n_validation:]
        inputs = torch.from_numpy(np.ascontiguousarray(X))
        targets = torch.from_numpy(((y - self.mean_) / self.scale_).astype(np.float32)[:, None])
        with _one_thread(torch), torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            self.module_, self.n_iter_ = self._train(torch, rng, inputs, targets, training, validation)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return predictions."""
        check_is_fitted(self)
        import torch

        X = validate_data(self, X, dtype=np.float32, reset=False)
        with _one_thread(torch), torch.inference_mode():
            out = self.module_(torch.from_numpy(np.ascontiguousarray(X))).numpy().ravel()
        predicted: npt.NDArray[np.float64] = out.astype(np.float64) * self.scale_ + self.mean_
        return predicted

    def _train(
        self,
        torch: Any,
        rng: np.random.Generator,
        inputs: torch.Tensor,
        targets: torch.Tensor,
        training: npt.NDArray[np.intp],
        validation: npt.NDArray[np.intp],
    ) -> tuple[Any, int]:
        module = self._network(torch, inputs.shape[1])
        adam = torch.optim.AdamW(module.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)
        mse = torch.nn.functional.mse_loss
        seen, unseen = inputs[training], inputs[validation]
        seen_targets, unseen_targets = targets[training], targets[validation]
        batch = min(self.batch_size, len(training))
        best, best_loss, waited, n_epochs = copy.deepcopy(module.state_dict()), np.inf, 0, 0
        for n_epochs in range(1, self.max_epochs + 1):  # noqa: B007 (told in the end)
            module.train()
            shuffled = torch.from_numpy(rng.permutation(len(training)))
            epoch_inputs, epoch_targets = seen[shuffled], seen_targets[shuffled]
            for start in range(0, len(training) - batch + 1, batch):  # the last, incomplete batch is left out
                loss = mse(module(epoch_inputs[start : start + batch]), epoch_targets[start : start + batch])
                adam.zero_grad(set_to_none=True)
                loss.backward()
                adam.step()
            if not len(validation):
                continue
            module.eval()
            with torch.inference_mode():
                validation_loss = float(mse(module(unseen), unseen_targets))
            waited += 1
            if validation_loss < best_loss:
                best, best_loss, waited = copy.deepcopy(module.state_dict()), validation_loss, 0
            if waited >= self.n_iter_no_change or not np.isfinite(validation_loss):
                break
        if len(validation):
            module.load_state_dict(best)
        module.eval()
        return module, n_epochs

    def _network(self, torch: Any, n_inputs: int) -> Any:
        layers: list[Any] = []
        for _ in range(self.n_layers):
            layers += [torch.nn.Linear(n_inputs, self.width), torch.nn.ReLU()]
            layers += [torch.nn.Dropout(self.dropout)] if self.dropout else []
            n_inputs = self.width
        return torch.nn.Sequential(*layers, torch.nn.Linear(n_inputs, 1))


@contextlib.contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
