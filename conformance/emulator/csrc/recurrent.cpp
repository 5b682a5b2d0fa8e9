// The fused cells of LSTM and GRU: PyTorch sends every device but the CPU to them, and they have no CPU kernel.
#include "call.h"
#include "host_alias.h"
#include "profile.h"
#include "runtime.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

namespace conformance_neuron {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

// One cell: its tensors on the host (aliased where the cell is native, copied where it falls back) and the way back.
class Cell {
 public:
  Cell(const c10::OperatorName& name, const at::Tensor& any)
      : native_(is_native(name) && !has_dtype(profile().fallback_dtypes, any.scalar_type())),
        call_(name, native_ ? Where::native : Where::fallback),
        aliases_(!native_),
        device_(any.device()) {
    if (native_) unseen_.emplace();
  }
  at::Tensor host(const at::Tensor& tensor) { return aliases_.to_host(tensor); }
  at::Tensor host_or_zeros(const OptionalTensor& tensor, const at::Tensor& like) {
    return tensor && tensor->defined() ? host(*tensor) : at::zeros_like(like);
  }
  at::Tensor plus(at::Tensor sum, const OptionalTensor& bias) {
    return bias && bias->defined() ? sum + host(*bias) : std::move(sum);
  }
  at::Tensor device(const at::Tensor& host) {
    at::Tensor result = aliases_.to_device(host, device_);
    call_.spoil(result);
    return result;
  }
  at::Tensor device_if(bool wanted, const at::Tensor& host) { return wanted ? device(host) : at::Tensor(); }

 private:
  bool native_;
  Call call_;
  HostAliases aliases_;
  c10::Device device_;
  at::AutoDispatchBelowADInplaceOrView below_;
  std::optional<at::DisableRecordFunctionGuard> unseen_;
};

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
    const at::Tensor& cx, const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  static const c10::OperatorName name("aten::_thnn_fused_lstm_cell", "");
  Cell cell(name, input_gates);
  at::Tensor sum = cell.host(input_gates) + cell.host(hidden_gates);
  sum = cell.plus(cell.plus(std::move(sum), input_bias), hidden_bias);
  const auto gates = sum.chunk(4, 1);
  const auto in = gates[0].sigmoid(), forget = gates[1].sigmoid(), next = gates[2].tanh(), out = gates[3].sigmoid();
  const at::Tensor cy = forget * cell.host(cx) + in * next;
  return {cell.device(out * cy.tanh()), cell.device(cy), cell.device(at::cat({in, forget, next, out}, 1))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(const OptionalTensor& grad_hy,
    const OptionalTensor& grad_cy, const at::Tensor& cx_, const at::Tensor& cy_, const at::Tensor& workspace,
    bool has_bias) {
  static const c10::OperatorName name("aten::_thnn_fused_lstm_cell_backward_impl", "");
  Cell cell(name, cx_);
  const at::Tensor cx = cell.host(cx_);
  const at::Tensor ghy = cell.host_or_zeros(grad_hy, cx);
  const auto gates = cell.host(workspace).chunk(4, 1);
  const auto &in = gates[0], &forget = gates[1], &next = gates[2], &out = gates[3];
  const at::Tensor tanh_cy = cell.host(cy_).tanh();
  const at::Tensor gc = ghy * out * (1 - tanh_cy * tanh_cy) + cell.host_or_zeros(grad_cy, cx);
  const at::Tensor grad_gates = at::cat({gc * next * in * (1 - in), gc * cx * forget * (1 - forget),
      gc * in * (1 - next * next), ghy * tanh_cy * out * (1 - out)}, 1);
  return {cell.device(grad_gates), cell.device(gc * forget), cell.device_if(has_bias, grad_gates.sum(0))};
}

std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
    const at::Tensor& hx_, const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  static const c10::OperatorName name("aten::_thnn_fused_gru_cell", "");
  Cell cell(name, input_gates);
  const at::Tensor hx = cell.host(hx_);
  const auto in = cell.plus(cell.host(input_gates), input_bias).chunk(3, 1);
  const auto hidden = cell.plus(cell.host(hidden_gates), hidden_bias).chunk(3, 1);
  const auto reset = (in[0] + hidden[0]).sigmoid(), update = (in[1] + hidden[1]).sigmoid();
  const auto next = (in[2] + reset * hidden[2]).tanh();
  return {cell.device(next + update * (hx - next)), cell.device(at::cat({reset, update, next, hx, hidden[2]}, 1))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(const at::Tensor& grad_hy,
    const at::Tensor& workspace, bool has_bias) {
  static const c10::OperatorName name("aten::_thnn_fused_gru_cell_backward", "");
  Cell cell(name, grad_hy);
  const at::Tensor grad = cell.host(grad_hy);
  const auto saved = cell.host(workspace).chunk(5, 1);
  const auto &reset = saved[0], &update = saved[1], &next = saved[2], &hx = saved[3], &hidden = saved[4];
  const at::Tensor grad_update = grad * (hx - next) * (1 - update) * update;
  const at::Tensor grad_next = grad * (1 - update) * (1 - next * next);
  const at::Tensor grad_reset = grad_next * hidden * (1 - reset) * reset;
  const at::Tensor grad_in = at::cat({grad_reset, grad_update, grad_next}, 1);
  const at::Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_next * reset}, 1);
  return {cell.device(grad_in), cell.device(grad_hidden), cell.device(grad * update),
      cell.device_if(has_bias, grad_in.sum(0)), cell.device_if(has_bias, grad_hidden.sum(0))};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

} // namespace
} // namespace conformance_neuron
