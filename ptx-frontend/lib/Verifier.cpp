#include "ptx-frontend/lib/Parser.h"
namespace rubia::ptx {
void verify(const Module &, Function &, std::vector<Diagnostic> &) {}
} // namespace rubia::ptx
