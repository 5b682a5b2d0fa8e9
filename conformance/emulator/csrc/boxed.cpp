#include "boxed.h"

#include "call.h"
#include "generator.h"
#include "host_alias.h"
#include "profile.h"
#include "runtime.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <array>
#include <memory>
#include <optional>
#include <string_view>

namespace conformance_neuron {
namespace {

using torch::jit::Stack;

bool writes_to(const c10::Argument& argument) { return argument.alias_info() && argument.alias_info()->isWrite(); }

bool returns_view(const c10::FunctionSchema& schema) {
  for (const auto& returned : schema.returns()) {
    if (returned.alias_info() && !returned.alias_info()->isWrite()) return true;
  }
  return false;
}

template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) visit(tensor);
    }
  } else if (value.isOptionalTensorList()) {
    for (const auto& tensor : value.toOptionalTensorVector()) {
      if (tensor && tensor->defined()) visit(*tensor);
    }
  }
}

template <class Replace>
void replace_tensors(c10::IValue& value, Replace replace) {
  if (value.isTensor()) {
    value = replace(value.toTensor());
  } else if (value.isTensorList()) {
    std::vector<at::Tensor> tensors = value.toTensorVector();
    for (at::Tensor& tensor : tensors) tensor = replace(tensor);
    value = c10::List<at::Tensor>(tensors);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> tensors;
    for (const auto& tensor : value.toOptionalTensorVector()) {
      tensors.push_back(tensor ? std::optional<at::Tensor>(replace(*tensor)) : std::nullopt);
    }
    value = std::move(tensors);
  }
}

// These take lengths or sizes that PyTorch itself keeps on the CPU.
bool takes_host_tensors(const std::string& name) {
  static constexpr std::array<std::string_view, 3> names = {
      "aten::_pack_padded_sequence", "aten::_ctc_loss", "aten::_ctc_loss_backward"};
  for (const auto& known : names) {
    if (name == known) return true;
  }
  return false;
}

// The device an operator runs on; raises where its tensors lie on two. A CPU scalar goes with any device, and so do
// the indices of an indexing operator (an optional tensor list).
c10::Device device_of_call(const c10::OperatorHandle& op, const Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack.size() - arguments.size();
  std::optional<c10::Device> device;
  std::optional<c10::Device> other;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& value = stack[first + i];
    if (value.isDevice() && value.toDevice().type() == kNeuron) {
      device = c10::Device(kNeuron, resolve_index(value.toDevice().index()));
    }
    const bool may_be_on_host = value.isOptionalTensorList();
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (tensor.device().type() == kNeuron) {
        if (!device) device = tensor.device();
        if (*device != tensor.device()) other = tensor.device();
      } else if (!may_be_on_host && (tensor.dim() > 0 || writes_to(arguments[i]))) {
        other = tensor.device();
      }
    });
  }
  TORCH_CHECK(!other || !device || takes_host_tensors(op.schema().name()),
      "Expected all tensors to be on the same device, but found at least two devices, ", *device, " and ", *other,
      "! (when running ", op.operator_name(), ")");
  return device.value_or(c10::Device(kNeuron, current_device()));
}

// Where a call's tensors lie: the first of them decides, or the device argument of a factory.
c10::DeviceType device_type_of_call(const c10::OperatorHandle& op, const Stack& stack) {
  std::optional<c10::DeviceType> type;
  for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size() && !type; ++i) {
    if (stack[i].isDevice()) type = stack[i].toDevice().type();
    for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
      if (!type) type = tensor.device().type();
    });
  }
  return type.value_or(kNeuron);
}

// A CPU kernel accepts only CPU generators, and without one it would draw from the CPU's default generator.
void use_host_generators(const c10::OperatorHandle& op, Stack* stack, c10::DeviceIndex index) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    if (value.isGenerator()) {
      const at::Generator generator = value.toGenerator();
      const auto expected = device_type_of_call(op, *stack);
      TORCH_CHECK(generator.device().type() == expected, "Expected a '", c10::DeviceTypeName(expected, true),
          "' device type for generator but found '", c10::DeviceTypeName(generator.device().type(), true), "'");
      value = host_generator(generator);
    } else if (value.isNone() && arguments[i].name() == "generator") {
      value = host_generator(default_generator(index));
    }
  }
}

bool has_fallback_dtype(const c10::OperatorHandle& op, const Stack& stack) {
  const uint64_t dtypes = profile().fallback_dtypes;
  if (dtypes == 0) return false;
  bool found = false;
  for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
    for_each_tensor(stack[i], [&](const at::Tensor& tensor) { found |= has_dtype(dtypes, tensor.scalar_type()); });
  }
  return found;
}

// 64-bit types computed in 32 bits keep their type and lose their precision.
std::optional<at::ScalarType> computed_as(at::ScalarType dtype) {
  if (dtype == at::kDouble && profile().float64_as_float32) return at::kFloat;
  if (dtype == at::kLong && profile().int64_as_int32) return at::kInt;
  return std::nullopt;
}
bool moves_data_only(const c10::FunctionSchema& schema) {
  static constexpr std::array<std::string_view, 5> names = {
      "aten::copy_", "aten::clone", "aten::_to_copy", "aten::empty_like", "aten::contiguous"};
  if (returns_view(schema)) return true;
  for (const auto& known : names) {
    if (schema.name() == known) return true;
  }
  return false;
}
void round_in_place(const at::Tensor& host) {
  if (!host.defined() || host.layout() != at::kStrided || host.numel() == 0) return;
  if (const auto narrow = computed_as(host.scalar_type())) host.copy_(host.to(*narrow));
}

// Another operator that does the work of one without a CPU kernel, and an argument that it takes in addition.
struct Substitute {
  c10::OperatorHandle op;
  std::optional<c10::IValue> extra_argument{};
  size_t extra_position = 0;
};

// Run the CPU kernel of `op`, or a substitute, on CPU tensors that stand for the device's.
void run_on_host(const c10::OperatorHandle& op, Stack* stack, bool copy, const Substitute* instead = nullptr) {
  const auto& schema = op.schema();
  const auto& arguments = schema.arguments();
  const size_t first = stack->size() - arguments.size();
  const c10::Device device = device_of_call(op, *stack);
  const bool rounds =
      (profile().int64_as_int32 || profile().float64_as_float32) && !copy && !moves_data_only(schema);

  use_host_generators(op, stack, device.index());
  HostAliases aliases(copy);
  std::vector<at::Tensor> written;
  for (size_t i = 0; i < arguments.size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    if (value.isDevice()) {
      value = c10::Device(c10::DeviceType::CPU);
      continue;
    }
    const bool is_written = writes_to(arguments[i]);
    replace_tensors(value, [&](const at::Tensor& tensor) {
      at::Tensor host = aliases.to_host(tensor);
      if (is_written) written.push_back(host);
      if (rounds && !is_written && host.defined() && host.layout() == at::kStrided) {
        if (const auto narrow = computed_as(host.scalar_type())) {
          const at::AutoDispatchBelowADInplaceOrView below;
          const at::DisableRecordFunctionGuard unseen;
          const bool is_number = host.unsafeGetTensorImpl()->is_wrapped_number();
          host = host.to(*narrow).to(host.scalar_type());
          if (is_number) host.unsafeGetTensorImpl()->set_wrapped_number(true);
        }
      }
      return host;
    });
  }

  // A device's kernel is opaque: what the CPU kernel calls inside is not seen by modes, autocast or observers.
  const at::AutoDispatchBelowADInplaceOrView below;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  std::optional<at::DisableRecordFunctionGuard> unseen;
  if (!copy) unseen.emplace();
  if (instead != nullptr) {
    if (instead->extra_argument) {
      stack->insert(stack->begin() + static_cast<std::ptrdiff_t>(first + instead->extra_position),
          *instead->extra_argument);
    }
    instead->op.callBoxed(stack);
  } else {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }

  const size_t first_result = stack->size() - schema.returns().size();
  if (rounds) {
    for (const at::Tensor& host : written) round_in_place(host);
    for (size_t i = first_result; i < stack->size(); ++i) for_each_tensor((*stack)[i], round_in_place);
  }
  if (!written.empty()) aliases.write_back_shapes();
  for (size_t i = first_result; i < stack->size(); ++i) {
    replace_tensors((*stack)[i], [&](const at::Tensor& host) { return aliases.to_device(host, device); });
  }
}

[[noreturn]] void no_kernel(const c10::OperatorHandle& op) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "Could not run '", op.operator_name(),
      "' on the 'neuron' device: it has no kernel for the operator, and neither has the CPU to fall back to");
}

} // namespace

void native_kernel(const c10::OperatorHandle& op, Stack* stack) {
  if (has_fallback_dtype(op, *stack) && !returns_view(op.schema())) {
    fallback_kernel(op, stack);
    return;
  }
  Call call(op.operator_name(), Where::native);
  call.watch_arguments(op.schema(), *stack);
  run_on_host(op, stack, /*copy=*/false);
  call.spoil(op.schema(), *stack);
}

void fallback_kernel(const c10::OperatorHandle& op, Stack* stack) {
  if (!op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) no_kernel(op);
  // A view that fell back would be a copy; such operators run on the device's memory whatever the profile says.
  const bool view = returns_view(op.schema());
  Call call(op.operator_name(), view ? Where::native : Where::fallback);
  call.watch_arguments(op.schema(), *stack);
  if (view) {
    run_on_host(op, stack, /*copy=*/false);
  } else {
    const c10::Device device = device_of_call(op, *stack);
    use_host_generators(op, stack, device.index());
    at::native::cpu_fallback(op, stack);
  }
  call.spoil(op.schema(), *stack);
}

void convolution_kernel(const c10::OperatorHandle& op, Stack* stack) {
  const bool backward = op.schema().name() == "aten::convolution_backward_overrideable";
  const bool native = is_native(op.operator_name()) && !has_fallback_dtype(op, *stack);
  Call call(op.operator_name(), native ? Where::native : Where::fallback);
  Substitute instead{c10::Dispatcher::singleton().findSchemaOrThrow(
      backward ? "aten::convolution_backward" : "aten::convolution", "")};
  if (backward) {
    // The sizes of the bias, after the gradient, the input and the weight.
    const size_t first = stack->size() - op.schema().arguments().size();
    instead.extra_argument = c10::List<int64_t>({(*stack)[first].toTensor().size(1)});
    instead.extra_position = 3;
  }
  run_on_host(op, stack, !native, &instead);
  call.spoil(op.schema(), *stack);
}

void register_native(const std::vector<std::string>& overloads) {
  static auto* libraries = new std::vector<std::unique_ptr<torch::Library>>;
  auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten",
      std::make_optional(c10::DispatchKey::PrivateUse1), __FILE__, __LINE__);
  for (const std::string& overload : overloads) {
    const auto dot = overload.find('.');
    c10::OperatorName name(overload.substr(0, dot), dot == std::string::npos ? "" : overload.substr(dot + 1));
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) continue;
    if (!op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
      library->impl(overload.c_str(), torch::CppFunction::makeFromBoxedFunction<&native_kernel>());
    }
    add_native(std::move(name));
  }
  libraries->push_back(std::move(library));
}

} // namespace conformance_neuron
