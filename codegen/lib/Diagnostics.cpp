// SPDX-License-Identifier: Apache-2.0
// LLVM's back end reports what it cannot do to the context's diagnostic handler and goes on with
// something meaningless; the default handler prints and exits. Here they become values that name
// the function and, if there is debug information, the source line.
#include "codegen/lib/Diagnostics.h"
#include "codegen/Codegen.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::codegen {

char CodegenError::ID = 0;
char LinkerRetired::ID = 0;

void CodegenError::log(raw_ostream &os) const {
  if (!function.empty() && !StringRef(message).contains(function))
    os << "in function '" << function << "': ";
  os << message;
}

void LinkerRetired::log(raw_ostream &os) const { os << "lld cannot run again: " << message; }

namespace {

constexpr unsigned kMaxReported = 10;

const Function *functionOf(const DiagnosticInfo &info) {
  switch (info.getKind()) {
  case DK_Unsupported:
    return &cast<DiagnosticInfoUnsupported>(info).getFunction();
  case DK_ResourceLimit:
  case DK_StackSize:
    return &cast<DiagnosticInfoResourceLimit>(info).getFunction();
  case DK_RegAllocFailure:
    return &cast<DiagnosticInfoRegAllocFailure>(info).getFunction();
  case DK_GenericWithLoc:
    return &cast<DiagnosticInfoGenericWithLoc>(info).getFunction();
  case DK_LegalizationFailure:
    return &cast<DiagnosticInfoLegalizationFailure>(info).getFunction();
  case DK_InlineAsm:
    if (const Instruction *inst = cast<DiagnosticInfoInlineAsm>(info).getInstruction())
      return inst->getFunction();
    return nullptr;
  default: // the other kinds name no function, or belong to other tools
    return nullptr;
  }
}

std::string textOf(const DiagnosticInfo &info) {
  std::string text;
  raw_string_ostream os(text);
  if (info.getKind() ==
      DK_SrcMgr) { // an error of the assembler: LLVM's own text has several lines and carets
    const SMDiagnostic &diagnostic = cast<DiagnosticInfoSrcMgr>(info).getSMDiag();
    os << diagnostic.getMessage();
    if (!diagnostic.getLineContents().empty())
      os << " in '" << diagnostic.getLineContents().trim() << "'";
    return text;
  }
  DiagnosticPrinterRawOStream printer(os);
  info.print(printer);
  return StringRef(text).trim().str();
}

class Collector : public DiagnosticHandler {
public:
  explicit Collector(DiagnosticCollector::Record &record) : record(record) {}

  bool handleDiagnostics(const DiagnosticInfo &info) override {
    if (info.getSeverity() != DS_Error)
      return true; // remarks and warnings are for compiler writers
    if (info.getKind() == DK_RegAllocFailure)
      record.fault = Fault::Registers;
    if (record.count++ >= kMaxReported)
      return true;
    if (const Function *function = functionOf(info); function && record.function.empty())
      record.function = function->getName().str();
    record.text += (record.text.empty() ? "" : "\n") + textOf(info);
    return true;
  }

private:
  DiagnosticCollector::Record &record;
};

} // namespace

DiagnosticCollector::DiagnosticCollector(LLVMContext &context)
    : context(context), previous(context.getDiagnosticHandler()) {
  context.setDiagnosticHandler(std::make_unique<Collector>(record));
}

DiagnosticCollector::~DiagnosticCollector() { context.setDiagnosticHandler(std::move(previous)); }

Error DiagnosticCollector::take() {
  Record taken = std::exchange(record, {});
  if (taken.count == 0)
    return Error::success();
  if (taken.count > kMaxReported)
    taken.text += "\nand " + std::to_string(taken.count - kMaxReported) + " more";
  return make_error<CodegenError>(taken.fault, std::move(taken.text), std::move(taken.function));
}

} // namespace rubia::codegen
