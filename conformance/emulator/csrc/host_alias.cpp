#include "host_alias.h"

#include "memory.h"
#include "profile.h"
#include "runtime.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_to_cpu.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>

namespace conformance_neuron {
namespace {

c10::Storage host_storage(const c10::Storage& device) {
  auto* owner = new c10::Storage(device);
  c10::DataPtr memory(device.mutable_data(), owner, [](void* context) { delete static_cast<c10::Storage*>(context); },
      c10::Device(c10::DeviceType::CPU));
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), device.nbytes(), std::move(memory),
      c10::GetCPUAllocator(), /*resizable=*/true);
}

c10::Storage device_storage(const c10::Storage& host, c10::Device device) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), host.nbytes(), adopt(host, device),
      device_allocator(), /*resizable=*/true);
}

at::Tensor over_storage(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like) {
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), like.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.is_conj()) tensor._set_conj(true);
  if (like.is_neg()) tensor._set_neg(true);
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

} // namespace

at::Tensor HostAliases::to_host(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != kNeuron) return tensor;
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == at::kStrided && tensor.has_storage(), "neuron: layout ",
      tensor.layout(), " is not supported, only torch.strided is");
  if (copy_) return at::_to_cpu({tensor})[0];
  c10::Storage host;
  for (const auto& [device_side, host_side] : storages_) {
    if (device_side.unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl()) host = host_side;
  }
  if (!host) {
    host = host_storage(tensor.storage());
    storages_.emplace_back(tensor.storage(), host);
  }
  at::Tensor alias = over_storage(std::move(host), c10::DispatchKey::CPU, tensor);
  tensors_.emplace_back(tensor, alias);
  return alias;
}

at::Tensor HostAliases::to_device(const at::Tensor& host, c10::Device device) {
  if (!host.defined() || host.device().type() != c10::DeviceType::CPU) return host;
  for (const auto& [device_side, host_side] : tensors_) {
    if (host_side.is_same(host)) return device_side;
  }
  // These have no memory behind them, which only the CPU and CUDA kernels know how to treat.
  if (host._is_zerotensor()) return at::zeros(host.sizes(), host.options().device(device));
  check_supported(host.scalar_type(), host.layout());
  if (copy_) return host.to(device);
  c10::Storage storage;
  for (const auto& [device_side, host_side] : storages_) {
    if (host_side.unsafeGetStorageImpl() == host.storage().unsafeGetStorageImpl()) storage = device_side;
  }
  if (!storage) {
    storage = device_storage(host.storage(), device);
    storages_.emplace_back(storage, host.storage());
  }
  return over_storage(std::move(storage), c10::DispatchKey::PrivateUse1, host);
}

void HostAliases::write_back_shapes() {
  for (const auto& [device_side, host_side] : tensors_) {
    auto* target = device_side.storage().unsafeGetStorageImpl();
    const auto* source = host_side.storage().unsafeGetStorageImpl();
    if (source->data() != target->data() || source->nbytes() != target->nbytes()) {
      target->set_data_ptr_noswap(adopt(host_side.storage(), device_side.device()));
      target->set_nbytes(source->nbytes());
    }
    if (device_side.sizes() != host_side.sizes() || device_side.strides() != host_side.strides() ||
        device_side.storage_offset() != host_side.storage_offset()) {
      device_side.unsafeGetTensorImpl()->set_sizes_and_strides(host_side.sizes(), host_side.strides(),
          host_side.storage_offset());
    }
  }
}

} // namespace conformance_neuron
