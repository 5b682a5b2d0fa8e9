// The kernels that any operator can have: on the host's memory (native), or through PyTorch's CPU fallback.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

namespace conformance_neuron {

void native_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack);
void fallback_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack);
// For the overrideable convolution operators, which have no CPU kernel: runs aten::convolution in their place.
void convolution_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Give these overloads the native kernel; the ones that have a kernel of their own are only noted as native.
void register_native(const std::vector<std::string>& overloads);

} // namespace conformance_neuron
