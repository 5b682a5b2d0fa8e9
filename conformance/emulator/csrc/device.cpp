// What PyTorch asks of every accelerator: the device guard and the hooks.
#include "generator.h"
#include "memory.h"
#include "runtime.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <vector>

namespace conformance_neuron {
namespace {

// No function says `override` but the pure one: which of them the base declares differs between torch 2.6 and 2.14.
struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const { return is_initialized(); }
  void init() const { ensure_initialized(); }
  bool isBuilt() const { return true; }
  bool isAvailable() const { return device_count() > 0; }
  c10::DeviceIndex deviceCount() const { return device_count(); }
  c10::DeviceIndex getCurrentDevice() const { return current_device(); }
  void setCurrentDevice(c10::DeviceIndex index) const { set_current_device(index); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const {
    const auto before = current_device();
    set_current_device(index);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const {
    const auto before = current_device();
    if (index >= 0) set_current_device(index);
    return before;
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const { return default_generator(index); }
  at::Generator getNewGenerator(c10::DeviceIndex index) const { return new_generator(index); }
  at::Device getDeviceFromPtr(void*) const { return at::Device(kNeuron, current_device()); }
  bool isPinnedPtr(const void* pointer) const { return is_pinned(pointer); }
  c10::Allocator* getPinnedMemoryAllocator() const { return pinned_allocator(); }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const {
    auto* impl = storage.unsafeGetStorageImpl();
    const c10::DeviceGuard guard(storage.device());
    c10::DataPtr memory = device_allocator()->allocate(bytes);
    const size_t kept = std::min(bytes, static_cast<size_t>(impl->nbytes()));
    if (kept > 0) std::memcpy(memory.get(), impl->data(), kept);
    impl->set_data_ptr_noswap(std::move(memory));
    impl->set_nbytes(bytes);
  }
};

// Work is done when a call returns, so streams order nothing; the current one is still remembered for each thread.
std::vector<c10::StreamId>& current_streams() {
  thread_local std::vector<c10::StreamId> streams;
  streams.resize(static_cast<size_t>(device_count()), 0);
  return streams;
}

double milliseconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kNeuron; }
  c10::Device getDevice() const override { return c10::Device(kNeuron, current_device()); }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    set_current_device(device.index());
    return before;
  }
  void setDevice(c10::Device device) const override { set_current_device(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { restore_current_device(device.index()); }
  c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }

  c10::Stream getStream(c10::Device device) const noexcept override {  // torch 2.6 declares it so
    const auto index = resolve_index(device.index());
    return stream(current_streams()[static_cast<size_t>(index)], index);
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream(0, resolve_index(device.index())); }
  c10::Stream getNewStream(c10::Device device, int) const override {
    static std::atomic<c10::StreamId> next{1};
    return stream(next++, resolve_index(device.index()));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return getNewStream(device, 0); }
  c10::Stream exchangeStream(c10::Stream next) const noexcept override {
    const auto index = resolve_index(next.device_index());
    auto& current = current_streams()[static_cast<size_t>(index)];
    const c10::Stream before = stream(current, index);
    current = next.id();
    return before;
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) *event = new double;
    *static_cast<double*>(*event) = milliseconds();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<double*>(event); }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
    return *static_cast<double*>(end) - *static_cast<double*>(start);
  }

 private:
  static c10::Stream stream(c10::StreamId id, c10::DeviceIndex index) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kNeuron, index), id);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

[[maybe_unused]] const bool g_hooks_registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

} // namespace
} // namespace conformance_neuron
