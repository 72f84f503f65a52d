#include "codegen/ModeChecker.h"
namespace rubia::codegen {
llvm::Error checkMode(llvm::ArrayRef<uint8_t>) { return llvm::Error::success(); }
} // namespace rubia::codegen
