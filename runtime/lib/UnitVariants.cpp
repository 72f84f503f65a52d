#include "runtime/UnitVariants.h"
#include "runtime/lib/CodeObjectMetadata.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::runtime {

CompileOptions UnitVariant::applyTo(CompileOptions options) const {
  options.safeAtomics |= safeAtomics;
  if (halfFilled)
    options.warpForm = abi::WarpFormChoice::HalfFilled;
  return options;
}

Expected<std::vector<UnitVariant>> furtherVariants(ArrayRef<uint8_t> codeObject,
                                                   const CompileOptions &options) {
  Expected<CodeObjectMetadata> metadata = CodeObjectMetadata::read(codeObject);
  if (!metadata)
    return metadata.takeError();
  // Who asks for the packed form gets no other.
  const bool mayBeHalfFilled =
      options.warpForm != abi::WarpFormChoice::Packed &&
      any_of(metadata->kernels, [](const auto &kernel) { return kernel.exactThreads != 0; });
  std::vector<UnitVariant> result;
  for (bool safeAtomics : {false, true})
    for (bool halfFilled : {false, true})
      if ((safeAtomics || halfFilled) && (!safeAtomics || metadata->fastAtomics) &&
          (!halfFilled || mayBeHalfFilled))
        result.push_back({safeAtomics, halfFilled});
  return result;
}

} // namespace rubia::runtime
