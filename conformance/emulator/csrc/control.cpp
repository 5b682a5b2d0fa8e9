// What Python calls: operators of the namespace conformance_neuron. There is no Python.h in this library.
#include "boxed.h"
#include "call.h"
#include "generator.h"
#include "memory.h"
#include "profile.h"
#include "runtime.h"

#include <torch/library.h>

namespace conformance_neuron {
namespace {

void configure(int64_t devices, int64_t memory_bytes, const std::vector<int64_t>& fallback_dtypes,
    const std::vector<int64_t>& unsupported_dtypes, bool only_default_memory_format, bool int64_as_int32,
    bool float64_as_float32) {
  const auto as_set = [](const std::vector<int64_t>& dtypes) {
    uint64_t set = 0;
    for (const int64_t dtype : dtypes) set |= uint64_t{1} << dtype;
    return set;
  };
  set_device_count(devices);
  set_memory_capacity(memory_bytes);
  profile() = {as_set(fallback_dtypes), as_set(unsupported_dtypes), only_default_memory_format, int64_as_int32,
      float64_as_float32};
}

void inject(const std::vector<std::string>& overloads, int64_t kind, double argument, int64_t from_call) {
  inject_fault(overloads, static_cast<FaultKind>(kind), argument, from_call);
}

std::tuple<c10::Dict<std::string, int64_t>, c10::Dict<std::string, int64_t>> counts(bool reset) {
  c10::Dict<std::string, int64_t> native, fallback;
  for (const OverloadCount& count : call_counts(reset)) {
    if (count.native > 0) native.insert(count.overload, count.native);
    if (count.fallback > 0) fallback.insert(count.overload, count.fallback);
  }
  return {native, fallback};
}

c10::DeviceIndex narrow(int64_t index) {
  TORCH_CHECK(index >= -1 && index < device_count(), "neuron: invalid device index ", index, ": this machine has ",
      static_cast<int>(device_count()), " emulated device(s)");
  return static_cast<c10::DeviceIndex>(index);
}

std::vector<int64_t> memory(int64_t index) {
  const MemoryUsage usage = memory_usage(narrow(index));
  return {usage.allocated, usage.peak, usage.allocations, usage.frees, usage.total};
}

TORCH_LIBRARY(conformance_neuron, m) {
  m.def("configure(int devices, int memory_bytes, int[] fallback_dtypes, int[] unsupported_dtypes, "
        "bool only_default_memory_format, bool int64_as_int32, bool float64_as_float32) -> ()", configure);
  m.def("dtype_number(ScalarType dtype) -> int", [](at::ScalarType dtype) { return static_cast<int64_t>(dtype); });
  m.def("register_native(str[] overloads) -> ()", register_native);
  m.def("inject(str[] overloads, int kind, float argument, int from_call) -> ()", inject);
  m.def("clear_faults() -> ()", clear_faults);
  m.def("counts(bool reset) -> (Dict(str, int), Dict(str, int))", counts);

  m.def("initialize() -> ()", ensure_initialized);
  m.def("is_initialized() -> bool", is_initialized);
  m.def("in_bad_fork() -> bool", in_bad_fork);
  m.def("device_count() -> int", [] { return int64_t{device_count()}; });
  m.def("current_device() -> int", [] { return int64_t{current_device()}; });
  m.def("set_device(int index) -> ()", [](int64_t index) { set_current_device(narrow(index)); });

  m.def("memory(int index) -> int[]", memory);
  m.def("reset_peak_memory(int index) -> ()", [](int64_t index) { reset_peak_memory(narrow(index)); });

  m.def("default_generator(int index) -> Generator?", [](int64_t index) { return default_generator(narrow(index)); });
  m.def("get_rng_state(int index) -> Tensor", [](int64_t index) { return default_generator(narrow(index)).get_state(); });
  m.def("set_rng_state(int index, Tensor state) -> ()", [](int64_t index, const at::Tensor& state) {
    at::Generator(default_generator(narrow(index))).set_state(state);
  });
  m.def("manual_seed(int index, int seed) -> ()", [](int64_t index, int64_t seed) {
    at::Generator(default_generator(narrow(index))).set_current_seed(static_cast<uint64_t>(seed));
  });
  m.def("initial_seed(int index) -> int",
      [](int64_t index) { return static_cast<int64_t>(default_generator(narrow(index)).current_seed()); });
}

} // namespace
} // namespace conformance_neuron
