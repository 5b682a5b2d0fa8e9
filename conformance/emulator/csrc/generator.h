// Random numbers: a device generator wraps a CPU generator, so that equal seeds give equal numbers on both.
#pragma once

#include <ATen/core/Generator.h>

namespace conformance_neuron {

at::Generator new_generator(c10::DeviceIndex index);
const at::Generator& default_generator(c10::DeviceIndex index);
// The CPU generator inside a device generator; any other generator is returned as it is.
at::Generator host_generator(const at::Generator& generator);

} // namespace conformance_neuron
