// SPDX-License-Identifier: Apache-2.0
// Objects that any thread ends while others use them. Whether one is still there is not in the
// model: a call may also say that it is not. Who ends one is told that it did. Streams and events
// are not among them: another walk's may have the handle of one that is gone.
#include "tests/random-calls/Walk.h"

namespace walks {

namespace {

constexpr int kContextIsDestroyed = 709;

struct ArrayDescriptor { // CUDA_ARRAY_DESCRIPTOR
  size_t width, height;
  int format;
  unsigned channels;
};
constexpr int kFloat = 0x20; // CU_AD_FORMAT_FLOAT

struct PoolProperties { // CUmemPoolProps
  int allocationType, handleTypes, locationType, locationId;
  char rest[72];
};
static_assert(sizeof(PoolProperties) == 88);

} // namespace

// One thread in four puts a new object in the place of another, which it ends.
template <class Make> Pointer Walk::inPlaceOf(Ending::Place &place, const char *end, Make make) {
  if (!random.isOneIn(4))
    return place;
  if (Pointer made = make())
    if (Pointer old = place.exchange(made))
      expect(kSuccess, end, old);
  return nullptr;
}

void Walk::launchEnding(Pointer function) {
  MemoryOf *memory = anyMemory();
  if (!memory || memory->bytes.size() < 4)
    return;
  order(*memory, kLegacy);
  prepare(*memory, 0, 1, 3);
  if (!expectAny({kSuccess, kInvalidHandle}, "cuLaunchKernel", function, 1u, 1u, 1u, 32u, 1u, 1u,
                 0u, Pointer(), static_cast<void **>(parameters.values),
                 static_cast<void **>(nullptr)))
    addTo(*memory, 0, 1, 3);
  order(*memory, kNobody);
}

void Walk::endingModule(Ending::Place &place) {
  Pointer function = nullptr, variable = nullptr;
  size_t size = 0;
  Pointer module = inPlaceOf(place, "cuModuleUnload", [&] {
    Pointer made = nullptr;
    expect(kSuccess, "cuModuleLoadData", &made, text());
    return made;
  });
  if (!module)
    return;
  expectAny({kSuccess, kInvalidHandle}, "cuModuleGetGlobal_v2", &variable, &size, module,
            "variable");
  if (!expectAny({kSuccess, kInvalidHandle}, "cuModuleGetFunction", &function, module, "add"))
    launchEnding(function);
}

void Walk::endingLibrary(Ending::Place &place) {
  Pointer kernel = nullptr, module = nullptr;
  Pointer library = inPlaceOf(place, "cuLibraryUnload", [&] {
    Pointer made = nullptr;
    expect(kSuccess, "cuLibraryLoadData", &made, text(), Pointer(), Pointer(), 0u, Pointer(),
           Pointer(), 0u);
    return made;
  });
  if (!library)
    return;
  expectAny({kSuccess, kInvalidHandle}, "cuLibraryGetModule", &module, library);
  if (!expectAny({kSuccess, kInvalidHandle}, "cuLibraryGetKernel", &kernel, library, "add"))
    launchEnding(kernel);
}

void Walk::endingContext(Ending::Place &place, Pointer library) {
  Pointer stream = nullptr, event = nullptr, kernel = nullptr, popped = nullptr;
  Pointer context = inPlaceOf(place, "cuCtxDestroy_v2", [&] {
    Pointer made = nullptr;
    expect(kSuccess, "cuCtxCreate_v2", &made, 0u, 0);
    expect(kSuccess, "cuCtxPopCurrent_v2", &popped);
    return made;
  });
  if (!context || expectAny({kSuccess, kInvalidContext}, "cuCtxPushCurrent_v2", context))
    return;
  // What is made in it goes with it, and its handles may be others' then: nothing is ended here.
  expectAny({kSuccess, kContextIsDestroyed}, "cuStreamCreate", &stream, 0u);
  expectAny({kSuccess, kContextIsDestroyed}, "cuEventCreate", &event, 0u);
  if (stream && event)
    expectAny({kSuccess, kInvalidHandle, kContextIsDestroyed}, "cuEventRecord", event, stream);
  if (library &&
      !expectAny({kSuccess, kInvalidHandle}, "cuLibraryGetKernel", &kernel, library, "add")) {
    prepareNothing();
    expectAny({kSuccess, kInvalidHandle, kContextIsDestroyed}, "cuLaunchKernel", kernel, 1u, 1u, 1u,
              32u, 1u, 1u, 0u, Pointer(), static_cast<void **>(parameters.values),
              static_cast<void **>(nullptr));
  }
  expectAny({kSuccess, kContextIsDestroyed}, "cuCtxSynchronize");
  expect(kSuccess, "cuCtxPopCurrent_v2", &popped);
  claim(popped == context, "another context was popped");
}

void Walk::endingArray(Ending::Place &place) {
  float texels[64] = {};
  ArrayDescriptor descriptor{64, 0, kFloat, 1};
  Pointer array = inPlaceOf(place, "cuArrayDestroy", [&] {
    Pointer made = nullptr;
    expect(kSuccess, "cuArrayCreate_v2", &made, &descriptor);
    return made;
  });
  if (!array)
    return;
  expectAny({kSuccess, kInvalidHandle}, "cuArrayGetDescriptor_v2", &descriptor, array);
  expectAny({kSuccess, kInvalidHandle, kInvalidValue}, "cuMemcpyHtoA_v2", array, size_t(0),
            static_cast<Pointer>(texels), sizeof(texels));
}

void Walk::endingPool(Ending::Place &place) {
  Pointer memory = nullptr;
  PoolProperties properties{1, 0, 1, 0, {}}; // pinned, of a device
  Pointer pool = inPlaceOf(place, "cuMemPoolDestroy", [&] {
    Pointer made = nullptr;
    expect(kSuccess, "cuMemPoolCreate", &made, &properties);
    return made;
  });
  if (pool && !expectAny({kSuccess, kInvalidHandle, kInvalidValue}, "cuMemAllocFromPoolAsync",
                         &memory, size_t(512), pool, Pointer()))
    expect(kSuccess, "cuMemFreeAsync", memory, Pointer());
}

void Walk::ending() {
  if (!world.ending)
    return;
  Ending &all = *world.ending;
  const size_t i = random.below(Ending::kPlaces);
  switch (random.below(5)) {
  case 0:
    return endingModule(all.modules[i]);
  case 1:
    return endingLibrary(all.libraries[i]);
  case 2:
    return endingContext(all.contexts[i], all.libraries[i]);
  case 3:
    return endingArray(all.arrays[i]);
  default:
    return endingPool(all.pools[i]);
  }
}

void Walk::endShared(Ending &all) {
  auto end = [&](Ending::Place(&places)[Ending::kPlaces], const char *name) {
    for (Ending::Place &place : places)
      if (Pointer handle = place.exchange(nullptr))
        expect(kSuccess, name, handle);
  };
  expect(kSuccess, "cuCtxSetCurrent", world.context);
  end(all.modules, "cuModuleUnload");
  end(all.libraries, "cuLibraryUnload");
  end(all.contexts, "cuCtxDestroy_v2");
  end(all.arrays, "cuArrayDestroy");
  end(all.pools, "cuMemPoolDestroy");
}

std::string endShared(const World &world) {
  Walk walk(world, 0);
  walk.endShared(*world.ending);
  return walk.take();
}

} // namespace walks
