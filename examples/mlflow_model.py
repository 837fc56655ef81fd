"""A saved dln model as an MLflow model: `mlflow.pyfunc.log_model(python_model="examples/mlflow_model.py", …)`."""

import mlflow
import pandas as pd
from mlflow.pyfunc import PythonModelContext

import dln


class RulesModel(mlflow.pyfunc.PythonModel):
    """Predicts with the file logged as the artifact "model"; scikit-learn is not needed to serve it."""

    def load_context(self, context: PythonModelContext) -> None:
        """Read the model file once, when the server starts."""
        self.predictor = dln.load_predictor(context.artifacts["model"])

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict | None = None
    ) -> list[float]:
        """Return one prediction per row; frames are matched by column name."""
        return self.predictor.predict(model_input).tolist()


mlflow.models.set_model(RulesModel())
