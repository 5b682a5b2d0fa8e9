// Device memory: host memory with a device index, counted for each device.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

#include <array>
#include <cstdint>

namespace conformance_neuron {

c10::Allocator* device_allocator();
c10::Allocator* pinned_allocator();
bool is_pinned(const void* pointer);

// Turn memory that a CPU kernel allocated into device memory, without a copy: `host` stays alive as long as the result.
c10::DataPtr adopt(const c10::Storage& host, c10::Device device);

struct MemoryUsage {
  int64_t allocated = 0; // bytes in use
  int64_t peak = 0;
  int64_t allocations = 0; // calls since the start
  int64_t frees = 0;
  int64_t total = 0; // capacity in bytes
};
MemoryUsage memory_usage(c10::DeviceIndex index);
void reset_peak_memory(c10::DeviceIndex index);
void set_memory_capacity(int64_t bytes);

} // namespace conformance_neuron
