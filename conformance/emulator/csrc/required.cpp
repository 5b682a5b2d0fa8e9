// The kernels without which a backend cannot exist: memory, copies, views and single numbers. They are always native.
#include "boxed.h"
#include "call.h"
#include "host_alias.h"
#include "memory.h"
#include "profile.h"
#include "runtime.h"

#include <ATen/EmptyTensor.h>
#include <ATen/NativeFunctions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

namespace conformance_neuron {
namespace {

constexpr auto kKeys = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1);

// Count the call under its name, run it, and let a fault spoil the result.
template <class Work>
at::Tensor native(const c10::OperatorName& name, Work work) {
  const Call call(name, Where::native);
  at::Tensor result = work();
  call.spoil(result);
  return result;
}

void check_not_pinned(std::optional<bool> pinned) {
  TORCH_CHECK(!c10::pinned_memory_or_default(pinned), "Only dense CPU tensors can be pinned");
}

at::Tensor empty(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
    std::optional<c10::Device> device, std::optional<bool> pinned, std::optional<c10::MemoryFormat> asked_for) {
  static const c10::OperatorName name("aten::empty", "memory_format");
  const auto format = stored_format(asked_for);
  check_supported(dtype, layout);
  check_not_pinned(pinned);
  const c10::OptionalDeviceGuard guard(device);
  return native(name,
      [&] { return at::detail::empty_generic(size, device_allocator(), kKeys, c10::dtype_or_default(dtype), format); });
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout, std::optional<c10::Device> device, std::optional<bool> pinned) {
  static const c10::OperatorName name("aten::empty_strided", "");
  check_supported(dtype, layout);
  check_not_pinned(pinned);
  const c10::OptionalDeviceGuard guard(device);
  return native(name, [&] {
    return at::detail::empty_strided_generic(size, stride, device_allocator(), kKeys, c10::dtype_or_default(dtype));
  });
}

at::Tensor empty_like(const at::Tensor& self, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
    std::optional<c10::Device> device, std::optional<bool> pinned, std::optional<c10::MemoryFormat> format) {
  static const c10::OperatorName name("aten::empty_like", "");
  check_format(format);
  return native(name, [&] { return at::native::empty_like(self, dtype, layout, device, pinned, format); });
}

at::Tensor clone(const at::Tensor& self, std::optional<c10::MemoryFormat> format) {
  static const c10::OperatorName name("aten::clone", "");
  check_format(format);
  return native(name, [&] { return at::native::clone(self, format); });
}

at::Tensor to_copy(const at::Tensor& self, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
    std::optional<c10::Device> device, std::optional<bool> pinned, bool non_blocking,
    std::optional<c10::MemoryFormat> format) {
  static const c10::OperatorName name("aten::_to_copy", "");
  check_format(format);
  return native(name,
      [&] { return at::native::_to_copy(self, dtype, layout, device, pinned, non_blocking, format); });
}

void copy_values(const at::Tensor& from, const at::Tensor& to) {
  HostAliases aliases;
  const at::Tensor host_to = aliases.to_host(to);
  const at::Tensor host_from = aliases.to_host(from);
  const at::AutoDispatchBelowADInplaceOrView below;
  const at::DisableRecordFunctionGuard unseen;
  host_to.copy_(host_from);
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool) {
  static const c10::OperatorName name("aten::_copy_from", "");
  return native(name, [&] {
    copy_values(self, to);
    return to;
  });
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  static const c10::OperatorName name("aten::_copy_from_and_resize", "");
  return native(name, [&] {
    if (to.sizes() != self.sizes()) at::native::resize_(to, self.sizes(), std::nullopt);
    copy_values(self, to);
    return to;
  });
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  static const c10::OperatorName name("aten::_local_scalar_dense", "");
  const Call call(name, Where::native);
  HostAliases aliases;
  return at::native::_local_scalar_dense_cpu(aliases.to_host(self));
}

const at::Tensor& resize(const at::Tensor& self, c10::IntArrayRef size, std::optional<c10::MemoryFormat> format) {
  static const c10::OperatorName name("aten::resize_", "");
  check_format(format);
  const Call call(name, Where::native);
  return at::native::resize_(self, size, format);
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  static const c10::OperatorName name("aten::set_", "source_Tensor");
  const Call call(name, Where::native);
  return at::native::set_tensor_(self, source);
}
at::Tensor& set_storage(at::Tensor& self, c10::Storage source) {
  static const c10::OperatorName name("aten::set_", "source_Storage");
  const Call call(name, Where::native);
  return at::native::set_(self, std::move(source));
}
at::Tensor& set_storage_offset(at::Tensor& self, c10::Storage source, int64_t offset, c10::IntArrayRef size,
    c10::IntArrayRef stride) {
  static const c10::OperatorName name("aten::set_", "source_Storage_storage_offset");
  const Call call(name, Where::native);
  return at::native::set_storage_cpu_(self, std::move(source), offset, size, stride);
}
at::Tensor& set_empty(at::Tensor& self) {
  static const c10::OperatorName name("aten::set_", "");
  const Call call(name, Where::native);
  const c10::DeviceGuard guard(self.device());
  c10::Storage nothing(c10::Storage::use_byte_size_t(), 0, device_allocator(), /*resizable=*/true);
  return at::native::set_storage_cpu_(self, std::move(nothing), 0, {0}, {});
}

at::Tensor view(const at::Tensor& self, c10::IntArrayRef size) {
  static const c10::OperatorName name("aten::view", "");
  return native(name, [&] { return at::native::view(self, size); });
}
at::Tensor as_strided(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride,
    std::optional<int64_t> offset) {
  static const c10::OperatorName name("aten::as_strided", "");
  return native(name, [&] { return at::native::as_strided_tensorimpl(self, size, stride, offset); });
}
at::Tensor reshape_alias(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride) {
  static const c10::OperatorName name("aten::_reshape_alias", "");
  return native(name, [&] { return at::native::_reshape_alias(self, size, stride); });
}

void record_stream(at::Tensor&, c10::Stream) {
  static const c10::OperatorName name("aten::record_stream", "");
  const Call call(name, Where::native); // memory is free only when no call uses it any more: nothing to record
}

#if CONFORMANCE_TORCH >= 213
// Lets module.to("neuron") and lazy modules replace `.data`, as they do between the CPU and the devices in the tree.
// Before 2.13 TensorImpl checks the pair once more by itself, and would raise.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  const auto is_dense = [](const at::Tensor& tensor) {
    const auto type = tensor.device().type();
    return (type == kNeuron || type == c10::DeviceType::CPU) && tensor.layout() == at::kStrided &&
        !tensor.is_quantized();
  };
  return is_dense(self) && is_dense(from);
}
#endif

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("empty_like", empty_like);
  m.impl("clone", clone);
  m.impl("_to_copy", to_copy);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", local_scalar_dense);
  m.impl("resize_", resize);
  m.impl("set_.source_Tensor", set_tensor);
  m.impl("set_.source_Storage", set_storage);
  m.impl("set_.source_Storage_storage_offset", set_storage_offset);
  m.impl("set_", set_empty);
  m.impl("view", view);
  m.impl("as_strided", as_strided);
  m.impl("_reshape_alias", reshape_alias);
  m.impl("record_stream", record_stream);
  m.impl("convolution_overrideable", torch::CppFunction::makeFromBoxedFunction<&convolution_kernel>());
  m.impl("convolution_backward_overrideable", torch::CppFunction::makeFromBoxedFunction<&convolution_kernel>());
#if CONFORMANCE_TORCH >= 213
  m.impl("_has_compatible_shallow_copy_type", has_compatible_shallow_copy_type);
#endif
}

// Without these, copying a lazily conjugated or negated tensor recurses until the stack overflows.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_kernel>());
}

} // namespace
} // namespace conformance_neuron
