#include "profile.h"

#include <c10/core/TensorOptions.h>
#include <c10/util/Exception.h>

#include <unordered_set>

namespace conformance_neuron {
namespace {

// Filled once, while the backend is loaded; only read afterwards.
std::unordered_set<c10::OperatorName>& native_overloads() {
  static auto* names = new std::unordered_set<c10::OperatorName>;
  return *names;
}

bool is_refused(std::optional<c10::MemoryFormat> format) {
  return profile().only_default_memory_format && format && *format != c10::MemoryFormat::Contiguous &&
      *format != c10::MemoryFormat::Preserve;
}

} // namespace

Profile& profile() {
  static auto* the_profile = new Profile;
  return *the_profile;
}

bool is_native(const c10::OperatorName& overload) { return native_overloads().count(overload) > 0; }
void add_native(c10::OperatorName overload) { native_overloads().insert(std::move(overload)); }

void check_supported(std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout) {
  TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == c10::kStrided, "neuron: layout ",
      c10::layout_or_default(layout), " is not supported, only torch.strided is");
  const auto type = c10::dtype_or_default(dtype);
  TORCH_CHECK_NOT_IMPLEMENTED(!c10::isQIntType(type) && !has_dtype(profile().unsupported_dtypes, type),
      "neuron: dtype ", type, " is not supported");
}

void check_format(std::optional<c10::MemoryFormat> format) {
  TORCH_CHECK_NOT_IMPLEMENTED(!is_refused(format), "neuron: memory format ", *format,
      " is not supported, only torch.contiguous_format and torch.preserve_format are");
}

std::optional<c10::MemoryFormat> stored_format(std::optional<c10::MemoryFormat> format) {
  return is_refused(format) ? c10::MemoryFormat::Contiguous : format;
}

} // namespace conformance_neuron
