// Sees, from PyTorch's own operator observers, which operators ran on the CPU in place of the device.
//
// Two rules, both about what is called beneath an operator in the same thread:
// - `aten::_to_cpu` directly beneath it: that is at::native::cpu_fallback (aten/src/ATen/native/CPUFallback.cpp).
// - a copy of its tensors from the device to the CPU, and afterwards an operator that computes on CPU tensors only: the
//   kernel does on the CPU what it should do on the device.
//
// The interface is plain C for ctypes, without Python.h and without operators of its own, which would be observed too.
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/TensorImpl.h>

#include <pthread.h>

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace {

struct Count {
  int64_t in_window = 0;
  int64_t elsewhere = 0;
};
using Counts = std::map<std::string, Count>;

struct Seen {
  std::mutex mutex;
  Counts fallbacks;
  Counts inside; // kernels that compute on the CPU
  std::string text;
};
Seen& seen() {
  static auto* all = new Seen; // never destroyed: worker threads may outlive static objects
  return *all;
}
std::atomic<bool> g_in_window{false};

// Of the thread that runs the tests; the others only read g_in_window.
std::optional<at::CallbackHandle> g_handle;
bool g_only_in_windows = false;
bool g_cut_off = false; // a test has switched observers off, or removed them

// What an operator's name says about copies beneath it.
enum class Role : uint8_t {
  computes, // is to blame for them
  moves,    // hands them on to the operator above: moving data is its work
  reads     // needs them, and nobody is to blame
};

struct Frame {
  const at::RecordFunction* call;
  Role role;
  bool fell_back = false;
  bool copied_to_host = false;
  bool computed_on_host = false;
};
struct ThreadState {
  std::vector<Frame> frames;
  int copied = 0; // frames with copied_to_host: while there is none, nothing else needs a look
  bool canary = false;
};
thread_local ThreadState t_state;

constexpr char kAten[] = "aten::";
constexpr size_t kAtenLength = sizeof(kAten) - 1;
constexpr char kToCpu[] = "_to_cpu";
constexpr char kCanary[] = "conformance::canary";

bool any_of(const char* name, std::initializer_list<const char*> names) {
  for (const char* other : names) {
    if (std::strcmp(name, other) == 0) return true;
  }
  return false;
}

// `name` is without its namespace. The first letter decides most calls.
Role role_of(const char* name) {
  switch (name[0]) {
    case '_':
      if (any_of(name, {kToCpu, "_local_scalar_dense", "_pin_memory"})) return Role::reads;
      return any_of(name, {"_to_copy", "_copy_from", "_copy_from_and_resize"}) ? Role::moves : Role::computes;
    case 'c':
      return any_of(name, {"copy_", "clone", "contiguous", "cpu"}) ? Role::moves : Role::computes;
    case 'i':
      return any_of(name, {"item", "is_nonzero", "is_pinned"}) ? Role::reads : Role::computes;
    case 't':
      return any_of(name, {"to"}) ? Role::moves : Role::computes;
    default:
      return Role::computes;
  }
}

// The backends of a tensor as a set of bits. Not Tensor::device(): a Python subclass may answer that with its own code.
uint64_t backends_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.unsafeGetTensorImpl()->key_set().raw_repr() & c10::full_backend_mask : 0;
}
const uint64_t kCpu = c10::DispatchKeySet(c10::BackendComponent::CPUBit).raw_repr();
const uint64_t kNoDevice = kCpu | c10::DispatchKeySet(c10::BackendComponent::MetaBit).raw_repr();

bool is_on_cpu(const at::Tensor& tensor) { return (backends_of(tensor) & kCpu) != 0; }
bool is_on_device(const at::Tensor& tensor) { return (backends_of(tensor) & ~kNoDevice) != 0; }

const at::Tensor* tensor_at(c10::ArrayRef<const c10::IValue> inputs, size_t index) {
  return index < inputs.size() && inputs[index].isTensor() ? &inputs[index].toTensor() : nullptr;
}

bool copies_to_host(const char* name, c10::ArrayRef<const c10::IValue> inputs) {
  const at::Tensor* first = tensor_at(inputs, 0);
  const at::Tensor* second = tensor_at(inputs, 1);
  if (first == nullptr) return false;
  if (std::strcmp(name, "copy_") == 0) return second != nullptr && is_on_cpu(*first) && is_on_device(*second);
  if (std::strcmp(name, "_to_copy") == 0) {
    return is_on_device(*first) && inputs.size() > 3 && inputs[3].isDevice() && inputs[3].toDevice().is_cpu();
  }
  if (std::strncmp(name, "_copy_from", 10) == 0) {
    return second != nullptr && is_on_device(*first) && is_on_cpu(*second);
  }
  return false;
}

// True where all tensors are on the CPU and there is at least one.
bool takes_only_cpu_tensors(c10::ArrayRef<const c10::IValue> inputs) {
  bool any = false;
  const auto fits = [&any](const at::Tensor& tensor) {
    any |= is_on_cpu(tensor);
    return !is_on_device(tensor);
  };
  for (const c10::IValue& value : inputs) {
    if (value.isTensor()) {
      if (!fits(value.toTensor())) return false;
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) {
        if (!fits(tensor)) return false;
      }
    } else if (value.isOptionalTensorList()) {
      for (const auto& tensor : value.toOptionalTensorVector()) {
        if (tensor && !fits(*tensor)) return false;
      }
    }
  }
  return any;
}

// Views and the making of a result's memory are no computation.
bool computes(const at::RecordFunction& call, const char* name) {
  if (any_of(name, {"empty_like", "new_empty", "new_empty_strided", "resize_", "set_", "resolve_conj", "resolve_neg"})) {
    return false;
  }
  const auto schema = call.operator_schema();
  if (!schema) return false;
  for (const auto& returned : schema->returns()) {
    if (returned.alias_info() && !returned.alias_info()->isWrite()) return false;
  }
  return true;
}

std::string overload_of(const at::RecordFunction& call) {
  const auto overload = call.operator_name();
  return overload ? c10::toString(*overload) : call.name();
}

void note(Counts Seen::* counts, const at::RecordFunction& call) {
  const std::lock_guard<std::mutex> lock(seen().mutex);
  Count& count = (seen().*counts)[overload_of(call)];
  ++(g_in_window.load(std::memory_order_relaxed) ? count.in_window : count.elsewhere);
}

void blame_copy(ThreadState& state) {
  for (auto frame = state.frames.rbegin(); frame != state.frames.rend(); ++frame) {
    if (frame->role == Role::reads || frame->fell_back) return;
    if (frame->role == Role::computes) {
      if (!frame->copied_to_host) ++state.copied;
      frame->copied_to_host = true;
      return;
    }
  }
}

void blame_computation(ThreadState& state) {
  for (auto frame = state.frames.rbegin(); frame != state.frames.rend(); ++frame) {
    if (frame->role == Role::reads || frame->fell_back) return;
    if (frame->copied_to_host) {
      if (!frame->computed_on_host) note(&Seen::inside, *frame->call);
      frame->computed_on_host = true;
      return;
    }
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& call) {
  ThreadState& state = t_state;
  const char* name = call.name();
  Role role = Role::computes;
  if (std::strncmp(name, kAten, kAtenLength) == 0) {
    name += kAtenLength;
    role = role_of(name);
    if (!state.frames.empty()) {
      if (role == Role::reads && std::strcmp(name, kToCpu) == 0) {
        Frame& caller = state.frames.back();
        if (!caller.fell_back) note(&Seen::fallbacks, *caller.call);
        caller.fell_back = true;
      } else if (role == Role::moves) {
        if (copies_to_host(name, call.inputs())) blame_copy(state);
      } else if (state.copied > 0 && role == Role::computes && takes_only_cpu_tensors(call.inputs()) &&
          computes(call, name)) {
        blame_computation(state);
      }
    }
  } else if (std::strcmp(name, kCanary) == 0) {
    state.canary = true;
  }
  state.frames.push_back({&call, role});
  return nullptr;
}

// Calls end in the order opposite to their start, except those that another thread ends: these are looked up.
void on_end(const at::RecordFunction& call, at::ObserverContext*) {
  ThreadState& state = t_state;
  if (!state.frames.empty() && state.frames.back().call == &call) {
    state.copied -= state.frames.back().copied_to_host;
    state.frames.pop_back();
    return;
  }
  for (auto frame = state.frames.end(); frame != state.frames.begin();) {
    --frame;
    if (frame->call == &call) {
      for (auto gone = frame; gone != state.frames.end(); ++gone) state.copied -= gone->copied_to_host;
      state.frames.erase(frame, state.frames.end());
      return;
    }
  }
}

// Tell whether this thread's calls reach the observer: a test may have switched observers off, or removed them all.
bool is_seeing() {
  t_state.canary = false;
  {
    at::RecordFunction guard(at::RecordScope::FUNCTION);
    if (guard.isActive()) guard.before(kCanary);
  }
  return t_state.canary;
}

// In windows a callback of this thread does: PyTorch hands it on to autograd's threads, and to switch it costs a quarter
// of what a process-wide one costs.
void start_observing() {
  at::RecordFunctionCallback callback(on_start, on_end);
  callback.needsInputs(true).scopes({at::RecordScope::FUNCTION});
  g_handle = g_only_in_windows ? at::addThreadLocalCallback(callback) : at::addGlobalCallback(callback);
}

// Operators that are under way in other threads still report their end.
void stop_observing() {
  if (!g_handle) return;
  if (!is_seeing()) g_cut_off = true;
  // To remove one that is no longer there would print a warning.
  if (g_only_in_windows ? at::hasThreadLocalCallbacks() : at::hasGlobalCallbacks()) at::removeCallback(*g_handle);
  g_handle.reset();
}

void append(std::string& text, const char* kind, const Counts& counts) {
  for (const auto& [overload, count] : counts) {
    text.append(kind).append(" ").append(overload).append(" ").append(std::to_string(count.in_window));
    text.append(" ").append(std::to_string(count.elsewhere)).append("\n");
  }
}

void before_fork() { seen().mutex.lock(); }
void after_fork() { seen().mutex.unlock(); }
[[maybe_unused]] const int g_fork_rule = pthread_atfork(before_fork, after_fork, after_fork);

} // namespace

extern "C" {

// Forget what was seen, and observe from now on, or only in windows.
void conformance_observer_begin(int only_in_windows) {
  stop_observing();
  {
    const std::lock_guard<std::mutex> lock(seen().mutex);
    seen().fallbacks.clear();
    seen().inside.clear();
  }
  g_in_window = false;
  g_cut_off = false;
  g_only_in_windows = only_in_windows != 0;
  if (!g_only_in_windows) start_observing();
}

void conformance_observer_window(int open) {
  if (g_only_in_windows && open != 0 && !g_handle) start_observing();
  g_in_window.store(open != 0, std::memory_order_relaxed);
  if (g_only_in_windows && open == 0) stop_observing();
}

// Stop, and return what was seen since the beginning, one overload a line: kind, overload, how often in the window, how
// often outside. Null where the observer was cut off meanwhile. The text is valid until the next call.
const char* conformance_observer_end() {
  stop_observing();
  g_only_in_windows = false;
  if (g_cut_off) return nullptr;
  const std::lock_guard<std::mutex> lock(seen().mutex);
  seen().text.clear();
  append(seen().text, "fallback", seen().fallbacks);
  append(seen().text, "inside", seen().inside);
  return seen().text.c_str();
}

} // extern "C"
