"""The public names whose docstring doesn't say all that `test_docstrings.py` asks for. No name may be added."""

from __future__ import annotations

_NAMES = {
    "torch": """
        abs abs_ absolute addbmm addcmul addmm addmv addr arange are_deterministic_algorithms_enabled argsort
        as_strided_scatter asarray atleast_1d atleast_2d atleast_3d baddbmm bincount binomial broadcast_shapes
        broadcast_tensors broadcast_to bucketize cartesian_prod cat cdist cholesky cholesky_inverse cholesky_solve
        chunk clamp clamp_ clip clip_ clone combinations concat concatenate conj conj_physical conj_physical_ corrcoef
        cov cummax cummin cumprod cumsum cumulative_trapezoid det detach detach_ diag diagonal diagonal_scatter diff
        div divide dsplit einsum empty_like fill flatten flip fliplr flipud float_power frac frac_ from_dlpack
        from_numpy full_like gather geqrf ger get_default_device get_default_dtype get_deterministic_debug_mode
        get_device get_float32_matmul_precision get_num_interop_threads get_num_threads get_rng_state gradient histc
        histogram hsplit imag index_put index_put_ initial_seed inner is_anomaly_check_nan_enabled is_anomaly_enabled
        is_deterministic_algorithms_warn_only_enabled is_grad_enabled is_inference is_inference_mode_enabled is_signed
        is_storage is_tensor is_warn_always_enabled isin istft kthvalue lerp logcumsumexp logdet lu lu_solve lu_unpack
        masked_fill matmul matrix_power mean meshgrid mode moveaxis movedim mv mvlgamma nanmean nansum narrow
        narrow_copy numel ones_like outer permute pinverse poisson polar polygamma pow promote_types put qr rand_like
        randint_like randn_like ravel real renorm repeat_interleave resize_as_ resolve_conj resolve_neg result_type
        roll rot90 round round_ scatter seed set_anomaly_enabled set_default_device set_deterministic_debug_mode
        set_float32_matmul_precision set_num_interop_threads set_rng_state sign signbit split split_with_sizes square
        square_ stft t take_along_dim tensor tensor_split tensordot tile to_dlpack trace trapezoid trapz
        triangular_solve tril_indices triu_indices typename unflatten unravel_index use_deterministic_algorithms
        vander view_as_complex vsplit where zeros_like
    """,
    "linalg": """
        cholesky cond det eig eigh inv_ex lstsq lu_solve matmul matrix_power matrix_rank pinv solve_ex
        solve_triangular svdvals tensorinv tensorsolve vander vecdot
    """,
    "special": "multigammaln ndtr polygamma round zeta",
    "fft": "hfft ifft ifftn ifftshift ihfft ihfftn irfft irfftn rfftn",
    "nn": "Container",
}

LEFT = {f"{place}.{name}" for place, names in _NAMES.items() for name in names.split()}
