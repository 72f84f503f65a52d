// SPDX-License-Identifier: Apache-2.0
// The textures and surfaces of a launch. Which of them a kernel reaches cannot be told from a
// handle, which may be a small number; so all are recorded, if its module's PTX names any.
#include "diff/forward/Recorder.h"

using namespace rubia::capsule;

namespace rubia::forward {

const char *Recorder::findTextures() {
  if (!image || !textures.any() || !image->namesTextures())
    return nullptr;
  if (const char *wrong = textures.list(function->owner, usedTextures, arrays))
    return wrong;
  for (const RecordedTexture &texture : usedTextures)
    if (texture.array < 0)
      reach(texture.resource.address);
  for (const RecordedArray &array : arrays)
    reachableBytes += array.bytes;
  return reachableBytes > options.maxBytes ? "it reaches more memory than --max-bytes" : nullptr;
}

bool Recorder::readArrays(bool isBefore) {
  Bytes bytes;
  for (RecordedArray &array : arrays) {
    bytes.resize(array.bytes);
    if (!readArray(array, bytes.begin()))
      return false;
    Array<Digest> digests;
    for (uint64_t at = 0; at < array.bytes; at += kPageBytes)
      digests.push(writer.write(RecordType::Page, bytes.begin() + at,
                                array.bytes - at < kPageBytes ? array.bytes - at : kPageBytes));
    (isBefore ? array.before : array.after) =
        writer.write(RecordType::Map, digests.begin(), digests.size() * sizeof(Digest));
  }
  return true;
}

void Recorder::writeTextures(Text &text, bool hasResults) const {
  if (usedTextures.empty())
    return;
  text.add(",\"arrays\":[");
  for (size_t i = 0; i < arrays.size(); ++i) {
    const RecordedArray &array = arrays[i];
    const Array3DDescriptor &shape = array.descriptor;
    text.format("%s{\"width\":%zu,\"height\":%zu,\"depth\":%zu,\"format\":%d,\"channels\":%u,"
                "\"flags\":%u,\"levels\":%u,\"bytes\":%llu,\"before\":",
                i ? "," : "", shape.width, shape.height, shape.depth, shape.format, shape.channels,
                shape.flags, array.levels, static_cast<unsigned long long>(array.bytes));
    text.hex(array.before.bytes, sizeof(array.before.bytes));
    if (hasResults)
      text.add(",\"after\":").hex(array.after.bytes, sizeof(array.after.bytes));
    text.add("}");
  }
  text.add("],\"textures\":[");
  const View none{};
  for (size_t i = 0; i < usedTextures.size(); ++i) {
    const RecordedTexture &texture = usedTextures[i];
    text.add(i ? ",{" : "{");
    if (texture.name)
      text.add("\"name\":").quoted(texture.name);
    else
      text.format("\"handle\":\"0x%llx\"", static_cast<unsigned long long>(texture.handle));
    text.format(",\"surface\":%s,\"resource\":", texture.isSurface ? "true" : "false");
    text.hex(&texture.resource, sizeof(texture.resource));
    if (!texture.isSurface)
      text.add(",\"sampler\":").hex(&texture.sampler, sizeof(texture.sampler));
    if (memcmp(&texture.view, &none, sizeof(none)) != 0)
      text.add(",\"view\":").hex(&texture.view, sizeof(texture.view));
    if (texture.array >= 0)
      text.format(",\"array\":%d", texture.array);
    text.add("}");
  }
  text.add("]");
}

} // namespace rubia::forward
