// CPU tensors that share the memory of device tensors, and the way back.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <utility>
#include <vector>

namespace conformance_neuron {

// The tensors of one operator call. Storages are translated once, so tensors that share memory on the device share it
// on the host too.
class HostAliases {
 public:
  // `copy` moves the values to the host as a CPU fallback does, in place of aliasing the memory.
  explicit HostAliases(bool copy = false) : copy_(copy) {}

  at::Tensor to_host(const at::Tensor& tensor);
  at::Tensor to_device(const at::Tensor& host, c10::Device device);
  // After an operator that writes to its arguments: a kernel may have resized what it wrote to.
  void write_back_shapes();

 private:
  bool copy_;
  std::vector<std::pair<at::Tensor, at::Tensor>> tensors_;       // device, host
  std::vector<std::pair<c10::Storage, c10::Storage>> storages_;  // device, host
};

} // namespace conformance_neuron
