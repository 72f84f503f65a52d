// SPDX-License-Identifier: Apache-2.0
#include "diff/Capsule.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::capsule;

namespace {

std::string pathOf(StringRef name) {
  return (testing::TempDir() + "rubia-capsule." + std::to_string(getpid()) + "." + name).str();
}

void write(const std::string &path, ArrayRef<char> bytes) {
  std::error_code error;
  raw_fd_ostream os(path, error);
  ASSERT_FALSE(error) << error.message();
  os.write(bytes.data(), bytes.size());
}

std::vector<char> read(const std::string &path) {
  auto buffer = cantFail(errorOrToExpected(MemoryBuffer::getFile(path)));
  return {buffer->getBufferStart(), buffer->getBufferEnd()};
}

std::vector<uint8_t> memoryOf(size_t bytes, uint8_t seed) {
  std::vector<uint8_t> memory(bytes);
  for (size_t i = 0; i < bytes; ++i)
    memory[i] = uint8_t(seed + (i >> 9)); // compressible, pages differ
  return memory;
}

constexpr uint64_t kBytes = 100000; // six pages and a part

/// A capsule with two launches of one buffer; the second leaves it as it is.
std::string makeCapsule(StringRef name) {
  const std::string path = pathOf(name);
  CapsuleOutput output = cantFail(CapsuleOutput::create(path));
  Environment where;
  where.device = "a \"device\"";
  where.computeCapability = 90;
  cantFail(output.add(RecordType::Environment, toJson(where)));
  for (uint64_t i = 0; i < 2; ++i) {
    Launch launch;
    launch.ordinal = i;
    launch.kernel = "k";
    launch.images.push_back(
        cantFail(output.add(RecordType::Image, ArrayRef<uint8_t>{'p', 't', 'x'})));
    launch.parameters = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    launch.layout = {{0, 8}, {8, 1}};
    launch.memory.push_back({0x7f0000001000, kBytes, "device", "",
                             cantFail(output.addMemory(memoryOf(kBytes, uint8_t(i)))),
                             cantFail(output.addMemory(memoryOf(kBytes, 1)))});
    cantFail(output.add(RecordType::Launch, toJson(launch)));
  }
  cantFail(output.add(RecordType::End, json::Object{{"launches", 7},
                                                    {"recorded", 2},
                                                    {"in_stream_capture", 0},
                                                    {"graph_launches", 0},
                                                    {"seconds", 0.5}}));
  cantFail(output.finish());
  return path;
}

TEST(Capsule, ReadsWhatWasWritten) {
  const std::string path = makeCapsule("round");
  Capsule capsule = cantFail(Capsule::open(path));
  EXPECT_EQ(capsule.environment.device, "a \"device\"");
  EXPECT_EQ(capsule.environment.computeCapability, 90u);
  ASSERT_EQ(capsule.launches.size(), 2u);
  ASSERT_TRUE(capsule.end);
  EXPECT_EQ(capsule.end->launches, 7u);
  const Launch &launch = capsule.launches[1];
  EXPECT_EQ(launch.kernel, "k");
  EXPECT_EQ(launch.whyNotReplayable(), "");
  ASSERT_EQ(launch.layout.size(), 2u);
  EXPECT_EQ(launch.layout[1].offset, 8u);
  const Region &region = launch.memory[0];
  EXPECT_EQ(region.address, 0x7f0000001000u);
  EXPECT_EQ(region.before, *region.after);
  EXPECT_EQ(cantFail(capsule.contents(region, region.before)), memoryOf(kBytes, 1));
  EXPECT_EQ(cantFail(capsule.contents(region, capsule.launches[0].memory[0].before)),
            memoryOf(kBytes, 0));
  EXPECT_EQ(cantFail(capsule.image(launch.images[0])).size(), 3u);
  EXPECT_FALSE(bool(capsule.verify()));
  unlink(path.c_str());
}

TEST(Capsule, StoresPagesOnceAndIsPrivate) {
  const std::string path = makeCapsule("once");
  Capsule capsule = cantFail(Capsule::open(path));
  // Of 28 pages, those of two different contents that are 7 pages each are stored.
  EXPECT_LT(capsule.rawBytes(), 2 * kBytes + 4096);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  unlink(path.c_str());
}

TEST(Capsule, KeepsCompleteLaunchesWhenCutShort) {
  const std::string path = makeCapsule("cut");
  const std::vector<char> bytes = read(path);
  size_t most = 0;
  for (size_t size = 0; size < bytes.size(); size += 37) {
    write(path, ArrayRef(bytes).take_front(size));
    Expected<Capsule> capsule = Capsule::open(path);
    if (!capsule) {
      EXPECT_EQ(most, 0u) << size << ": " << toString(capsule.takeError());
      consumeError(capsule.takeError());
      continue;
    }
    EXPECT_GE(capsule->launches.size(), most);
    most = capsule->launches.size();
    EXPECT_FALSE(capsule->end);
    EXPECT_FALSE(bool(capsule->verify())) << size;
  }
  EXPECT_EQ(most, 2u);
  unlink(path.c_str());
}

// Bits of a compressed frame that mean nothing may change; what is read may not.
TEST(Capsule, NeverReadsOtherThanWasWritten) {
  const std::string path = makeCapsule("damage");
  const std::vector<char> bytes = read(path);
  const json::Value launch = toJson(cantFail(Capsule::open(path)).launches[0]);
  constexpr size_t kReserved = 16; // from here to the end of the header nothing is looked at
  size_t found = 0, changes = 0;
  for (size_t i = 0; i < bytes.size(); i += i < 200 ? 1 : 31) {
    if (i >= kReserved && i < sizeof(FileHeader))
      continue;
    std::vector<char> changed = bytes;
    changed[i] = char(changed[i] ^ 0x40);
    write(path, changed);
    ++changes;
    Expected<Capsule> capsule = Capsule::open(path);
    if (Error error = capsule ? capsule->verify() : capsule.takeError()) {
      consumeError(std::move(error));
      ++found;
      continue;
    }
    ASSERT_FALSE(capsule->launches.empty());
    EXPECT_EQ(toJson(capsule->launches[0]), launch) << "byte " << i;
    const Region &region = capsule->launches[0].memory[0];
    EXPECT_EQ(cantFail(capsule->contents(region, region.before)), memoryOf(kBytes, 0));
  }
  EXPECT_GT(found, changes * 9 / 10);
  unlink(path.c_str());
}

/// A capsule of one launch whose JSON is changed on the way.
Expected<Capsule> withLaunch(function_ref<void(json::Object &)> change) {
  const std::string from = makeCapsule("from"), to = pathOf("to");
  Capsule sound = cantFail(Capsule::open(from));
  CapsuleOutput output = cantFail(CapsuleOutput::create(to));
  cantFail(sound.forEachRecord([&](RecordType type, ArrayRef<uint8_t> payload) -> Error {
    if (type != RecordType::Launch)
      return output.add(type, payload).takeError();
    json::Value value = cantFail(
        json::parse(StringRef(reinterpret_cast<const char *>(payload.data()), payload.size())));
    change(*value.getAsObject());
    return output.add(type, value);
  }));
  cantFail(output.finish());
  Expected<Capsule> capsule = Capsule::open(to);
  unlink(from.c_str());
  unlink(to.c_str());
  return capsule;
}

std::string problemWith(function_ref<void(json::Object &)> change) {
  Expected<Capsule> capsule = withLaunch(change);
  if (!capsule)
    return toString(capsule.takeError());
  return toString(capsule->verify());
}

TEST(Capsule, RefusesInvalidLaunches) {
  EXPECT_EQ(problemWith([](json::Object &) {}), "");
  const auto memory = [](json::Object &launch) -> json::Object & {
    return *(*launch.getArray("memory"))[0].getAsObject();
  };
  const auto names = [](const std::string &problem, StringRef what) {
    return StringRef(problem).contains(what) ? "" : problem + " lacks " + what.str();
  };
  EXPECT_EQ(names(problemWith([](json::Object &l) { l.erase("kernel"); }), "\"kernel\""), "");
  EXPECT_EQ(names(problemWith([](json::Object &l) { l["grid"] = json::Array{1, 2}; }), "\"grid\""),
            "");
  EXPECT_EQ(
      names(problemWith([](json::Object &l) { l["layout"] = json::Array{json::Array{8, 2}}; }),
            "\"layout\""),
      "");
  EXPECT_EQ(names(problemWith([](json::Object &l) { l["parameters"] = "0g"; }), "\"parameters\""),
            "");
  EXPECT_EQ(names(problemWith([&](json::Object &l) { memory(l)["address"] = "-1"; }), "\"memory\""),
            "");
  EXPECT_EQ(names(problemWith([&](json::Object &l) {
                    json::Value copy = (*l.getArray("memory"))[0];
                    l.getArray("memory")->push_back(std::move(copy)); // overlaps
                  }),
                  "\"memory\""),
            "");
  EXPECT_EQ(names(problemWith([](json::Object &l) { l["ordinal"] = 1; }), "\"ordinal\""), "");
  EXPECT_EQ(
      names(cantFail(withLaunch([&](json::Object &l) { memory(l)["bytes"] = int64_t(1) << 35; }))
                .launches[0]
                .whyNotReplayable(),
            "more than 16 GiB"),
      "");
  EXPECT_EQ(names(problemWith([&](json::Object &l) { memory(l)["bytes"] = 99999; }),
                  "do not make its size"),
            "");
  EXPECT_EQ(names(problemWith([&](json::Object &l) { memory(l)["bytes"] = int64_t(1) << 33; }),
                  "at most"),
            "");
  EXPECT_EQ(names(problemWith([&](json::Object &l) { memory(l)["after"] = std::string(64, '0'); }),
                  "missing"),
            "");
}

} // namespace
