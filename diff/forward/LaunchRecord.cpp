// SPDX-License-Identifier: Apache-2.0
// The record of a launch (docs/capsule.md), and the names of module variables.
#include "diff/forward/Recorder.h"
#include "diff/forward/VariableNames.h"

using namespace rubia::capsule;

namespace rubia::forward {

static void addDimensions(Text &text, const char *key, const unsigned (&sizes)[3]) {
  text.format(",\"%s\":[%u,%u,%u]", key, sizes[0], sizes[1], sizes[2]);
}

static void addDigest(Text &text, const char *key, const Digest &digest) {
  text.format(",\"%s\":", key).hex(digest.bytes, sizeof(digest.bytes));
}

// 0: the driver does not tell.
static int attributeOf(const KnownFunction &known, Handle function, int attribute) {
  int value = 0, device = 0;
  if (!known.isKernel)
    (void)DRIVER(cuFuncGetAttribute, int *, int, Handle)(&value, attribute, function);
  else if (!DRIVER(cuCtxGetDevice, int *)(&device))
    (void)DRIVER(cuKernelGetAttribute, int *, int, Handle, int)(&value, attribute, function,
                                                                device);
  return value;
}

// A cluster's size that the function has is written as the launch's.
void Recorder::addClusterOfFunction(Text &text, const Launch &launch) const {
  unsigned value[16] = {};
  for (int i = 0; i < 3; ++i) {
    constexpr int kRequiredClusterWidth = 11;
    value[i] = unsigned(attributeOf(*function, launch.function, kRequiredClusterWidth + i));
    if (!value[0])
      return;
  }
  text.format("%s{\"id\":%d,\"value\":", launch.attributeCount ? "," : "", kAttributeCluster);
  text.hex(value, sizeof(value)).add("}");
}

void Recorder::writeLaunch(const Launch &launch, int result) {
  Text text;
  text.format("{\"ordinal\":%llu,\"of_kernel\":%llu,\"kernel\":",
              static_cast<unsigned long long>(launches - 1),
              static_cast<unsigned long long>(ofKernel));
  text.quoted(function->name);
  if (launch.inGraph)
    text.format(",\"graph_launch\":%llu,\"graph_node\":%llu",
                static_cast<unsigned long long>(launch.inGraph->launch),
                static_cast<unsigned long long>(launch.inGraph->node));
  text.add(",\"images\":[");
  const char *comma = "";
  if (image)
    for (const Piece &piece : image->pieces) {
      const Digest digest = writer.write(RecordType::Image, piece.data, piece.size);
      text.add(comma).hex(digest.bytes, sizeof(digest.bytes));
      comma = ",";
    }
  const int ptxVersion = attributeOf(*function, launch.function, 5),
            binaryVersion = attributeOf(*function, launch.function, 6);
  text.format("],\"ptx_version\":%d,\"binary_version\":%d", ptxVersion, binaryVersion);
  addDimensions(text, "grid", launch.grid);
  addDimensions(text, "block", launch.block);
  bool isCooperative = launch.isCooperative, hasCluster = false;
  text.format(",\"shared\":%u,\"attributes\":[", launch.sharedBytes);
  for (unsigned i = 0; i < launch.attributeCount; ++i) {
    const LaunchAttribute &attribute = launch.attributes[i];
    text.format("%s{\"id\":%d,\"value\":", i ? "," : "", attribute.id);
    text.hex(attribute.value, sizeof(attribute.value)).add("}");
    isCooperative |= attribute.id == kAttributeCooperative && attribute.value[0];
    hasCluster |= attribute.id == kAttributeCluster && attribute.value[0];
  }
  if (!hasCluster)
    addClusterOfFunction(text, launch);
  text.format("],\"cooperative\":%s,\"parameters\":", isCooperative ? "true" : "false");
  text.hex(parameters.begin(), parameters.size()).add(",\"layout\":[");
  for (size_t i = 0; i < layout.size(); ++i)
    text.format("%s[%zu,%zu]", i ? "," : "", layout[i].offset, layout[i].size);
  text.add("],\"memory\":[");
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region &region = regions[i];
    text.format("%s{\"address\":\"0x%llx\",\"bytes\":%llu,\"kind\":\"%s\"", i ? "," : "",
                static_cast<unsigned long long>(region.memory.address),
                static_cast<unsigned long long>(region.memory.bytes), nameOf(region.memory.kind));
    if (region.memory.name)
      text.add(",\"name\":").quoted(region.memory.name);
    addDigest(text, "before", region.before);
    if (!problem && !result)
      addDigest(text, "after", region.after);
    text.add("}");
  }
  text.add("]");
  writeTextures(text, !problem && !result);
  writeTensorMaps(text);
  text.format(",\"status\":%d", result);
  if (problem)
    text.add(",\"problem\":").quoted(problem);
  text.add("}");
  writeCalls();
  writer.write(RecordType::Launch, text.bytes().begin(), text.bytes().size());
  if (writer.isOpen())
    ++recorded;
}

// Variables that the program never asks for keep state between launches too. Their names are in the
// PTX; the driver has their addresses.
void Recorder::findVariables(LoadedImage &known) {
  if (known.areVariablesKnown)
    return;
  known.areVariablesKnown = true;
  for (const Piece &piece : known.pieces)
    forEachVariable(piece.data, piece.size, [&](const char *name) {
      DevicePointer address = 0;
      size_t bytes = 0;
      const int status = known.isLibrary
                             ? DRIVER(cuLibraryGetGlobal, DevicePointer *, size_t *, Handle,
                                      const char *)(&address, &bytes, known.owner, name)
                             : DRIVER(cuModuleGetGlobal_v2, DevicePointer *, size_t *, Handle,
                                      const char *)(&address, &bytes, known.owner, name);
      if (!status && !allocations.find(address))
        allocations.add({address, bytes, MemoryKind::Variable, strdup(name), known.owner});
    });
}

} // namespace rubia::forward
