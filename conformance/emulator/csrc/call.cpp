#include "call.h"

#include "host_alias.h"
#include "runtime.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/logical_not.h>
#include <ATen/record_function.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace conformance_neuron {
namespace {

struct Fault {
  FaultKind kind;
  double argument;
  int64_t from_call;
  int64_t calls = 0;
};
struct Account {
  int64_t native = 0;
  int64_t fallback = 0;
};

// Both tables are guarded by fork_safe_mutex(); g_any_fault spares the second look-up where there is nothing to find.
std::unordered_map<c10::OperatorName, Account>& accounts() {
  static auto* table = new std::unordered_map<c10::OperatorName, Account>;
  return *table;
}
std::unordered_map<std::string, std::shared_ptr<Fault>>& faults() {
  static auto* table = new std::unordered_map<std::string, std::shared_ptr<Fault>>;
  return *table;
}
std::atomic<bool> g_any_fault{false};
std::atomic<bool> g_poisoned{false}; // for good: as with a real device, only a new process gets a sound one

struct Triggered {
  FaultKind kind = FaultKind::none;
  double argument = 0;
};
Triggered count(const c10::OperatorName& overload, Where where) {
  const std::lock_guard<std::mutex> lock(fork_safe_mutex());
  Account& account = accounts()[overload];
  ++(where == Where::native ? account.native : account.fallback);
  if (!g_any_fault) return {};
  const auto found = faults().find(c10::toString(overload));
  if (found == faults().end()) return {};
  Fault& fault = *found->second;
  if (++fault.calls < fault.from_call) return {};
  return {fault.kind, fault.argument};
}

[[noreturn]] void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void segfault() {
  // Volatile twice: a compiler that knew the address could drop the store, or emit another signal's trap.
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

void spoil_values(const at::Tensor& host, FaultKind kind) {
  const auto type = host.scalar_type();
  if (type == at::kBool) {
    host.copy_(at::logical_not(host));
  } else if (at::isFloatingType(type) || at::isComplexType(type)) {
    if (kind == FaultKind::nan) {
      host.fill_(std::numeric_limits<double>::quiet_NaN());
    } else {
      host.copy_(host.to(at::isComplexType(type) ? at::kComplexDouble : at::kDouble).mul(1.5).add(1.0));
    }
  } else if (!at::isQIntType(type)) {
    host.copy_(host.to(at::kLong).add(1));
  }
}

bool has_fractions(const at::Tensor& tensor) {
  return at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type());
}

// Where numbers and indices are returned together (max, topk) only the numbers are spoilt: a wrong index would crash
// the operator that uses it, which is another fault.
void spoil_tensors(const std::vector<at::Tensor>& tensors, FaultKind kind) {
  bool any_fractions = false;
  for (const at::Tensor& tensor : tensors) any_fractions |= tensor.defined() && has_fractions(tensor);
  const at::AutoDispatchBelowADInplaceOrView below;
  const at::DisableRecordFunctionGuard unseen;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.numel() == 0 || tensor.layout() != at::kStrided) continue;
    if (any_fractions && !has_fractions(tensor)) continue;
    HostAliases aliases;
    spoil_values(aliases.to_host(tensor), kind);
  }
}

void append_tensors(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor()) {
    tensors.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
  }
}

} // namespace

Call::Call(const c10::OperatorName& overload, Where where) {
  ensure_initialized();
  TORCH_CHECK(!g_poisoned, "neuron: the device is in an unrecoverable state, cannot execute '", c10::toString(overload),
      "' (injected fault)");
  const Triggered fault = count(overload, where);
  switch (fault.kind) {
    case FaultKind::none:
      break;
    case FaultKind::not_implemented:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "neuron: '", c10::toString(overload), "' is not implemented (injected fault)");
    case FaultKind::error:
      TORCH_CHECK(false, "neuron: executing '", c10::toString(overload), "' failed (injected fault)");
    case FaultKind::alloc_error:
      TORCH_CHECK_WITH(OutOfMemoryError, false, "neuron: out of memory in '", c10::toString(overload),
          "' (injected fault)");
    case FaultKind::hang:
      hang();
    case FaultKind::segfault:
      segfault();
      break;
    case FaultKind::abort:
      std::abort();
    case FaultKind::exit:
      _exit(static_cast<int>(fault.argument));
    case FaultKind::slow:
      std::this_thread::sleep_for(std::chrono::duration<double>(fault.argument));
      break;
    case FaultKind::poison:
      g_poisoned = true;
      TORCH_CHECK(false, "neuron: executing '", c10::toString(overload), "' left the device in an unrecoverable state "
          "(injected fault)");
    case FaultKind::wrong:
    case FaultKind::nan:
      pending_ = fault.kind;
      break;
  }
}

void Call::watch_arguments(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  if (pending_ == FaultKind::none) return;
  const auto& arguments = schema.arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].alias_info() && arguments[i].alias_info()->isWrite()) append_tensors(stack[first + i], written_);
  }
}

void Call::spoil(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) const {
  if (pending_ == FaultKind::none) return;
  std::vector<at::Tensor> tensors = written_;
  for (size_t i = stack.size() - schema.returns().size(); i < stack.size(); ++i) {
    std::vector<at::Tensor> returned;
    append_tensors(stack[i], returned);
    for (const at::Tensor& tensor : returned) {
      bool known = false; // an out argument is returned too: spoilt twice it could come right again
      for (const at::Tensor& other : tensors) known |= tensor.is_same(other);
      if (!known) tensors.push_back(tensor);
    }
  }
  spoil_tensors(tensors, pending_);
}

void Call::spoil(const at::Tensor& result) const {
  if (pending_ != FaultKind::none) spoil_tensors({result}, pending_);
}

void inject_fault(const std::vector<std::string>& overloads, FaultKind kind, double argument, int64_t from_call) {
  const auto fault = std::make_shared<Fault>(Fault{kind, argument, from_call});
  const std::lock_guard<std::mutex> lock(fork_safe_mutex());
  for (const std::string& overload : overloads) faults()[overload] = fault;
  g_any_fault = true;
}

void clear_faults() {
  const std::lock_guard<std::mutex> lock(fork_safe_mutex());
  faults().clear();
  g_any_fault = false;
}

std::vector<OverloadCount> call_counts(bool reset) {
  const std::lock_guard<std::mutex> lock(fork_safe_mutex());
  std::vector<OverloadCount> all;
  all.reserve(accounts().size());
  for (const auto& [overload, account] : accounts()) {
    all.push_back({c10::toString(overload), account.native, account.fallback});
  }
  if (reset) accounts().clear();
  return all;
}

} // namespace conformance_neuron
