// Device indices, initialisation and the rule about forks.
#pragma once

#include <c10/core/Device.h>

#include <mutex>

namespace conformance_neuron {

constexpr auto kNeuron = c10::DeviceType::PrivateUse1;

void set_device_count(int64_t count);
c10::DeviceIndex device_count();

c10::DeviceIndex current_device();
void set_current_device(c10::DeviceIndex index);
// Without a check: for guards that may not throw.
void restore_current_device(c10::DeviceIndex index);
// The index itself, or the current one where it is negative; raises for an index that does not exist.
c10::DeviceIndex resolve_index(c10::DeviceIndex index);

// The first use of the device initialises it; in a child forked from an initialised parent it raises instead.
void ensure_initialized();
bool is_initialized();
bool in_bad_fork();

// The mutex is held across every fork, so that a child never inherits it locked.
std::mutex& fork_safe_mutex();

} // namespace conformance_neuron
