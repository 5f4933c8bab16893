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
    "nn": """
        AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d
        AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss
        BatchNorm1d BatchNorm2d BatchNorm3d Bilinear CELU CTCLoss ChannelShuffle CircularPad1d CircularPad2d
        CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Container Conv1d Conv2d Conv3d ConvTranspose1d
        ConvTranspose2d ConvTranspose3d CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CrossMapLRN2d
        DataParallel Dropout Dropout1d Dropout2d Dropout3d ELU EmbeddingBag FeatureAlphaDropout Flatten
        FractionalMaxPool2d FractionalMaxPool3d GELU GLU GRU GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid
        Hardswish Hardtanh HingeEmbeddingLoss HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d
        KLDivLoss L1Loss LPPool1d LPPool2d LPPool3d LSTM LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d
        LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d
        LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LeakyReLU LinearCrossEntropyLoss
        LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d
        MaxUnpool2d MaxUnpool3d Mish Module ModuleDict ModuleList MultiLabelMarginLoss MultiLabelSoftMarginLoss
        MultiMarginLoss MultiheadAttention NLLLoss NLLLoss2d PReLU PairwiseDistance ParameterDict ParameterList
        PoissonNLLLoss RMSNorm RNN RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d
        ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU Sequential SiLU Sigmoid SmoothL1Loss
        SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold Transformer
        TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer TripletMarginLoss
        TripletMarginWithDistanceLoss Unflatten Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d
        ZeroPad3d
    """,
    "optim": """
        ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam RAdam RMSprop Rprop SGD
    """,
    "optim.lr_scheduler": """
        ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR LRScheduler
        LambdaLR LinearLR MultiStepLR MultiplicativeLR OneCycleLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR
    """,
}

LEFT = {f"{place}.{name}" for place, names in _NAMES.items() for name in names.split()}
