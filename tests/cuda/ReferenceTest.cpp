// SPDX-License-Identifier: Apache-2.0
// Texture references keep what they are told and tell it again.
#include "runtime/cuda/texture/Descriptors.h"
#include "tests/cuda/LaunchFixture.h"

namespace rubia::runtime::cuda {
namespace {

class References : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    ASSERT_EQ(cu("cuTexRefCreate", &reference), kSuccess);
  }
  TextureReference *reference = nullptr;
};

TEST_F(References, KeepWhatTheyAreTold) {
  int mode = -1;
  EXPECT_EQ(cu("cuTexRefGetFilterMode", &mode, reference), kSuccess);
  EXPECT_EQ(mode, 0);
  EXPECT_EQ(cu("cuTexRefSetFilterMode", reference, 1), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetFilterMode", &mode, reference), kSuccess);
  EXPECT_EQ(mode, 1);
  EXPECT_EQ(cu("cuTexRefGetMipmapFilterMode", &mode, reference), kSuccess);
  EXPECT_EQ(mode, 0);
  EXPECT_EQ(cu("cuTexRefSetMipmapFilterMode", reference, 1), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetMipmapFilterMode", &mode, reference), kSuccess);
  EXPECT_EQ(mode, 1);
  EXPECT_EQ(cu("cuTexRefGetFilterMode", static_cast<int *>(nullptr), reference), kInvalidValue);

  float bias = -1;
  EXPECT_EQ(cu("cuTexRefSetMipmapLevelBias", reference, 1.5f), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetMipmapLevelBias", &bias, reference), kSuccess);
  EXPECT_EQ(bias, 1.5f);

  unsigned flags = 7;
  EXPECT_EQ(cu("cuTexRefGetFlags", &flags, reference), kSuccess);
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(cu("cuTexRefSetFlags", reference, 2u), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetFlags", &flags, reference), kSuccess);
  EXPECT_EQ(flags, 2u);

  unsigned most = 8;
  int anisotropy = -1;
  EXPECT_EQ(cu("cuTexRefSetMaxAnisotropy", reference, most), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetMaxAnisotropy", &anisotropy, reference), kSuccess);
  EXPECT_EQ(anisotropy, 8);

  float least = -1, greatest = -1;
  EXPECT_EQ(cu("cuTexRefSetMipmapLevelClamp", reference, 0.5f, 2.5f), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetMipmapLevelClamp", &least, &greatest, reference), kSuccess);
  EXPECT_EQ(least, 0.5f);
  EXPECT_EQ(greatest, 2.5f);

  float color[4] = {0.25f, 0.5f, 0.75f, 1}, told[4] = {};
  EXPECT_EQ(cu("cuTexRefSetBorderColor", reference, static_cast<const float *>(color)), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetBorderColor", static_cast<float *>(told), reference), kSuccess);
  EXPECT_EQ(memcmp(color, told, sizeof(color)), 0);

  for (int dimension : {0, 1, 2}) {
    EXPECT_EQ(cu("cuTexRefGetAddressMode", &mode, reference, dimension), kSuccess);
    EXPECT_EQ(mode, 1); // clamp
    EXPECT_EQ(cu("cuTexRefSetAddressMode", reference, dimension, 3 - dimension), kSuccess);
    EXPECT_EQ(cu("cuTexRefGetAddressMode", &mode, reference, dimension), kSuccess);
    EXPECT_EQ(mode, 3 - dimension);
  }
  EXPECT_EQ(cu("cuTexRefSetAddressMode", reference, 3, 0), kInvalidValue);
}

TEST_F(References, TellWhatTheyAreBoundTo) {
  const Array3DDescriptor flat{16, 16, 0, kFormatFloat, 1, 0};
  Array *array = nullptr, *boundArray = nullptr;
  MipmappedArray *mipmapped = nullptr, *boundMipmapped = nullptr;
  void *memory = allocate(512 * 16), *address = nullptr;
  ASSERT_EQ(cu("cuArray3DCreate_v2", &array, &flat), kSuccess);
  ASSERT_EQ(cu("cuMipmappedArrayCreate", &mipmapped, &flat, 3u), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetArray", &boundArray, reference), kInvalidValue);
  EXPECT_EQ(cu("cuTexRefGetMipmappedArray", &boundMipmapped, reference), kInvalidValue);

  EXPECT_EQ(cu("cuTexRefSetArray", reference, array, 1u), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetArray", &boundArray, reference), kSuccess);
  EXPECT_EQ(boundArray, array);
  EXPECT_EQ(cu("cuTexRefGetAddress_v2", &address, reference), kInvalidValue);

  EXPECT_EQ(cu("cuTexRefSetMipmappedArray", reference, mipmapped, 1u), kSuccess);
  EXPECT_EQ(cu("cuTexRefGetMipmappedArray", &boundMipmapped, reference), kSuccess);
  EXPECT_EQ(boundMipmapped, mipmapped);
  EXPECT_EQ(cu("cuTexRefGetArray", &boundArray, reference), kInvalidValue);

  for (const char *name : {"cuTexRefSetAddress2D_v2", "cuTexRefSetAddress2D_v3"}) {
    const ArrayDescriptor plane{16, 16, kFormatU8, 4};
    int format = 0, channels = 0;
    EXPECT_EQ(cu(name, reference, &plane, memory, size_t(512)), kSuccess) << name;
    EXPECT_EQ(cu("cuTexRefGetAddress_v2", &address, reference), kSuccess);
    EXPECT_EQ(address, memory);
    EXPECT_EQ(cu("cuTexRefGetFormat", &format, &channels, reference), kSuccess);
    EXPECT_EQ(format, kFormatU8);
    EXPECT_EQ(channels, 4);
  }
}

TEST_F(References, EndOnce) {
  TextureReference *gone = reference;
  int mode = 0;
  EXPECT_EQ(cu("cuTexRefDestroy", reference), kSuccess);
  EXPECT_EQ(cu("cuTexRefDestroy", gone), kInvalidHandle);
  EXPECT_EQ(cu("cuTexRefGetFilterMode", &mode, gone), kInvalidHandle);
  EXPECT_EQ(cu("cuTexRefSetFilterMode", gone, 1), kInvalidHandle);
}

// Kernels have the references of their module all the same.
TEST_F(References, AreGivenToFunctionsWithoutEffect) {
  Module *module = nullptr;
  Function *function = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
  ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "reverse"), kSuccess);
  EXPECT_EQ(cu("cuParamSetTexRef", function, -1, reference), kSuccess);
  EXPECT_EQ(cu("cuParamSetTexRef", function, -1, static_cast<TextureReference *>(nullptr)),
            kInvalidHandle);
}

} // namespace
} // namespace rubia::runtime::cuda
