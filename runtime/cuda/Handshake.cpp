// SPDX-License-Identifier: Apache-2.0
// The answer to the check that NVIDIA's CUDA runtime makes of the driver below it.
//
// When cudart starts, it calls slot 1 of the export table D4082055-BDE6-704B-8D34-BA123C66E1F2
// three times with a version number and the time, and does not go on unless the answer is right.
// That is a check by NVIDIA that its runtime talks to NVIDIA's driver. Programs have the runtime
// linked in statically, so without an answer none of them starts on anything else; it is given here
// for interoperability only.
//
// What the answer is was made public by ZLUDA (github.com/vosen/ZLUDA, dark_api/src/lib.rs;
// Apache-2.0 OR MIT), which is where the constants below are from. The code is our own. Nothing of
// NVIDIA's was disassembled. Whoever distributes a build with this file switched on should take
// legal advice for their country; the CMake option RUBIA_CUDART_HANDSHAKE=OFF builds without it,
// and then only programs that use the driver API alone work.
//
// The answer is a constant for versions ending in 0 and 1. Otherwise it is HMAC (RFC 2104) with MD2
// (RFC 1319), block and key 16 bytes, over what both sides know: driver version, process, thread,
// time, addresses of the tables, and each device's UUID and PCI place.
#include "runtime/cuda/Handshake.h"
#include "runtime/cuda/Driver.h"

#if RUBIA_CUDART_HANDSHAKE

#include <cstring>
#include <pthread.h>
#include <unistd.h>

namespace rubia::runtime::cuda {

using Block = std::array<uint8_t, 16>;

// RFC 1319, section 3.2: a permutation of 0..255 made from the digits of pi.
static constexpr uint8_t kPi[256] = {
    41,  46,  67,  201, 162, 216, 124, 1,   61,  54,  84,  161, 236, 240, 6,   19,  98,  167, 5,
    243, 192, 199, 115, 140, 152, 147, 43,  217, 188, 76,  130, 202, 30,  155, 87,  60,  253, 212,
    224, 22,  103, 66,  111, 24,  138, 23,  229, 18,  190, 78,  196, 214, 218, 158, 222, 73,  160,
    251, 245, 142, 187, 47,  238, 122, 169, 104, 121, 145, 21,  178, 7,   63,  148, 194, 16,  137,
    11,  34,  95,  33,  128, 127, 93,  154, 90,  144, 50,  39,  53,  62,  204, 231, 191, 247, 151,
    3,   255, 25,  48,  179, 72,  165, 181, 209, 215, 94,  146, 42,  172, 86,  170, 198, 79,  184,
    56,  210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116, 4,   241, 69,  157, 112, 89,  100,
    113, 135, 32,  134, 91,  207, 101, 230, 45,  168, 2,   27,  96,  37,  173, 174, 176, 185, 246,
    28,  70,  97,  105, 52,  64,  126, 15,  85,  71,  163, 35,  221, 81,  175, 58,  195, 92,  249,
    206, 186, 197, 234, 38,  44,  83,  13,  110, 133, 40,  132, 9,   211, 223, 205, 244, 65,  129,
    77,  82,  106, 220, 55,  200, 108, 193, 171, 250, 36,  225, 123, 8,   12,  189, 177, 74,  120,
    136, 149, 139, 227, 99,  232, 109, 233, 203, 213, 254, 59,  0,   29,  57,  242, 239, 183, 14,
    102, 88,  208, 228, 166, 119, 114, 248, 235, 117, 75,  10,  49,  68,  80,  180, 143, 237, 31,
    26,  219, 153, 141, 51,  159, 17,  131, 20};

// RFC 1319, section 3, with the checksum as its errata has it.
class Md2 {
public:
  void update(const void *data, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      pending[count++] = static_cast<const uint8_t *>(data)[i];
      if (count == pending.size())
        flush();
    }
  }

  Block finish() {
    uint8_t padding = pending.size() - count;
    for (unsigned i = padding; i; --i)
      update(&padding, 1);
    Block tail = checksum;
    update(tail.data(), tail.size());
    Block digest;
    memcpy(digest.data(), state, digest.size());
    return digest;
  }

private:
  void flush() {
    uint8_t last = checksum[15];
    for (int i = 0; i < 16; ++i)
      last = checksum[i] ^= kPi[pending[i] ^ last];
    for (int i = 0; i < 16; ++i) {
      state[16 + i] = pending[i];
      state[32 + i] = pending[i] ^ state[i];
    }
    uint8_t t = 0;
    for (int round = 0; round < 18; ++round) {
      for (uint8_t &byte : state)
        t = byte ^= kPi[t];
      t += round;
    }
    count = 0;
  }

  Block pending{}, checksum{};
  uint8_t state[48] = {};
  size_t count = 0;
};

static constexpr Block kKey = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                               0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};

static Block keyWith(uint8_t mask) {
  Block key = kKey;
  for (uint8_t &byte : key)
    byte ^= mask;
  return key;
}

// What is hashed, as it lies in memory.
struct Message {
  uint32_t driverVersion, version, process, thread;
  const void *cudartInterface, *integrityCheck, *function;
  uint64_t unixSeconds;
};
static_assert(sizeof(Message) == 48);

struct DeviceIdentity {
  std::array<uint8_t, 16> uuid;
  int32_t pciDomain, pciBus, pciDevice;
};
static_assert(sizeof(DeviceIdentity) == 28);

Result answerHandshake(uint32_t version, uint64_t unixSeconds, uint64_t (&out)[2],
                       const HandshakeAddresses &addresses) {
  if (version % 10 <= 1) {
    out[0] = version % 10 ? 0x1841181c03cb675c : 0x3341181c03cb675c;
    out[1] = 0x8ed383aa1f4cd1e8;
    return kSuccess;
  }
  Message message{uint32_t(kDriverVersion),  version,
                  uint32_t(getpid()),        uint32_t(pthread_self()),
                  addresses.cudartInterface, addresses.integrityCheck,
                  addresses.function,        unixSeconds};
  Md2 inner;
  inner.update(keyWith(0x36).data(), sizeof(Block));
  inner.update(&message, sizeof(message));
  for (const std::unique_ptr<Device> &device : theDriver.load()->devices) {
    DeviceIdentity identity{device->uuid, device->pciDomain, device->pciBus, device->pciDevice};
    inner.update(&identity, sizeof(identity));
  }
  Block innerDigest = inner.finish();
  Md2 outer;
  outer.update(keyWith(0x5c).data(), sizeof(Block));
  outer.update(innerDigest.data(), innerDigest.size());
  Block digest = outer.finish();
  memcpy(out, digest.data(), sizeof(out));
  return kSuccess;
}

} // namespace rubia::runtime::cuda

#else

namespace rubia::runtime::cuda {

Result answerHandshake(uint32_t, uint64_t, uint64_t (&)[2], const HandshakeAddresses &) {
  return fail(kNotSupported, "this build does not answer the CUDA runtime's check of its driver "
                             "(RUBIA_CUDART_HANDSHAKE is off): only programs that use the driver "
                             "API alone work");
}

} // namespace rubia::runtime::cuda

#endif
