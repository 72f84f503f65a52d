// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/LaunchDevice.h"

using namespace llvm;

namespace rubia::runtime {
int hipDeviceSynchronize();
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
} // namespace rubia::runtime

namespace rubia::tools {
namespace {

class HipDevice : public LaunchDevice {
public:
  explicit HipDevice(const runtime::Hip &hip) : hip(hip) {}

  Expected<void *> allocate(size_t bytes) override {
    void *address = nullptr;
    if (Error error =
            check("hipMalloc", hip.call<runtime::hipMalloc>(&address, std::max<size_t>(bytes, 1))))
      return std::move(error);
    return address;
  }
  void free(void *address) override { hip.call<runtime::hipFree>(address); }
  Error write(void *to, ArrayRef<uint8_t> bytes) override {
    return check("hipMemcpy", hip.call<runtime::hipMemcpy>(to, bytes.data(), bytes.size(),
                                                           runtime::kHipMemcpyHostToDevice));
  }
  Error read(MutableArrayRef<uint8_t> bytes, const void *from) override {
    return check("hipMemcpy", hip.call<runtime::hipMemcpy>(bytes.data(), from, bytes.size(),
                                                           runtime::kHipMemcpyDeviceToHost));
  }
  std::string synchronize() override {
    const int error = hip.call<runtime::hipDeviceSynchronize>();
    return error ? hip.hipGetErrorString(error) : "";
  }

private:
  Error check(const Twine &what, int error) const {
    return error ? createStringError(what + ": " + hip.hipGetErrorString(error)) : Error::success();
  }
  const runtime::Hip &hip;
};

} // namespace

std::unique_ptr<LaunchDevice> hipDevice(const runtime::Hip &hip) {
  return std::make_unique<HipDevice>(hip);
}

} // namespace rubia::tools
