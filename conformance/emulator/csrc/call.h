// One call of an operator on the device: counted, and where a fault was injected, made to fail.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/operator_name.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

namespace conformance_neuron {

// The order is part of the interface: faults.py numbers the kinds in the same way.
enum class FaultKind : int64_t { none, not_implemented, error, alloc_error, wrong, nan, hang, segfault, abort, exit, slow, poison };

enum class Where { native, fallback };

class Call {
 public:
  // Counts the call and carries out the faults that come before the work: all but `wrong` and `nan`.
  Call(const c10::OperatorName& overload, Where where);

  // Remember what a `wrong` or `nan` fault has to spoil besides the results: arguments that are written to.
  void watch_arguments(const c10::FunctionSchema& schema, const torch::jit::Stack& stack);
  // Spoil the results that lie on the stack, if a fault says so.
  void spoil(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) const;
  void spoil(const at::Tensor& result) const;

 private:
  FaultKind pending_ = FaultKind::none;
  std::vector<at::Tensor> written_;
};

// One fault for several overloads: they share the count of calls, and it acts from the `from_call`-th on (1 = always).
void inject_fault(const std::vector<std::string>& overloads, FaultKind kind, double argument, int64_t from_call);
void clear_faults();

struct OverloadCount {
  std::string overload;
  int64_t native = 0;
  int64_t fallback = 0;
};
std::vector<OverloadCount> call_counts(bool reset);

} // namespace conformance_neuron
