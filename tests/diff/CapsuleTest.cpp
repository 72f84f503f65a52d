// SPDX-License-Identifier: Apache-2.0
#include "diff/Capsule.h"
#include "llvm/ADT/StringExtras.h"
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

/// A launch with an array of 5 x 3 texels of two f16 behind a texture, as text.
std::string launchWithTexture() {
  Launch launch;
  launch.kernel = "k";
  ArrayRegion array;
  array.width = 5;
  array.height = 3;
  array.format = 0x10;
  array.channels = 2;
  array.bytes = 60;
  array.after = array.before;
  launch.arrays.push_back(array);
  Texture texture;
  texture.handle = 7;
  texture.resource.assign(Texture::kResourceBytes, 0);
  texture.sampler.assign(Texture::kSamplerBytes, 0);
  texture.sampler[12] = 1;
  texture.array = 0;
  launch.textures.push_back(texture);
  launch.inGraph = Launch::InGraph{3, 4};
  std::string text;
  raw_string_ostream(text) << toJson(launch);
  return text;
}

Expected<Capsule> withLaunch(StringRef json) {
  const std::string path = pathOf("launch");
  CapsuleOutput output = cantFail(CapsuleOutput::create(path));
  cantFail(output.add(RecordType::Environment, toJson(Environment())));
  cantFail(output.add(RecordType::Launch, arrayRefFromStringRef(json)).takeError());
  cantFail(output.finish());
  Expected<Capsule> capsule = Capsule::open(path);
  unlink(path.c_str());
  return capsule;
}

TEST(Capsule, KeepsTexturesAndGraphs) {
  Capsule capsule = cantFail(withLaunch(launchWithTexture()));
  const Launch &launch = capsule.launches.at(0);
  ASSERT_EQ(launch.regions().size(), 1u);
  EXPECT_EQ(launch.arrays[0].texelBytes(), 4u);
  EXPECT_EQ(launch.arrays[0].sizeOf(0), (std::array<uint64_t, 3>{5, 3, 1}));
  EXPECT_EQ(launch.textures[0].handle, 7u);
  EXPECT_TRUE(launch.textures[0].isFiltered());
  ASSERT_TRUE(launch.inGraph);
  EXPECT_EQ(launch.inGraph->node, 4u);
}

TEST(Capsule, RefusesInvalidTextures) {
  const auto problemWith = [](StringRef what, StringRef instead) {
    std::string text = launchWithTexture();
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what.str();
    Expected<Capsule> capsule = withLaunch(text.replace(at, what.size(), instead));
    return capsule ? "" : toString(capsule.takeError());
  };
  for (const auto &[what, instead] : {std::pair("\"array\":0", "\"array\":1"),
                                      {"\"bytes\":60", "\"bytes\":64"},
                                      {"\"format\":16", "\"format\":5"},
                                      {"\"width\":5", "\"width\":1048577"},
                                      {"\"levels\":0", "\"levels\":33"},
                                      {"\"levels\":0", "\"levels\":1"},
                                      {"\"array\":0,", ""},
                                      {"\"graph_node\":4", "\"graph_node\":-4"}})
    EXPECT_NE(problemWith(what, instead).find("has an invalid or no"), std::string::npos) << what;
  EXPECT_NE(problemWith("\"resource\":\"", "\"resource\":\"00"), "");   // too long
  EXPECT_NE(problemWith("\"resource\":\"00", "\"resource\":\"02"), ""); // of linear memory
}

TEST(Capsule, KeepsCalls) {
  const auto withCalls = [](StringRef lines) {
    const std::string path = pathOf("calls");
    CapsuleOutput output = cantFail(CapsuleOutput::create(path));
    cantFail(output.add(RecordType::Environment, toJson(Environment())));
    cantFail(output.add(RecordType::Calls, arrayRefFromStringRef(lines)).takeError());
    cantFail(output.finish());
    Capsule capsule = cantFail(Capsule::open(path));
    unlink(path.c_str());
    return capsule;
  };
  const std::string line = "{\"call\":4,\"thread\":9,\"name\":\"cuInit\",\"arguments\":"
                           "[[\"flags\",0]],\"written\":[],\"result\":1}\n";
  std::vector<Call> calls;
  cantFail(withCalls(line + line).forEachCall([&](const Call &call) { calls.push_back(call); }));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].name, "cuInit");
  EXPECT_EQ(calls[1].arguments.at(0).name, "flags");
  EXPECT_EQ(calls[1].result, 1);
  for (const char *bad : {"x\n", "{}\n", "\n"})
    EXPECT_TRUE(errorToBool(withCalls(line + bad).verify())) << bad;
  cantFail(withCalls(StringRef(line).drop_back(1)).verify()); // the last may lack its end
}

} // namespace
