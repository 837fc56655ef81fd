"""What vulture takes for dead and is not (`make lint`): each name with who uses it."""

__getattr__  # Python itself: `dln` opens a module when a name of it is first used
__dir__  # Python itself, for `dir(dln)`
_.cache_path  # Numba: the interface of its caches
_.enable  # Numba: the interface of its caches
_.disable  # Numba: the interface of its caches
_.load_overload  # Numba: the interface of its caches
_.save_overload  # Numba: the interface of its caches
_LanesModel  # Numba: registered by its decorator
_.__signature__  # Numba: counts an intrinsic's arguments by it
_.writeable  # NumPy: a flag of arrays
_.allow_nan  # scikit-learn: a tag of estimators
_before  # typer: the options before the commands, registered by its decorator
_.process_renderables  # rich: the hook through which all output goes
max_refresh  # rich: how long a column of a progress bar may be out of date
_.doc_string  # ONNX: a field of the model
_.intra_op_num_threads  # ONNX Runtime: an option
_.inter_op_num_threads  # ONNX Runtime: an option
_.log_severity_level  # ONNX Runtime: an option
_.filters  # Jinja: an attribute of its environment
_._repr_svg_  # notebooks show a picture by it
_.backward  # PyTorch: the gradient of a function
supports_retrieve_callback  # joblib: the interface of its backends
_.effective_n_jobs  # joblib: the interface of its backends
_.configure  # joblib: the interface of its backends
_.retrieve_result_callback  # joblib: the interface of its backends
_.abort_everything  # joblib: the interface of its backends
open_rules  # users: a field of an epoch's record, in `history_` and for callbacks
_.png  # users: a property of pictures
_.to_pandas  # users: a method of rules and of the frontier
_.to_polars  # users: a method of rules and of the frontier
_.predict_interval  # users: a method of both regressors
_.to_verilog_testbench  # users: a method of both regressors
n_numbers  # users: what a space of their own may know of the table
_.best_params_  # users: scikit-learn's attributes of a search
_.best_score_  # users: scikit-learn's attributes of a search
_.best_index_  # users: scikit-learn's attributes of a search
_.cv_results_  # users: scikit-learn's attributes of a search
_.n_splits_  # users: scikit-learn's attributes of a search
ReferenceNetwork  # tests: the kernels are compared with it
mean_loss  # tests: the kernels are compared with it
batch_gradients  # tests: one batch of the kernels, compared with the reference
adam  # tests: one step of the kernels' optimiser, compared with the reference
synthesise  # tests and benchmarks: how large the exported circuit is on a chip
radius  # templates of the report: charts
mean_size  # templates of the report: quality
covered  # templates of the report: quality
target_ends  # templates of the report: quality
middle_error  # templates of the report: quality
average_missing  # templates of the report: columns
n_averaged  # templates of the report: columns
picture_note  # templates of the report: closing words
