"""Exports of a model: C, SQL, JavaScript, Python, ONNX, Verilog, Excel, each with the bits of `predict`.

`_form` turns a circuit into the one form that all writers read; one file writes each target. `_engines` runs exported
files, and `_verification` compares their predictions with the circuit, bit for bit.
"""

from dln.export._methods import Export, ExportableModel

__all__ = ["Export", "ExportableModel"]
