#include "runtime.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <atomic>

namespace conformance_neuron {
namespace {

std::atomic<int64_t> g_device_count{1};
std::atomic<bool> g_initialized{false};
std::atomic<bool> g_bad_fork{false};
thread_local c10::DeviceIndex g_current = 0;

void before_fork() { fork_safe_mutex().lock(); }
void after_fork_in_parent() { fork_safe_mutex().unlock(); }
void after_fork_in_child() {
  fork_safe_mutex().unlock();
  if (g_initialized) g_bad_fork = true;
  g_initialized = false;
}

[[maybe_unused]] const int g_fork_rule = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

} // namespace

std::mutex& fork_safe_mutex() {
  static auto* mutex = new std::mutex; // never destroyed: worker threads may outlive static objects
  return *mutex;
}

void set_device_count(int64_t count) { g_device_count = count; }
c10::DeviceIndex device_count() { return static_cast<c10::DeviceIndex>(g_device_count.load()); }

c10::DeviceIndex current_device() { return g_current; }
void restore_current_device(c10::DeviceIndex index) { g_current = index; }
void set_current_device(c10::DeviceIndex index) { g_current = resolve_index(index); }

c10::DeviceIndex resolve_index(c10::DeviceIndex index) {
  if (index < 0) return g_current;
  TORCH_CHECK(index < device_count(), "neuron: invalid device index ", static_cast<int>(index), ": this machine has ",
      static_cast<int>(device_count()), " emulated device(s)");
  return index;
}

void ensure_initialized() {
  if (g_initialized.load(std::memory_order_relaxed)) return;
  TORCH_CHECK(!g_bad_fork, "Cannot re-initialize neuron in forked subprocess. To use neuron with multiprocessing, you "
      "must use the 'spawn' start method, or fork before the device is first used");
  g_initialized = true;
}

bool is_initialized() { return g_initialized; }
bool in_bad_fork() { return g_bad_fork; }

} // namespace conformance_neuron
