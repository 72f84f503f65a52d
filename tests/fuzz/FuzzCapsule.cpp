// SPDX-License-Identifier: Apache-2.0
// libFuzzer over capsules. An input is a list of changes to a sound capsule; its first byte says
// whether checks and digests are made right again behind them, as whoever means ill would.
//
// What is asked for: no fault, and of what was only damaged no contents but those that were
// written.

#include "diff/Capsule.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::capsule;
using rubia::runtime::digestOf;

namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint64_t kMostRaw = 1 << 20; // keeps the memory of one run small
constexpr uint64_t kRegion = 600;
constexpr uint32_t kPage = 256;

Bytes memoryOf(uint8_t seed) {
  Bytes bytes(kRegion);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(seed + (i >> 7));
  return bytes;
}

/// With records as the recording library writes them: a change of a compressed one is damage and
/// nothing else.
Bytes uncompressed(const Capsule &capsule) {
  Bytes bytes;
  const auto add = [&](const void *data, size_t size) {
    const auto *from = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), from, from + size);
  };
  FileHeader start{};
  std::memcpy(start.magic, kMagic, sizeof(kMagic));
  start.version = kFormatVersion;
  start.pageBytes = kPage;
  add(&start, sizeof(start));
  cantFail(capsule.forEachRecord([&](RecordType type, ArrayRef<uint8_t> payload) {
    RecordHeader header{};
    header.type = uint32_t(type);
    header.storedBytes = header.rawBytes = payload.size();
    const auto digest = digestOf(payload);
    std::memcpy(header.digest, digest.data(), digest.size());
    const auto check =
        digestOf({reinterpret_cast<const uint8_t *>(&header), offsetof(RecordHeader, check)});
    std::memcpy(header.check, check.data(), sizeof(header.check));
    add(&header, sizeof(header));
    add(payload.data(), payload.size());
    return Error::success();
  }));
  return bytes;
}

/// In pages that are small, so that most of a file is what describes them.
rubia::runtime::Digest addMemory(CapsuleOutput &output, ArrayRef<uint8_t> bytes) {
  Bytes map;
  for (; !bytes.empty(); bytes = bytes.drop_front(std::min<size_t>(bytes.size(), kPage))) {
    const auto digest = cantFail(output.add(RecordType::Page, bytes.take_front(kPage)));
    map.insert(map.end(), digest.begin(), digest.end());
  }
  return cantFail(output.add(RecordType::Map, ArrayRef(map)));
}

Bytes soundCapsule() {
  const std::string path = "/tmp/rubia-fuzz-capsule." + std::to_string(getpid());
  CapsuleOutput output = cantFail(CapsuleOutput::create(path));
  cantFail(output.add(RecordType::Environment, toJson(Environment())));
  Launch launch;
  launch.kernel = "k";
  launch.images.push_back(cantFail(output.add(RecordType::Image, ArrayRef(memoryOf(9)))));
  launch.parameters = Bytes(16, 1);
  launch.layout = {{0, 8}, {8, 8}};
  launch.attributes.push_back({4, Bytes(64, 0)});
  launch.memory.push_back({0x7f0000000000, kRegion, "device", "", addMemory(output, memoryOf(0)),
                           addMemory(output, memoryOf(1))});
  ArrayRegion array;
  array.width = 15;
  array.height = 10;
  array.format = 2;
  array.channels = 2;
  array.bytes = kRegion;
  array.before = launch.memory[0].before;
  array.after = launch.memory[0].after;
  launch.arrays.push_back(array);
  Texture texture;
  texture.handle = 1;
  texture.resource = Bytes(Texture::kResourceBytes, 0);
  texture.sampler = Bytes(Texture::kSamplerBytes, 0);
  texture.array = 0;
  launch.textures.push_back(texture);
  TensorMap map;
  map.bytes = Bytes(kTensorMapBytes, 2);
  map.arguments.rank = 2;
  launch.tensorMaps.push_back(map);
  cantFail(output.add(RecordType::Launch, toJson(launch)));
  const StringRef call = "{\"call\":0,\"thread\":1,\"name\":\"cuInit\",\"arguments\":"
                         "[[\"flags\",0]],\"written\":[],\"result\":0}\n";
  cantFail(output.add(RecordType::Calls, arrayRefFromStringRef(call)).takeError());
  cantFail(output.add(RecordType::End, json::Object{{"launches", 1},
                                                    {"recorded", 1},
                                                    {"in_stream_capture", 0},
                                                    {"graph_launches", 0},
                                                    {"seconds", 0}}));
  cantFail(output.finish());
  Bytes bytes = uncompressed(cantFail(Capsule::open(path)));
  unlink(path.c_str());
  return bytes;
}

/// Changes of six bytes: where, what to do, with which value.
void change(Bytes &bytes, ArrayRef<uint8_t> changes) {
  for (; changes.size() >= 6 && !bytes.empty(); changes = changes.drop_front(6)) {
    const size_t at = support::endian::read16le(changes.data()) % bytes.size();
    const uint8_t value = changes[3];
    switch (changes[2] % 5) {
    case 0:
      bytes[at] = value;
      break;
    case 1: // a number at a field's boundary
      if (const size_t place = at & ~size_t(7); place + 8 <= bytes.size())
        support::endian::write64le(bytes.data() + place, uint64_t(int64_t(int8_t(value)))
                                                             << changes[4] % 64);
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.insert(bytes.begin() + ptrdiff_t(at), size_t(value) % 32, changes[4]);
      break;
    case 4: // copies
      std::memmove(bytes.data() + at,
                   bytes.data() + support::endian::read16le(changes.data() + 4) % (at + 1),
                   std::min<size_t>(bytes.size() - at, value));
      break;
    }
  }
}

/// Makes the checks of all records right, and the digests of those that are stored as they are.
/// False: sizes that would only cost memory.
bool repair(Bytes &bytes) {
  for (size_t at = sizeof(FileHeader); at + sizeof(RecordHeader) <= bytes.size();) {
    RecordHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    if (header.rawBytes > kMostRaw && header.rawBytes <= kMaxImageBytes)
      return false;
    const uint64_t left = bytes.size() - at - sizeof(header);
    if (header.storedBytes <= left && header.codec == uint32_t(Codec::Stored)) {
      const auto digest = digestOf(ArrayRef(bytes).slice(at + sizeof(header), header.storedBytes));
      std::memcpy(header.digest, digest.data(), digest.size());
    }
    const auto check =
        digestOf({reinterpret_cast<const uint8_t *>(&header), offsetof(RecordHeader, check)});
    std::memcpy(header.check, check.data(), sizeof(header.check));
    std::memcpy(bytes.data() + at, &header, sizeof(header));
    if (header.storedBytes > left)
      break;
    at += sizeof(header) + header.storedBytes;
  }
  return true;
}

void readAll(const Capsule &capsule, bool isOnlyDamaged) {
  for (const Launch &launch : capsule.launches) {
    (void)launch.whyNotReplayable();
    for (const rubia::runtime::Digest &image : launch.images)
      consumeError(capsule.image(image).takeError());
    for (const Texture &texture : launch.textures)
      (void)texture.isFiltered();
    for (const Region *region : launch.regions())
      for (const bool isAfter : {false, true}) {
        if (isAfter && !region->after)
          continue;
        Expected<Bytes> bytes =
            capsule.contents(*region, isAfter ? *region->after : region->before, kMostRaw);
        if (!bytes)
          consumeError(bytes.takeError());
        else if (bytes->size() != region->bytes || (isOnlyDamaged && *bytes != memoryOf(isAfter)))
          abort();
      }
  }
  consumeError(capsule.forEachCall([](const Call &) {}));
  consumeError(
      capsule.forEachRecord([](RecordType, ArrayRef<uint8_t>) { return Error::success(); }));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Bytes sound = soundCapsule();
  if (size == 0)
    return 0;
  const bool isRepaired = data[0] % 2;
  Bytes bytes = sound;
  change(bytes, {data + 1, size - 1});
  if (isRepaired && !repair(bytes))
    return 0;
  static const int file = memfd_create("capsule", MFD_CLOEXEC);
  if (ftruncate(file, 0) || pwrite(file, bytes.data(), bytes.size(), 0) != ssize_t(bytes.size()))
    abort();
  Expected<Capsule> capsule = Capsule::open("/proc/self/fd/" + std::to_string(file));
  if (capsule)
    readAll(*capsule, !isRepaired);
  else
    consumeError(capsule.takeError());
  return 0;
}
