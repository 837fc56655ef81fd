"""Model files: one file, data only, the same bytes for the same model. `docs/model-file.md` is the specification."""

from dln.readers.model_file._read import from_bytes, read_model
from dln.readers.model_file._schema import FORMAT, MAX_BYTES, SavedModel
from dln.readers.model_file._write import sealed, to_bytes, write_model

__all__ = ["FORMAT", "MAX_BYTES", "SavedModel", "from_bytes", "read_model", "sealed", "to_bytes", "write_model"]
