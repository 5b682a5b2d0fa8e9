#include "memory.h"

#include "runtime.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#if CONFORMANCE_TORCH >= 213
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

namespace conformance_neuron {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMaximumDevices = 128; // the range of c10::DeviceIndex

struct Counters {
  std::atomic<int64_t> allocated{0}, peak{0}, allocations{0}, frees{0};
};
Counters& counters(c10::DeviceIndex index) {
  static auto* all = new std::array<Counters, kMaximumDevices>;
  return (*all)[static_cast<size_t>(index)];
}
std::atomic<int64_t> g_capacity{int64_t{16} << 30};

void account(c10::DeviceIndex index, int64_t bytes) {
  Counters& c = counters(index);
  const int64_t now = c.allocated += bytes;
  ++c.allocations;
  int64_t seen = c.peak;
  while (now > seen && !c.peak.compare_exchange_weak(seen, now)) {
  }
}

// What a device pointer owns: memory of its own, or a host storage that a CPU kernel allocated.
struct Block {
  void* memory;
  std::optional<c10::Storage> host;
  int64_t bytes;
  c10::DeviceIndex index;
};
void release(void* context) {
  auto* block = static_cast<Block*>(context);
  Counters& c = counters(block->index);
  c.allocated -= block->bytes;
  ++c.frees;
  std::free(block->memory);
  delete block;
}

void* aligned_memory(size_t bytes, const char* what) {
  void* memory = nullptr;
  if (bytes > static_cast<size_t>(g_capacity.load()) || posix_memalign(&memory, kAlignment, bytes) != 0) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "neuron: out of memory: tried to allocate ", bytes, " bytes of ", what);
  }
  return memory;
}

#if CONFORMANCE_TORCH >= 213
using AllocatorBase = c10::DeviceAllocator; // torch.accelerator's memory functions ask for it
#else
using AllocatorBase = c10::Allocator;
#endif

struct DeviceMemory final : AllocatorBase {
  c10::DataPtr allocate(size_t bytes) override {
    ensure_initialized();
    const auto index = current_device();
    const c10::Device device(kNeuron, index);
    if (bytes == 0) return {nullptr, nullptr, &release_nothing, device};
    TORCH_CHECK_WITH(OutOfMemoryError, static_cast<int64_t>(bytes) <= g_capacity - counters(index).allocated,
        "neuron: out of memory: tried to allocate ", bytes, " bytes on neuron:", static_cast<int>(index), ", of whose ",
        g_capacity.load(), " bytes ", counters(index).allocated.load(), " are in use");
    void* memory = aligned_memory(bytes, "device memory");
    account(index, static_cast<int64_t>(bytes));
    return {memory, new Block{memory, std::nullopt, static_cast<int64_t>(bytes), index}, &release, device};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
  static void release_nothing(void*) {}

#if CONFORMANCE_TORCH >= 213
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
    const MemoryUsage usage = memory_usage(index);
    c10::CachingDeviceAllocator::DeviceStats stats;
    for (auto* bytes : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes, &stats.requested_bytes}) {
      (*bytes)[0].current = usage.allocated;
      (*bytes)[0].peak = usage.peak;
    }
    for (auto* count : {&stats.allocation, &stats.active}) {
      (*count)[0].current = usage.allocations - usage.frees;
      (*count)[0].allocated = usage.allocations;
      (*count)[0].freed = usage.frees;
    }
    stats.num_device_alloc = usage.allocations;
    stats.num_device_free = usage.frees;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex index) override {
    Counters& c = counters(resolve_index(index));
    c.allocations = 0;
    c.frees = 0;
  }
  void resetPeakStats(c10::DeviceIndex index) override { reset_peak_memory(index); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex index) override {
    const MemoryUsage usage = memory_usage(index);
    return {static_cast<size_t>(usage.total - usage.allocated), static_cast<size_t>(usage.total)};
  }
#endif
};

// Pinned memory is ordinary memory whose ranges are remembered.
struct PinnedRanges {
  std::mutex mutex;
  std::map<const char*, size_t> sizes;
};
PinnedRanges& pinned_ranges() {
  static auto* ranges = new PinnedRanges;
  return *ranges;
}
struct PinnedMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* memory = nullptr;
    if (bytes > 0) {
      memory = aligned_memory(bytes, "pinned host memory");
      const std::lock_guard<std::mutex> lock(pinned_ranges().mutex);
      pinned_ranges().sizes[static_cast<const char*>(memory)] = bytes;
    }
    return {memory, memory, &unpin, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &unpin; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
  static void unpin(void* memory) {
    if (memory == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(pinned_ranges().mutex);
      pinned_ranges().sizes.erase(static_cast<const char*>(memory));
    }
    std::free(memory);
  }
};

DeviceMemory g_device_memory;
PinnedMemory g_pinned_memory;
REGISTER_ALLOCATOR(kNeuron, &g_device_memory);

} // namespace

c10::Allocator* device_allocator() { return &g_device_memory; }
c10::Allocator* pinned_allocator() { return &g_pinned_memory; }

bool is_pinned(const void* pointer) {
  const auto* address = static_cast<const char*>(pointer);
  const std::lock_guard<std::mutex> lock(pinned_ranges().mutex);
  auto range = pinned_ranges().sizes.upper_bound(address);
  if (range == pinned_ranges().sizes.begin()) return false;
  --range;
  return address < range->first + range->second;
}

c10::DataPtr adopt(const c10::Storage& host, c10::Device device) {
  const auto bytes = static_cast<int64_t>(host.nbytes());
  account(device.index(), bytes);
  void* memory = host.mutable_data();
  return {memory, new Block{nullptr, host, bytes, device.index()}, &release, device};
}

MemoryUsage memory_usage(c10::DeviceIndex index) {
  const Counters& c = counters(resolve_index(index));
  return {c.allocated, c.peak, c.allocations, c.frees, g_capacity};
}
void reset_peak_memory(c10::DeviceIndex index) {
  Counters& c = counters(resolve_index(index));
  c.peak = c.allocated.load();
}
void set_memory_capacity(int64_t bytes) { g_capacity = bytes; }

} // namespace conformance_neuron
