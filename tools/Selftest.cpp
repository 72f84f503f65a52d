// SPDX-License-Identifier: Apache-2.0
// Builds one kernel for each check from LLVM IR, launches it on 64 threads (or several workgroups
// of so many) for every case, all of them with the same inputs, and compares the bits of thread 0;
// the others must agree with it.
#include "tools/Selftest.h"
#include "codegen/Codegen.h"
#include "runtime/device/Hip.h"
#include "tools/Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::runtime {
int hipDeviceSynchronize();
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipModuleLoadData(void **module, const void *image);
int hipModuleUnload(void *module);
int hipModuleGetFunction(void **function, void *module, const char *name);
int hipModuleLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                          unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                          void *stream, void **parameters, void **extra);
} // namespace rubia::runtime

namespace rubia::tools {

namespace {
constexpr unsigned kThreads = 64;
constexpr unsigned kMaxWorkgroups = 64;
constexpr unsigned kInputs = 3;

std::string symbolOf(const SelftestCheck &check) {
  std::string name = check.id;
  llvm::replace(name, '-', '_');
  return name;
}

// Every thread reads the three words of %in and writes its own of %out; narrow checks use low
// halves.
std::string textOf(const SelftestCheck &check) {
  const std::string type = "i" + std::to_string(check.bits);
  std::string text = "define amdgpu_kernel void @" + symbolOf(check) +
                     "(ptr addrspace(1) %in, ptr addrspace(1) %out) #" +
                     (check.denormals == SelftestCheck::Flush ? "1" : "0") +
                     " {\nentry:\n"
                     "  %lane = call i32 @llvm.amdgcn.workitem.id.x()\n"
                     "  %group = call i32 @llvm.amdgcn.workgroup.id.x()\n"
                     "  %firstOfGroup = mul i32 %group, " +
                     std::to_string(kThreads) + "\n  %thread = add i32 %firstOfGroup, %lane\n";
  for (unsigned i = 0; i < kInputs; ++i) // volatile: into vector registers, as data would be
    text += formatv("  %place{0} = getelementptr i64, ptr addrspace(1) %in, i32 {0}\n"
                    "  %{1} = load volatile {2}, ptr addrspace(1) %place{0}, align 8\n",
                    i, char('a' + i), type);
  text += check.body;
  text += "\n  %wide = zext " + type + " %r to i64\n";
  if (check.bits == 64) // zext to the same type is not allowed
    text.replace(text.rfind("zext"), 4, "bitcast");
  text += "  %result = getelementptr i64, ptr addrspace(1) %out, i32 %thread\n"
          "  store i64 %wide, ptr addrspace(1) %result\n  ret void\n}\n";
  return text;
}

Expected<codegen::CodeObject> compile(ArrayRef<const SelftestCheck *> checks, StringRef arch) {
  std::string text =
      formatv("@lds = internal addrspace(3) global [64 x float] poison\n"
              "@slots = internal addrspace(1) global [{0} x i8] zeroinitializer, align 64\n"
              "@counters = internal addrspace(1) global [{1} x i32] zeroinitializer\n",
              kSelftestSlots, kSelftestCounters);
  for (const SelftestCheck *check : checks)
    text += textOf(*check);
  text += "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"1,64\" "
          "\"denormal-fp-math\"=\"ieee,ieee\" }\n"
          "attributes #1 = { \"amdgpu-flat-work-group-size\"=\"1,64\" "
          "\"denormal-fp-math\"=\"ieee,ieee\" "
          "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\" }\n!0 = !{}\n"
          // A relaxed access of 16 bytes at agent scope: codegen/lib/errata/WholeAccesses.h
          "!1 = !{!\"rubia.whole.agent\", !2, i64 0}\n!2 = !{!\"rubia.whole\"}\n"
          "!3 = !{!1, !1, i64 0}\n";
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseAssemblyString(text, diagnostic, context);
  if (!module)
    return createStringError("line " + Twine(diagnostic.getLineNo()) + ": " +
                             diagnostic.getMessage());
  codegen::Options options;
  options.arch = arch.str();
  return codegen::compile(std::move(module), options);
}

// The device side of the checks.
class Session {
public:
  explicit Session(const runtime::Hip &hip) : hip(hip) {}
  ~Session() {
    if (inputs)
      hip.call<runtime::hipFree>(inputs);
    if (outputs)
      hip.call<runtime::hipFree>(outputs);
    if (module)
      hip.call<runtime::hipModuleUnload>(module);
  }
  Error load(ArrayRef<uint8_t> object) {
    if (Error error =
            call("hipModuleLoadData", hip.call<runtime::hipModuleLoadData>(&module, object.data())))
      return error;
    if (Error error = call("hipMalloc", hip.call<runtime::hipMalloc>(&inputs, kInputs * 8)))
      return error;
    return call("hipMalloc", hip.call<runtime::hipMalloc>(&outputs, kMaxWorkgroups * kThreads * 8));
  }
  /// What all threads found for a case.
  Expected<std::vector<uint64_t>> run(const SelftestCheck &check, const SelftestCase &inputs);

private:
  Error call(const char *what, int error) const {
    return error ? createStringError(Twine(what) + ": " + hip.hipGetErrorString(error))
                 : Error::success();
  }
  const runtime::Hip &hip;
  void *module = nullptr, *inputs = nullptr, *outputs = nullptr;
};

Expected<std::vector<uint64_t>> Session::run(const SelftestCheck &check,
                                             const SelftestCase &values) {
  // The host executes few at a time, and the others wait for their turn.
  constexpr unsigned kEmulated = 8;
  const unsigned workgroups =
      hip.isEmulator ? std::min(check.workgroups, kEmulated) : check.workgroups;
  const uint64_t in[kInputs] = {values.a, values.b, values.c};
  std::vector<uint64_t> out(workgroups * kThreads, 0xdeadbeefdeadbeef);
  void *function = nullptr;
  void *parameters[] = {&inputs, &outputs};
  if (Error error = call("hipMemcpy", hip.call<runtime::hipMemcpy>(
                                          inputs, in, sizeof(in), runtime::kHipMemcpyHostToDevice)))
    return std::move(error);
  if (Error error =
          call("hipMemcpy", hip.call<runtime::hipMemcpy>(outputs, out.data(), out.size() * 8,
                                                         runtime::kHipMemcpyHostToDevice)))
    return std::move(error);
  if (Error error = call("hipModuleGetFunction", hip.call<runtime::hipModuleGetFunction>(
                                                     &function, module, symbolOf(check).c_str())))
    return std::move(error);
  if (Error error = call("hipModuleLaunchKernel", hip.call<runtime::hipModuleLaunchKernel>(
                                                      function, workgroups, 1, 1, kThreads, 1, 1, 0,
                                                      nullptr, parameters, nullptr)))
    return std::move(error);
  if (Error error = call("hipDeviceSynchronize", hip.call<runtime::hipDeviceSynchronize>()))
    return std::move(error);
  if (Error error =
          call("hipMemcpy", hip.call<runtime::hipMemcpy>(out.data(), outputs, out.size() * 8,
                                                         runtime::kHipMemcpyDeviceToHost)))
    return std::move(error);
  return out;
}

std::string bitsOf(uint64_t value, const SelftestCheck &check) {
  return utohexstr(value, true, check.bits / 4);
}

// "same    clamp    00000000 00000000": the observed bits of every case; where they are not those
// of the emulator, these follow in brackets. Returns whether all are the same.
Expected<bool> check(Session &session, const SelftestCheck &check) {
  bool same = true;
  std::string bits;
  for (const SelftestCase &c : check.cases) {
    Expected<std::vector<uint64_t>> observed = session.run(check, c);
    if (!observed)
      return createStringError(Twine(check.id) + ": " + toString(observed.takeError()));
    const uint64_t first = observed->front();
    bits += " " + bitsOf(first, check);
    if (first != c.expected)
      bits += "[" + bitsOf(c.expected, check) + "]";
    same &= first == c.expected;
    for (size_t i = 1; i < observed->size(); ++i)
      if ((*observed)[i] != first) {
        bits += formatv(" (thread {0}: {1})", i, bitsOf((*observed)[i], check));
        same = false;
        break;
      }
  }
  printed() << formatv("{0,-7} {1,-26}{2}\n", same ? "same" : "DIFFERS", check.id, bits);
  return same;
}

Expected<int> selftest(const settings::Settings &settings) {
  Expected<const runtime::Hip *> hip = runtime::Hip::open(settings);
  if (!hip)
    return hip.takeError();
  int device = 0;
  if (int error = (*hip)->call<runtime::hipGetDevice>(&device))
    return createStringError(Twine("hipGetDevice: ") + (*hip)->hipGetErrorString(error));
  Expected<std::string> fullArch = (*hip)->archName(device);
  if (!fullArch)
    return fullArch.takeError();
  const std::string arch = StringRef(*fullArch).split(':').first.str();
  std::vector<const SelftestCheck *> checks;
  for (const SelftestCheck &check : selftestChecks())
    if (check.appliesTo(arch))
      checks.push_back(&check);
  Expected<codegen::CodeObject> object = compile(checks, arch);
  if (!object)
    return object.takeError();
  Session session(**hip);
  if (Error error = session.load(object->bytes))
    return std::move(error);
  printed() << "device " << arch << ((*hip)->isEmulator ? " (emulator)" : "") << "\n";
  unsigned different = 0;
  for (const SelftestCheck *one : checks) {
    Expected<bool> same = check(session, *one);
    if (!same)
      return same.takeError();
    different += !*same;
  }
  printed() << checks.size() << " checks, " << different << " differ from the emulator\n";
  return different ? kFailed : kDone;
}
} // namespace

int runSelftest(const settings::Settings &settings) {
  Expected<int> status = selftest(settings);
  return status ? *status : fail(status.takeError());
}

} // namespace rubia::tools
