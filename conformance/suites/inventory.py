"""List every operator and module of the installed torch: the denominators of coverage."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Any

from conformance.model.operator import ModuleInventory, OperatorInfo

# The first rule that fits names the group. Names are those of OpInfo's full names, without `masked.`; a name that ends
# in `*` is a prefix, any other stands for itself and its variants. Classes are those of
# torch/testing/_internal/opinfo/core.py, tags those of native_functions.yaml.
_BY_NAME = {
    "loss": "*_loss* *cross_entropy* *kl_div*",
    "linear algebra": (
        "linalg.* cholesky* lu lu_solve lu_unpack matrix_exp svd* qr geqrf ormqr triangular_solve "
        "logdet pinverse pca_lowrank cross symeig eig"
    ),
    "fft": "fft.* stft istft",
    "attention": (
        "nn.functional.scaled_dot_product_attention nn.functional.multi_head_attention* "
        "torch.ops.aten._flash_attention* torch.ops.aten._efficient_attention* torch.ops.aten._scaled_dot_product_*"
    ),
    "convolution": "nn.functional.conv* nn.functional.unfold nn.functional.fold",
    "pooling": "nn.functional.*pool* max_pool2d*",
    "normalisation": "nn.functional.*norm* *batch_norm* native_*_norm renorm normalize",
    "softmax": "*softmax* *softmin*",
    "random": (
        "nn.functional.*dropout* bernoulli multinomial normal* rand* uniform cauchy exponential geometric log_normal"
    ),
    "sparse": "sparse.* to_sparse",
    "creation": (
        "signal.windows.* arange linspace* logspace* ones* zeros* full* empty* eye new_* "
        "tril_indices triu_indices scalar_tensor zero_"
    ),
    "matrix multiplication": (
        "mm* bmm matmul addmm addbmm baddbmm addmv addr mv dot vdot inner outer kron tensordot "
        "einsum chain_matmul nn.functional.linear nn.functional.bilinear __rmatmul__ _int_mm "
        "torch._scaled_mm*"
    ),
    "interpolation": (
        "nn.functional.interpolate nn.functional.upsample* nn.functional.grid_sample grid_sampler* _upsample*"
    ),
    "indexing": (
        "gather scatter* index_* take* masked_* where nonzero* select* slice* narrow* put "
        "_unsafe_masked_index* argwhere searchsorted bucketize __getitem__ "
        "nn.functional.embedding* diagonal_scatter as_strided_scatter isin unravel_index "
        "nn.functional.one_hot"
    ),
    "sorting and counting": "sort argsort msort topk kthvalue unique* mode histc histogram* bincount",
    "scan": "cum* logcumsumexp trapezoid trapz diff gradient",
    "reduction": (
        "median nanmedian quantile nanquantile cov corrcoef dist cdist trace sum_to_size allclose "
        "equal _segment_reduce* nn.functional.pdist nn.functional.pairwise_distance "
        "nn.functional.cosine_similarity aminmax logsumexp norm std_mean var_mean"
    ),
    "shape": (
        "*view* reshape* expand* permute* transpose* swapaxes swapdims movedim moveaxis squeeze* "
        "unsqueeze* cat stack hstack vstack dstack column_stack *split* *chunk* flatten unflatten "
        "ravel repeat* tile roll flip fliplr flipud rot90 unbind* unfold* as_strided* broadcast_* "
        "atleast_* T H mT mH t t_copy adjoint diag* tril triu block_diag concat* meshgrid* "
        "combinations cartesian_prod contiguous clone resize_* resolve_* alias_copy "
        "constant_pad_nd _chunk_cat nn.functional.pad nn.functional.pixel_* "
        "nn.functional.channel_shuffle to item detach*"
    ),
    "pointwise": "jiterator* logaddexp nn.functional.hardswish nn.functional.leaky_relu",
}
_BY_CLASS = {
    "UnaryUfuncInfo": "pointwise",
    "BinaryUfuncInfo": "pointwise",
    "ReductionOpInfo": "reduction",
    "SpectralFuncInfo": "fft",
    "ShapeFuncInfo": "shape",
}
_PATTERNS = tuple((pattern, group) for group, names in _BY_NAME.items() for pattern in names.split())


def operators(device: str) -> list[OperatorInfo]:
    """Return every OpInfo of the installed torch, with the dtypes it declares for ``device``, sorted by name."""
    from torch.testing._internal.common_methods_invocations import op_db

    return sorted(
        (
            OperatorInfo(
                name=op.full_name,
                aten_name=op.aten_name or op.name,
                group=group_of(op),
                dtypes=dtype_names(op.supported_dtypes(device)),
                supports_autograd=bool(op.supports_autograd),
                supports_out=bool(op.supports_out),
            )
            for op in op_db
        ),
        key=lambda info: info.name,
    )


def modules(device: str) -> list[ModuleInventory]:
    """Return every ModuleInfo of the installed torch, with the dtypes it declares for ``device``, sorted by name."""
    from torch.testing._internal.common_modules import module_db

    return sorted(
        (ModuleInventory(name=info.name, dtypes=dtype_names(info.supported_dtypes(device))) for info in module_db),
        key=lambda info: info.name,
    )


def group_of(op: Any) -> str:
    """Return the family under which reports show an OpInfo."""
    by_class = _BY_CLASS.get(type(op).__name__)
    if by_class not in (None, "shape"):
        return by_class
    name = str(op.full_name).removeprefix("masked.")
    variant = op.variant_test_name
    plain = name.removesuffix(f".{variant}") if variant else name
    for pattern, group in _PATTERNS:
        if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(plain, pattern):
            return group
    return by_class or _group_by_tag(op) or ("neural network" if name.startswith("nn.functional.") else "other")


def _group_by_tag(op: Any) -> str | None:
    import torch

    packet = getattr(torch.ops.aten, op.aten_name or op.name, None)
    if packet is None:
        return None
    tags = {tag for overload in packet.overloads() for tag in getattr(packet, overload).tags}
    for tag, group in (("pointwise", "pointwise"), ("reduction", "reduction")):
        if getattr(torch.Tag, tag, None) in tags:
            return group
    return None


def dtype_names(dtypes: Iterable[Any]) -> tuple[str, ...]:
    """Return torch's names of dtypes without ``torch.``, sorted."""
    return tuple(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))
