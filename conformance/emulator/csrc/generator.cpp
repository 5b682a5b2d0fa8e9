#include "generator.h"

#include "runtime.h"

#include <ATen/CPUGeneratorImpl.h>
#if CONFORMANCE_TORCH < 207
#include <ATen/core/GeneratorForPrivateuseone.h>
#endif

#include <vector>

namespace conformance_neuron {
namespace {

class NeuronGenerator final : public c10::GeneratorImpl {
 public:
  NeuronGenerator(c10::DeviceIndex index, at::Generator host)
      : GeneratorImpl(c10::Device(kNeuron, index), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        host_(std::move(host)) {}

  static c10::DeviceType device_type() { return kNeuron; }
  const at::Generator& host() const { return host_; }

  void set_current_seed(uint64_t seed) override {
    host_.set_current_seed(seed);
    offset_ = 0;
  }
  uint64_t current_seed() const override { return host_.current_seed(); }
  uint64_t seed() override { return host_.seed(); }
  // A Mersenne Twister has no offset: it is kept for callers that read back what they set.
  void set_offset(uint64_t offset) override { offset_ = offset; }
  uint64_t get_offset() const override { return offset_; }
  void set_state(const c10::TensorImpl& state) override { host_.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return host_.unsafeGetGeneratorImpl()->get_state(); }

 private:
  NeuronGenerator* clone_impl() const override { return new NeuronGenerator(device_.index(), host_.clone()); }

  at::Generator host_;
  uint64_t offset_ = 0;
};

#if CONFORMANCE_TORCH < 207
REGISTER_GENERATOR_PRIVATEUSE1(new_generator)
#endif

} // namespace

at::Generator new_generator(c10::DeviceIndex index) {
  return at::make_generator<NeuronGenerator>(resolve_index(index), at::detail::createCPUGenerator());
}

const at::Generator& default_generator(c10::DeviceIndex index) {
  static auto* generators = [] {
    auto* all = new std::vector<at::Generator>;
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) all->push_back(new_generator(i));
    return all;
  }();
  return (*generators)[static_cast<size_t>(resolve_index(index))];
}

at::Generator host_generator(const at::Generator& generator) {
  if (!generator.defined() || generator.device().type() != kNeuron) return generator;
  return static_cast<NeuronGenerator*>(generator.unsafeGetGeneratorImpl())->host();
}

} // namespace conformance_neuron
