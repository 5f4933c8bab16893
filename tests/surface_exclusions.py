"""What PyTorch has and minitorch leaves out on purpose, with the reason: test_surface.py holds it against both.

A name that is listed here and exists in minitorch fails the test, too. Submodules are not listed. docs/surface.md gives
the reasons in prose.
"""

EXCLUDED: dict[str, dict[str, str]] = {
    "Sparse tensors other than matrices in the formats COO and CSR.": {
        "torch": """
            ccol_indices_copy col_indices_copy crow_indices_copy dsmm hsmm hspmm indices_copy resize_as_sparse_
            row_indices_copy saddmm slice_inverse smm sparse_bsc sparse_bsc_tensor sparse_bsr sparse_bsr_tensor
            sparse_compressed_tensor sparse_csc sparse_csc_tensor spmm sspaddmm values_copy
        """,
        "Tensor": """
            ccol_indices coalesce col_indices crow_indices dense_dim indices is_coalesced resize_as_sparse_
            row_indices slice_inverse smm sparse_dim sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm
            to_dense to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc values
        """,
        "nn.functional": "sparse_support_notes",
    },
    "Quantization: out of scope.": {
        "torch": """
            QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage choose_qparams_optimized
            dequantize empty_quantized fake_quantize_per_channel_affine fake_quantize_per_tensor_affine
            fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
            fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
            fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant int_repr per_channel_affine
            per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric
            q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qint32 qint8
            qscheme quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm
            quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d
            quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell quint2x4
            quint4x2 quint8
        """,
        "Tensor": """
            dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point
            qscheme
        """,
    },
    "Nested tensors: out of scope.": {
        "torch": "jagged",
        "Tensor": "to_padded_tensor",
    },
    "torch.jit and its types: out of scope.": {
        "torch": """
            AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig
            BenchmarkExecutionStats Block BoolType BufferDict CallStack Capsule ClassType Code CompilationUnit
            CompleteArgumentSpec ComplexType ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable
            DeserializationStorageContext DeviceObjType DictType EnumType ErrorReport ExecutionPlan FileCheck
            FloatType FunctionSchema Future FutureType Gradient Graph GraphExecutorState IODescriptor InferredType
            IntType InterfaceType JITException ListType LiteScriptModule LockingLogger LoggerBase ModuleDict Node
            NoneType NoopLogger NumberType OperatorInfo OptionalType ParameterDict PyObjectType
            PyTorchFileWriter RRefType SUM ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator
            ScriptDictKeyIterator ScriptList ScriptListIterator ScriptMethod
            ScriptModuleSerializer ScriptObject ScriptObjectProperty SerializationStorageContext StaticModule
            StreamObjType StringType SymBoolType SymIntType TensorType ThroughputBenchmark TracingState TupleType
            Type UnionType Use Value fork import_ir_module import_ir_module_from_buffer init_num_threads
            merge_type_from_type_comment parse_ir parse_schema parse_type_comment unify_type_list wait
        """,
        "nn.functional": "BroadcastingList1 BroadcastingList2 BroadcastingList3 boolean_dispatch",
    },
    "Symbolic shapes and the compiler's own operators: `torch.compile` guards plain ints here.": {
        "torch": """
            PRIVATE_OPS cond legacy_contiguous_format sym_constrain_range
            sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt
            sym_sum while_loop
        """,
    },
    "Copying variants of views, which compilers insert: write `.clone()`.": {
        "torch": """
            alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy
            split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy
            unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy
        """,
    },
    "Kernels of particular libraries and accelerators, and internal functions of layers: use `nn.functional`.": {
        "torch": """
            affine_grid_generator batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
            batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats
            convolution cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution
            cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler
            cudnn_is_acceptable embedding_renorm_ feature_dropout feature_dropout_ get_autocast_ipu_dtype
            get_autocast_xla_dtype grid_sampler grid_sampler_2d grid_sampler_3d has_lapack has_mkl has_openmp
            has_spectral is_autocast_ipu_enabled is_autocast_xla_enabled is_vulkan_available max_pool1d_with_indices
            miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
            miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn
            mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d
            mkldnn_max_pool3d mkldnn_rnn_layer native_batch_norm native_channel_shuffle native_dropout
            native_group_norm native_layer_norm native_norm set_autocast_ipu_dtype set_autocast_ipu_enabled
            set_autocast_xla_dtype set_autocast_xla_enabled set_flush_denormal
        """,
        "Tensor": "ipu mtia to_mkldnn xpu",
        "nn.functional": "native_channel_shuffle",
    },
    "Recurrent networks as single functions: use `nn.RNN`, `nn.LSTM`, `nn.GRU` and their cells.": {
        "torch": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell",
    },
    "Losses whose reduction is an integer, and `embedding_bag` with four results: use `nn.functional`.": {
        "torch": """
            binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss embedding_bag hinge_embedding_loss kl_div
            margin_ranking_loss poisson_nll_loss triplet_margin_loss
        """,
    },
    "Element types that NumPy doesn't have, such as types of fewer than eight bits.": {
        "torch": """
            bit bits16 bits1x8 bits2x4 bits4x2 bits8 float4_e2m1fn_x2 int1 int2 int3 int4 int5
            int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7
        """,
        "Tensor": "chalf",
    },
    "Storage classes for each dtype, which PyTorch deprecates: use `untyped_storage()`.": {
        "torch": """
            BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage
            FloatStorage HalfStorage IntStorage LongStorage ShortStorage Storage StorageBase
        """,
        "Tensor": "storage_type",
    },
    "Special functions without a derivative in PyTorch: orthogonal polynomials, and functions of Bessel and Airy.": {
        "special": """
            airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
            chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he
            laguerre_polynomial_l legendre_polynomial_p modified_bessel_i0 modified_bessel_i1 modified_bessel_k0
            modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t
            shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
            spherical_bessel_j0
        """,
    },
    "Functions that PyTorch has removed and that only raise there.": {
        "torch": "eig lstsq matrix_rank solve symeig",
        "Tensor": "eig lstsq reinforce solve symeig volatile",
    },
    "Linear algebra that programs rarely use.": {
        "torch": "frobenius_norm lobpcg nuclear_norm ormqr",
        "Tensor": "ormqr",
    },
    "Keys of PyTorch's dispatcher, and helpers for objects that override functions.": {
        "torch": """
            DispatchKey DispatchKeySet ExcludeDispatchKeyGuard
        """,
        "nn.functional": """
            handle_torch_function has_torch_function has_torch_function_unary has_torch_function_variadic
        """,
    },
    "Imports and tooling of PyTorch's modules, which are not part of its interface.": {
        "torch": """
            USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH classproperty compiled_with_cxx11_abi
            get_file_path prepare_multiprocessing_environment profiler_allow_cudagraph_cupti_lazy_reinit_cuda12
            thread_safe_generator
        """,
        "linalg": "common_notes",
        "fft": "common_args factory_common_args",
        "special": "Tensor common_args multi_dim_common",
        "nn.functional": """
            Callable DType GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES Optional TYPE_CHECKING Tensor
            assert_int_or_pair reproducibility_notes tf32_notes
        """,
    },
    "Rare functions that nobody has added yet.": {
        "torch": """
            AcceleratorError FatalError GradScaler from_file
            hash_tensor histogramdd segment_reduce
        """,
        "Tensor": """
            const_data_ptr grad_dtype hash_tensor index module_load resize resize_as
        """,
        "nn.functional": "ScalingType SwizzleType grouped_mm scaled_grouped_mm scaled_mm",
    },
}
"""By reason and by namespace the names, separated by spaces."""
