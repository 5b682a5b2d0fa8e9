// Mixed precision: the same lists of operators as PyTorch's own accelerators.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

namespace at::autocast {
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define CONFORMANCE_LOW(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define CONFORMANCE_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define CONFORMANCE_FP32_SET_OPT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define CONFORMANCE_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(CONFORMANCE_LOW)
  AT_FORALL_FP32(CONFORMANCE_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(CONFORMANCE_FP32_SET_OPT_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(CONFORMANCE_PROMOTE)
}
} // namespace at::autocast
