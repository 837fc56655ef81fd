"""The model taken elsewhere: C, SQL, JavaScript, Python, ONNX, Verilog, Excel, each proved equal.

`_form` turns a circuit into the one form that all writers read; one file writes each target, one in `runners/` runs it,
and `_verify` compares what came out with the circuit, bit for bit.
"""

from dln.export._methods import Export, ExportableModel

__all__ = ["Export", "ExportableModel"]
