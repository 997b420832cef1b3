"""The names of MindSpore's API that programs use, by surface, tier and family.

Tier 1 is what most programs use, tier 2 what many do. A name that ends in ° needs no gradient: its
result is whole numbers, a shape or a random draw. Names outside both tiers are in
``unsupported.py``.
"""

#: ``TIERS[surface][tier][family]`` is a string of names.
TIERS: dict[str, dict[int, dict[str, str]]] = {
    "function": {
        1: {
            "Activation Functions": (
                "elu gelu hardsigmoid hardswish leaky_relu log_softmax logsigmoid mish prelu "
                "relu relu6 sigmoid silu softmax softsign tanh"
            ),
            "Array Operation": (
                "broadcast_to cat chunk concat einsum expand_dims flip gather gather_elements "
                "gather_nd index_select masked_fill masked_select meshgrid numel° permute rank° "
                "repeat_interleave reshape scatter_nd select shape° size° slice sort split "
                "squeeze stack strided_slice sum swapaxes tensor_scatter_add tile transpose tril "
                "triu unbind unsqueeze unstack where"
            ),
            "Comparison Functions": (
                "eq° equal° ge° greater° greater_equal° gt° isfinite° isinf° isnan° le° less° "
                "less_equal° lt° maximum minimum ne° not_equal° topk"
            ),
            "Differential Functions": "stop_gradient",
            "Element-wise Operations": (
                "abs acos add asin atan atan2 ceil° clamp clip cos cosh div divide erf exp expm1 "
                "floor floor_div° floor_divide° floor_mod inv log log10 log1p log2 logical_and° "
                "logical_not° logical_or° logical_xor° mul multiply neg negative pow reciprocal "
                "remainder round° rsqrt sign sin sinh sqrt square sub subtract t tan true_divide"
            ),
            "Gradient Clipping": "clip_by_global_norm clip_by_norm clip_by_value",
            "Image Functions": "pad",
            "Linear Algebraic Functions": "addmm bmm dot inverse matmul mm outer tensor_dot",
            "Loss Functions": (
                "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy kl_div "
                "l1_loss mse_loss nll_loss smooth_l1_loss"
            ),
            "Neural Network": (
                "adaptive_avg_pool2d avg_pool2d batch_norm bias_add conv1d conv2d dense dropout "
                "embedding flatten layer_norm max_pool2d"
            ),
            "Other": "det grad° softplus value_and_grad°",
            "Parameter Operation Functions": "assign assign_add assign_sub",
            "Reduction Functions": (
                "all° amax amin any° argmax° argmin° cumprod cumsum logsumexp max mean min norm "
                "prod std var"
            ),
            "Tensor Creation": (
                "arange° eye full° full_like° linspace° one_hot ones ones_like° range° zeros "
                "zeros_like°"
            ),
            "Type Cast": "cast",
        },
        2: {
            "Activation Functions": (
                "celu fast_gelu glu gumbel_softmax hardshrink hardtanh rrelu selu softmin "
                "softshrink swiglu threshold"
            ),
            "Array Operation": (
                "argwhere° block_diag column_stack conj count_nonzero° cross deepcopy diag "
                "diag_embed diagflat diagonal dstack fliplr flipud gather_d hsplit hstack "
                "index_add index_fill moveaxis movedim nan_to_num nanmean nansum narrow nonzero° "
                "normal renorm reverse_sequence roll row_stack scatter select_scatter "
                "sequence_mask° shuffle° slice_scatter swapdims tensor_scatter_div "
                "tensor_scatter_elements tensor_scatter_max tensor_scatter_min "
                "tensor_scatter_mul tensor_scatter_sub tensor_split unique° unsorted_segment_max "
                "unsorted_segment_min unsorted_segment_prod unsorted_segment_sum view_as_real° "
                "vsplit vstack"
            ),
            "Comparison Functions": (
                "argsort° intopk° is_floating_point° isclose° isneginf° isposinf° isreal° msort "
                "searchsorted°"
            ),
            "Differential Functions": "derivative° jet°",
            "Distance Functions": "cdist dist pdist",
            "Element-wise Operations": (
                "absolute accumulate_n acosh addcdiv addcmul addmv addn arccos arccosh arcsin "
                "arcsinh arctan arctan2 arctanh asinh atanh atleast_1d atleast_2d atleast_3d "
                "bessel_i0 bitwise_and° bitwise_left_shift° bitwise_or° bitwise_right_shift° "
                "bitwise_xor° copysign cosine_similarity deg2rad diff digamma erfc erfinv exp2 "
                "float_power fmax fmod frac hypot i0 igamma ldexp lerp logaddexp logaddexp2 "
                "logit polygamma positive rad2deg ravel rot90 sgn° sinc tanhshrink trapz "
                "tril_indices° triu_indices° trunc° truncate_div° truncate_mod xdivy xlogy"
            ),
            "Image Functions": (
                "affine_grid col2im grid_sample interpolate pixel_shuffle pixel_unshuffle upsample"
            ),
            "Linear Algebraic Functions": (
                "addbmm addr adjoint baddbmm cholesky ger inner kron logdet matrix_band_part "
                "matrix_diag matrix_solve mv pinv slogdet svd trace vander vecdot"
            ),
            "Loss Functions": (
                "cosine_embedding_loss gaussian_nll_loss hinge_embedding_loss° huber_loss "
                "margin_ranking_loss multi_margin_loss multilabel_margin_loss "
                "multilabel_soft_margin_loss soft_margin_loss triplet_margin_loss"
            ),
            "Neural Network": (
                "adaptive_avg_pool1d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
                "avg_pool1d avg_pool3d bidense conv3d dropout1d dropout2d dropout3d fold "
                "group_norm lp_pool1d lp_pool2d lrn max_pool3d rms_norm unfold"
            ),
            "Other": "fmin get_grad° jacfwd° jacrev° jvp° lgamma linearize matrix_power vjp° vmap°",
            "Parameter Operation Functions": "scatter_add scatter_update",
            "Randomly Generating Functions": (
                "bernoulli° gamma rand° rand_like° randint° randn° randn_like° randperm° "
                "standard_laplace° standard_normal° uniform°"
            ),
            "Reduction Functions": "aminmax cummax cummin logcumsumexp median std_mean var_mean",
            "Tensor Creation": "fill° heaviside°",
            "Type Cast": "is_tensor° scalar_to_tensor tuple_to_array°",
        },
    },
    "primitive": {
        1: {
            "Activation Function": (
                "Elu GeLU HSigmoid HSwish LogSoftmax PReLU ReLU ReLU6 Sigmoid Softmax Softplus "
                "Softsign Tanh"
            ),
            "Array Operation": (
                "BroadcastTo Cast Concat CumProd CumSum ExpandDims Gather GatherD GatherNd "
                "MaskedFill MaskedSelect Range° Rank° Reshape Select Shape° Size° Slice Sort "
                "Split Squeeze Stack StridedSlice TensorScatterAdd TensorScatterUpdate Tile "
                "Transpose Tril Triu Unstack"
            ),
            "Comparison Operator": (
                "Equal° Greater° GreaterEqual° IsFinite° IsInf° IsNan° Less° LessEqual° Maximum "
                "Minimum NotEqual° TopK"
            ),
            "Element-wise Operator": (
                "Abs Add AddN Ceil° Cos Cosh Div Erf Exp Floor FloorDiv° FloorMod Log Log1p "
                "LogicalAnd° LogicalNot° LogicalOr° Mod Mul Neg Pow RealDiv Reciprocal Round° "
                "Rsqrt Sign° Sin Sinh Sqrt Square SquaredDifference Sub Tan"
            ),
            "Frame Operators": (
                "Depend GradOperation° HookBackward° HyperMap° InsertGradientOf° Map "
                "MultitypeFuncGraph° Partial°"
            ),
            "Linear Algebraic Operator": "BatchMatMul BiasAdd MatMul",
            "Loss Function": (
                "BCEWithLogitsLoss BinaryCrossEntropy NLLLoss SmoothL1Loss "
                "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits"
            ),
            "Neural Network": (
                "AvgPool BatchNorm Conv2D Conv2DTranspose Dropout Flatten LayerNorm MaxPool Pad"
            ),
            "Parameter Operation Operator": "Assign AssignAdd AssignSub",
            "Reduction Operator": (
                "Argmax° ArgMaxWithValue Argmin° ArgMinWithValue ReduceAll° ReduceAny° ReduceMax "
                "ReduceMean ReduceMin ReduceProd ReduceSum"
            ),
            "Tensor Construction": "Eye Fill OneHot° Ones OnesLike° Zeros ZerosLike°",
        },
        2: {
            "Activation Function": "CeLU FastGeLU GLU HShrink Mish SeLU SoftShrink",
            "Array Operation": (
                "AffineGrid BatchToSpace ChannelShuffle Col2Im Cummax Cummin DepthToSpace Diag "
                "DType° FillV2 Fmax Hypot Identity Im2Col IndexAdd IndexFill InplaceAdd° "
                "InplaceSub° InplaceUpdate IsClose° Lcm° MatrixBandPart Meshgrid NanToNum "
                "NonZero° ReverseSequence ReverseV2 ScatterNd SearchSorted° SpaceToBatchND "
                "SpaceToDepth TensorScatterDiv TensorScatterMax TensorScatterMin "
                "TensorScatterMul TensorScatterSub Trace TrilIndices° TriuIndices° Unique° "
                "UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum"
            ),
            "Debugging Operator": "Print°",
            "Distance Function": "Cdist LpNorm Pdist",
            "Element-wise Operator": (
                "AccumulateNV2 ACos Acosh Addcdiv Addcmul Asin Asinh Atan Atan2 Atanh "
                "BitwiseAnd° BitwiseOr° BitwiseXor° Digamma DivNoNan Einsum Erfc Erfinv Expm1 "
                "Inv Lerp LogicalXor° Logit MulNoNan Rint° Sinc SquareSumAll Trunc TruncateDiv° "
                "TruncateMod Xdivy Xlogy"
            ),
            "Image Processing": "L2Normalize ResizeBilinearV2",
            "Linear Algebraic Operator": "Ger MatrixInverse Svd",
            "Loss Function": "CTCLoss KLDivLoss L2Loss SigmoidCrossEntropyWithLogits",
            "Mathematical Operators": "Cholesky Cross Gcd°",
            "Neural Network": (
                "AvgPool3D Conv3D Conv3DTranspose Dense Dropout2D Dropout3D EmbeddingLookup "
                "GridSampler2D LRN LSTM MaxPool3D MirrorPad ResizeNearestNeighbor"
            ),
            "Optimizer": "Adam° AdaptiveAvgPool2D ApplyMomentum° SGD°",
            "Other": "Lgamma",
            "Parameter Operation Operator": (
                "ScatterAdd° ScatterDiv° ScatterMax ScatterMin ScatterMul° ScatterNdAdd° "
                "ScatterNdUpdate ScatterSub° ScatterUpdate"
            ),
            "Random Generation Operator": "Bernoulli° Randperm StandardNormal° UniformReal°",
            "Reduction Operator": "Median",
            "Tensor Construction": "LinSpace°",
            "Type Conversion": "ScalarToTensor",
        },
    },
    "method": {
        1: {
            "Tensor": (
                "abs add all° any° argmax° argmin° asnumpy° assign_value° astype bmm bool° "
                "broadcast_to ceil° chunk clamp clip clone contiguous copy cos cosh cumprod "
                "cumsum data° device° dim° div divide dot dtype° eq° equal° erf exp expand "
                "expand_as expand_dims expm1 fill° flatten flip float floor floor_divide° "
                "from_numpy° gather gather_elements gather_nd ge° greater° greater_equal° gt° "
                "half has_init° index_select init_data° int° inverse isfinite° isinf° isnan° "
                "item° itemsize° le° less° less_equal° log log10 log1p log2 logical_and° "
                "logical_not° logical_or° logsumexp long° lt° masked_fill masked_select matmul "
                "max maximum mean min minimum mm mT mul multiply nbytes° ndim° ndimension° ne° "
                "neg negative new_ones° new_zeros° norm not_equal° numel° numpy° outer permute "
                "pow prod ravel reciprocal register_hook° remainder repeat repeat_interleave "
                "reshape reshape_as round° rsqrt select set_dtype° shape° sigmoid sign sin sinh "
                "size° softmax sort split sqrt square squeeze std strides° sub subtract sum "
                "sum_to_size swapaxes T t tan tanh tile to tolist° topk trace transpose tril "
                "triu true_divide type type_as unbind unsqueeze value var view view_as where"
            ),
        },
        2: {
            "Tensor": (
                "absolute acos acosh add_ addbmm addcdiv addcmul addmm addmv addr adjoint amax "
                "amin aminmax angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh "
                "argmax_with_value argmin_with_value argsort° argwhere° asin asinh atan atan2 "
                "atanh baddbmm bernoulli° bfloat16° bitwise_and° bitwise_or° bitwise_xor° byte° "
                "cholesky choose° clamp_ conj copy_° copysign count_nonzero° cov cross cummax "
                "cummin deg2rad det diag diagflat diagonal diff digamma div_ double erfc erfinv "
                "exp_ fill_ fill_diagonal° fliplr flipud float_power floor_ fmax fmin fmod fold "
                "frac gcd° ger H hardshrink heaviside° hsplit hypot i0 imag index_add index_add_ "
                "index_fill index_put° inner inv is_floating_point° isclose° itemset kthvalue "
                "lcm° ldexp lerp lgamma logaddexp logcumsumexp logdet logical_xor° logit "
                "masked_fill_ masked_scatter matrix_power median moveaxis movedim msort mul_ "
                "multinomial° nan_to_num nanmean nanmedian nansum narrow nelement° new_empty° "
                "new_full° nonzero° normal_ positive qr° rad2deg real remove_hook° renorm "
                "requires_grad_° resize reverse reverse_sequence roll rot90 scatter scatter_ "
                "scatter_add scatter_add_ scatter_div° scatter_max scatter_min scatter_mul° "
                "scatter_sub° searchsorted° select_scatter sgn° short° sigmoid_ sinc slogdet "
                "soft_shrink storage_offset° stride° sub_ svd swapdims take tanh_ tensor_split "
                "top_k trunc° unfold uniform_ unique unsorted_segment_max unsorted_segment_min "
                "unsorted_segment_prod vsplit xdivy xlogy zero_"
            ),
        },
    },
    "layer": {
        1: {
            "Basic Block": "Cell° LossBase° Optimizer°",
            "Common Layer": "Flatten Identity",
            "Container": "CellDict° CellList° SequentialCell",
            "Convolutional Layer": "Conv1d Conv2d Conv2dTranspose",
            "Dropout Layer": "Dropout",
            "Embedding Layer": "Embedding",
            "Linear Layer": "Dense",
            "Loss Function": (
                "BCELoss BCEWithLogitsLoss CrossEntropyLoss L1Loss MSELoss NLLLoss SmoothL1Loss "
                "SoftmaxCrossEntropyWithLogits"
            ),
            "Nonlinear Activation Layer": (
                "ELU GELU HSigmoid HSwish LeakyReLU LogSoftmax Mish PReLU ReLU ReLU6 Sigmoid "
                "SiLU Softmax Tanh"
            ),
            "Normalization Layer": "BatchNorm1d BatchNorm2d GroupNorm LayerNorm",
            "Optimizer": "Adam° Momentum° SGD°",
            "Padding Layer": "Pad",
            "Pooling Layer": "AdaptiveAvgPool2d AvgPool1d AvgPool2d MaxPool1d MaxPool2d",
            "Recurrent Layer": "GRU GRUCell LSTM LSTMCell RNN RNNCell",
            "Wrapper Layer": "ForwardValueAndGrad TrainOneStepCell° WithEvalCell° WithLossCell°",
        },
        2: {
            "Basic Block": "GraphCell°",
            "Common Layer": "ChannelShuffle Unflatten",
            "Convolutional Layer": "Conv1dTranspose Conv3d Conv3dTranspose Unfold",
            "Dropout Layer": "Dropout1d Dropout2d Dropout3d",
            "Dynamic Learning Rate / Dynamic LR Function": (
                "cosine_decay_lr° exponential_decay_lr° piecewise_constant_lr°"
            ),
            "Dynamic Learning Rate / LearningRateSchedule Class": (
                "CosineDecayLR° ExponentialDecayLR° PolynomialDecayLR° WarmUpLR°"
            ),
            "Embedding Layer": "EmbeddingLookup",
            "Image Processing Layer": "PixelShuffle PixelUnshuffle Upsample",
            "Linear Layer": "BiDense",
            "Loss Function": (
                "CosineEmbeddingLoss CTCLoss DiceLoss FocalLoss GaussianNLLLoss "
                "HingeEmbeddingLoss° HuberLoss KLDivLoss MAELoss MarginRankingLoss "
                "MultilabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss PoissonNLLLoss "
                "RMSELoss SoftMarginLoss TripletMarginLoss"
            ),
            "Nonlinear Activation Layer": (
                "CELU FastGelu get_activation° GLU Hardtanh HShrink LogSigmoid LRN RReLU SeLU "
                "Softmax2d Softmin SoftShrink Softsign Tanhshrink Threshold"
            ),
            "Normalization Layer": (
                "BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d SyncBatchNorm"
            ),
            "Optimizer": "Adadelta° Adagrad° AdaMax° AdamWeightDecay° RMSProp°",
            "Padding Layer": (
                "ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d "
                "ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad2d"
            ),
            "Pooling Layer": (
                "AdaptiveAvgPool1d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
                "AvgPool3d LPPool1d LPPool2d MaxPool3d"
            ),
            "Transformer Layer": (
                "MultiheadAttention Transformer TransformerDecoder TransformerDecoderLayer "
                "TransformerEncoder TransformerEncoderLayer"
            ),
            "Wrapper Layer": (
                "DynamicLossScaleUpdateCell FixedLossScaleUpdateCell GradAccumulationCell "
                "ParameterUpdate TimeDistributed TrainOneStepWithLossScaleCell"
            ),
        },
    },
}
