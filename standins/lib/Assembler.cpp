// SPDX-License-Identifier: Apache-2.0
#include "standins/Assembler.h"
#include "ptx-frontend/Fusing.h"
#include "ptx-frontend/Parser.h"
#include "ptx-frontend/RegisterLimit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rubia::standins {

// As ptxas pads the words: programs look for "error   :".
static StringRef wordOf(ptx::Severity severity) {
  switch (severity) {
  case ptx::Severity::Error:
    return "error   ";
  case ptx::Severity::Warning:
    return "warning ";
  case ptx::Severity::Note:
    return "info    ";
  }
  return "";
}

std::string fatal(StringRef tool, const Twine &message) {
  return (tool + " fatal   : " + message + "\n").str();
}

namespace {

constexpr size_t kMostKernels = 30000; // an ELF file has two sections for each

class Assembler {
public:
  Assembler(StringRef name, StringRef text, const AssemblerOptions &options)
      : name(name), options(options), parsed(ptx::parse(name.str(), text.str())) {}
  Assembled run();

private:
  void say(StringRef severity, unsigned line, const Twine &message) {
    result.log += (options.tool + " " + name + ", line " + Twine(line) + "; " + severity + ": " +
                   message + "\n")
                      .str();
  }
  Assembled fail(const Twine &message) {
    result.log += fatal(options.tool, message);
    result.hasFailed = true;
    return std::move(result);
  }
  bool tell(const ptx::Diagnostic &diagnostic);
  std::string whyNotForTarget() const;
  void describe();
  void describe(const ptx::Function &kernel);

  StringRef name;
  const AssemblerOptions &options;
  ptx::ParseResult parsed;
  Assembled result;
};

// True for an error. What is only not supported is none: the kernel that has it fails at its
// launch.
bool Assembler::tell(const ptx::Diagnostic &diagnostic) {
  const bool isError = diagnostic.severity == ptx::Severity::Error && !diagnostic.unsupported;
  const ptx::Severity severity =
      diagnostic.unsupported && !isError ? ptx::Severity::Warning : diagnostic.severity;
  const bool isWarning = severity == ptx::Severity::Warning;
  if (!isWarning || options.hasWarnings)
    say(wordOf(severity), diagnostic.line,
        (diagnostic.unsupported ? "not supported: " : "") + diagnostic.message);
  return isError || (isWarning && !diagnostic.unsupported && options.areWarningsErrors);
}

// PTX ISA: ptx-module-directives-target, which targets have what others have.
std::string Assembler::whyNotForTarget() const {
  const ptx::Module &m = parsed.module;
  if (m.sm > std::max(options.target.sm, options.takenSm))
    return "SM version specified by .target is higher than default SM version assumed";
  const std::string text =
      ("with .target 'sm_" + Twine(m.sm) + Twine(m.smVariant) + "' cannot be compiled ").str();
  const bool isOther = m.sm != options.target.sm;
  if (m.smVariant == 'a' && isOther)
    return "Program " + text + "to future architecture";
  if (m.smVariant == 'a' && options.target.variant != 'a')
    return "PTX " + text + "for architecture '" + options.target.name() + "'";
  if (m.smVariant == 'f' && m.sm / 10 != options.target.sm / 10)
    return "Program " + text + "to different SM-family architecture";
  return "";
}

uint64_t bytesOf(ArrayRef<const ptx::Variable *> variables, ptx::StateSpace space) {
  uint64_t bytes = 0;
  for (const ptx::Variable *variable : variables)
    if (variable->space == space && variable->linkage != ptx::Linkage::Extern)
      bytes = alignTo(bytes, std::max(variable->alignment, 1u)) + variable->sizeInBytes;
  return bytes;
}

// Registers are those of AMD's code, which is made at the launch: none are told.
void Assembler::describe(const ptx::Function &kernel) {
  const std::string info = options.tool + " info    : ";
  result.log += info + "Compiling entry function '" + kernel.name.str() + "' for '" +
                options.target.name() + "'\n" + info + "Function properties for " +
                kernel.name.str() + "\n    " +
                std::to_string(bytesOf(kernel.locals, ptx::StateSpace::Local)) +
                " bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n" + info + "Used ";
  if (uint64_t shared = bytesOf(kernel.locals, ptx::StateSpace::Shared))
    result.log += std::to_string(shared) + " bytes smem, ";
  uint64_t parameters = 0;
  for (const ptx::Variable *parameter : kernel.parameters)
    parameters = alignTo(parameters, std::max(parameter->alignment, 1u)) + parameter->sizeInBytes;
  result.log += std::to_string(parameters) + " bytes cmem[0]\n";
}

void Assembler::describe() {
  const ptx::Module &m = parsed.module;
  result.log += options.tool +
                " info    : " + std::to_string(bytesOf(m.variables, ptx::StateSpace::Global)) +
                " bytes gmem";
  if (uint64_t constant = bytesOf(m.variables, ptx::StateSpace::Const))
    result.log += ", " + std::to_string(constant) + " bytes cmem[3]";
  result.log += "\n";
  for (const ptx::Function *function : m.functions)
    if (function->isKernel && function->hasBody)
      describe(*function);
}

Assembled Assembler::run() {
  const ptx::Module &m = parsed.module;
  const std::string aborted = "Ptx assembly aborted due to errors";
  bool isWrong = !parsed.usable;
  for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
    isWrong |= tell(diagnostic);
  if (isWrong)
    return fail(aborted);
  if (std::string why = whyNotForTarget(); !why.empty())
    return fail(why);
  for (const std::string &entry : options.entries)
    if (none_of(m.functions, [&](const auto *f) { return f->isKernel && f->name == entry; }))
      return fail("Unknown function " + entry);
  if (llvm::count_if(m.functions, [](const auto *f) { return f->isKernel; }) > int(kMostKernels))
    return fail("more than " + Twine(kMostKernels) + " entry functions");
  if (options.isVerbose)
    describe();
  if (!options.target.isVirtual)
    result.cubin =
        makeCubin(m,
                  ptx::limitRegisters(options.mayFuse ? *m.text : ptx::withoutFusing(*m.text),
                                      options.registerLimit),
                  options.target, options.isRelocatable);
  return std::move(result);
}

} // namespace

Assembled assemble(StringRef name, StringRef text, const AssemblerOptions &options) {
  return Assembler(name, text, options).run();
}

} // namespace rubia::standins
