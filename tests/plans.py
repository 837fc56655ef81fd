"""A short training that the tests of networks share."""

from dln.network._train import Plan

PLAN = Plan(
    straight_through="neuron",
    phases="unified",
    temperature=1.0,
    temperature_decay=0.8,
    min_temperature=0.1,
    sum_link_threshold=0.8,
    loss="squared_error",
    quantile=0.5,
    learning_rate=0.05,
    learning_rate_schedule="constant",
    batch_size=32,
    max_epochs=4,
)
