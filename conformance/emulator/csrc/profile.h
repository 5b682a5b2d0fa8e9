// What the emulated device can do, as its capability profile says.
#pragma once

#include <ATen/core/operator_name.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <optional>

namespace conformance_neuron {

struct Profile {
  uint64_t fallback_dtypes = 0;    // bit i: operators on ScalarType i run on the CPU
  uint64_t unsupported_dtypes = 0; // bit i: a tensor of ScalarType i cannot exist
  bool only_default_memory_format = false;
  bool int64_as_int32 = false;
  bool float64_as_float32 = false;
};
Profile& profile();

inline bool has_dtype(uint64_t set, c10::ScalarType dtype) { return (set >> static_cast<int>(dtype)) & 1U; }

bool is_native(const c10::OperatorName& overload);
void add_native(c10::OperatorName overload);

// Raise NotImplementedError for a tensor that the device cannot hold.
void check_supported(std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout);

// Raise NotImplementedError for a memory format that a program asks for and the device does not have.
void check_format(std::optional<c10::MemoryFormat> format);
// The format a new tensor is stored in. PyTorch asks for channels-last by itself where a tensor that is moved here, or
// the result of an operator, had such strides on the CPU: a device without it stores that contiguously.
std::optional<c10::MemoryFormat> stored_format(std::optional<c10::MemoryFormat> format);

} // namespace conformance_neuron
