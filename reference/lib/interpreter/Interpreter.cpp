// SPDX-License-Identifier: Apache-2.0
#include "reference/Interpreter.h"
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/TextureMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <map>

using namespace llvm;

namespace rubia::reference {

using namespace interpreter;

std::vector<uint32_t> parameterLayout(const ptx::Function &kernel) {
  std::vector<uint32_t> offsets;
  uint64_t offset = 0;
  for (const ptx::Variable *parameter : kernel.parameters) {
    offset = alignTo(offset, std::max(1u, parameter->alignment));
    offsets.push_back(uint32_t(offset));
    offset += parameter->sizeInBytes;
  }
  offsets.push_back(uint32_t(offset));
  return offsets;
}

struct Interpreter::State {
  explicit State(const ptx::Module &module) : module(module) {}
  const ptx::Module &module;
  GlobalAddresses globals;
  std::deque<std::vector<uint64_t>> storage; // of variables, 16-byte aligned as malloc does
  StringMap<MemoryRange> variables;
  std::vector<MemoryRange> constants, all, added;
  GlobalMemory memory;
  StringMap<std::unique_ptr<KernelCode>> kernels;
  std::map<uint64_t, std::vector<uint64_t>> heap; // of device code, by address
  FunctionAliases aliases;
  std::vector<ConstantAlias> constantAliases;
  TextureMap textures;

  MemoryRange room(uint64_t bytes, uint32_t alignment);
  Error initialise(const ptx::Variable &variable, MemoryRange range);
  void learnAddresses(const ptx::Variable &variable, MemoryRange range);
  void collect();
};

// Zeroed memory that lives as long as the interpreter. Variables of the same alignment as CUDA's.
MemoryRange Interpreter::State::room(uint64_t bytes, uint32_t alignment) {
  const uint64_t align = std::max<uint64_t>(alignment, 16);
  std::vector<uint64_t> &words = storage.emplace_back((bytes + align) / 8 + 2);
  const uint64_t address = alignTo(reinterpret_cast<uint64_t>(words.data()), align);
  return {address,
          MutableArrayRef(reinterpret_cast<uint8_t *>(address), std::max<uint64_t>(bytes, 1))};
}

Error Interpreter::State::initialise(const ptx::Variable &variable, MemoryRange range) {
  memcpy(range.bytes.data(), variable.initializer.data(), variable.initializer.size());
  for (const ptx::Relocation &relocation : variable.relocations) {
    uint64_t address = 0;
    if (relocation.function) {
      const ptx::Function *target = relocation.function;
      while (target->aliasOf)
        target = target->aliasOf;
      address = kFunctionWindow +
                16 * uint64_t(find(module.functions, target) - module.functions.begin());
    } else if (auto found = globals.find(relocation.variable); found != globals.end())
      address = found->second;
    else
      return createStringError("unsupported: '" + variable.name + "' holds the address of '" +
                               relocation.variable->name + "'");
    address = (address + uint64_t(relocation.addend)) & relocation.mask;
    if (relocation.mask != ~0ull && relocation.mask)
      address >>= countr_zero(relocation.mask);
    memcpy(range.bytes.data() + relocation.offset, &address, relocation.width);
  }
  return Error::success();
}

// What a placed variable holds where the module has the address of a function, or one in constant
// memory, is that address, as whoever filled the memory has it. NVIDIA's in constant memory are
// offsets in a bank of 64 KiB.
void Interpreter::State::learnAddresses(const ptx::Variable &variable, MemoryRange range) {
  constexpr uint64_t kBank = 1 << 16;
  for (const ptx::Relocation &relocation : variable.relocations) {
    if (relocation.width != 8 || relocation.mask != ~0ull)
      continue;
    uint64_t address;
    memcpy(&address, range.bytes.data() + relocation.offset, sizeof(address));
    if (relocation.function && !relocation.addend)
      aliases.try_emplace(address, relocation.function);
    const ptx::Variable *target = relocation.variable;
    if (!target || relocation.generic || target->space != ptx::StateSpace::Const)
      continue;
    const uint64_t theirs = address - uint64_t(relocation.addend);
    if (theirs < kBank &&
        none_of(
            constantAliases, [&](const ConstantAlias &other) { return other.theirs == theirs; }))
      constantAliases.push_back({theirs, globals.lookup(target), target->sizeInBytes});
  }
}

void Interpreter::State::collect() {
  memory.clear();
  for (const auto *ranges : {&all, &added})
    for (const MemoryRange &range : *ranges)
      if (!range.bytes.empty())
        memory.add(range);
}

Interpreter::Interpreter() = default;
Interpreter::~Interpreter() = default;

Expected<std::unique_ptr<Interpreter>> Interpreter::create(const ptx::Module &module,
                                                           ArrayRef<PlacedVariable> placed) {
  if (module.addressSize != 64)
    return createStringError(module.name + ": unsupported: addresses of 32 bits");
  std::unique_ptr<Interpreter> result(new Interpreter());
  result->state = std::make_unique<State>(module);
  State &state = *result->state;
  std::vector<const ptx::Variable *> initialised, learned;
  for (const ptx::Variable *variable : module.variables) {
    if (variable->space != ptx::StateSpace::Global && variable->space != ptx::StateSpace::Const)
      continue;
    const PlacedVariable *place =
        find_if(placed, [&](const PlacedVariable &other) { return other.name == variable->name; });
    if (place != placed.end() && place->memory.bytes.size() < variable->sizeInBytes)
      return createStringError("variable '" + variable->name + "' has " +
                               Twine(variable->sizeInBytes) + " bytes, " +
                               Twine(place->memory.bytes.size()) + " were given");
    MemoryRange range = place != placed.end()
                            ? place->memory
                            : state.room(variable->sizeInBytes, variable->alignment);
    range.bytes = range.bytes.take_front(variable->sizeInBytes);
    state.globals[variable] = range.address;
    state.variables[variable->name] = range;
    (place == placed.end() ? initialised : learned).push_back(variable);
    state.all.push_back(range);
    if (variable->space == ptx::StateSpace::Const)
      state.constants.push_back(range);
  }
  // Variables of functions: static ones are of the module too.
  for (const ptx::Function *function : module.functions)
    for (const ptx::Variable *local : function->locals)
      if (local->space == ptx::StateSpace::Global || local->space == ptx::StateSpace::Const) {
        MemoryRange range = state.room(local->sizeInBytes, local->alignment);
        range.bytes = range.bytes.take_front(local->sizeInBytes);
        state.globals[local] = range.address;
        state.all.push_back(range);
        if (Error error = state.initialise(*local, range))
          return std::move(error);
      }
  for (const ptx::Variable *variable : initialised)
    if (Error error = state.initialise(*variable, state.variables.lookup(variable->name)))
      return std::move(error);
  for (const ptx::Variable *variable : learned)
    state.learnAddresses(*variable, state.variables.lookup(variable->name));
  return result;
}

void Interpreter::addMemory(MemoryRange range) { state->added.push_back(range); }
void Interpreter::clearMemory() { state->added.clear(); }

Error Interpreter::addTexture(TextureObject texture) {
  if (!texture.name.empty()) { // the address of a reference is its handle
    texture.handle = state->variables.lookup(texture.name).address;
    if (!texture.handle)
      return createStringError("there is no texture or surface reference '" + texture.name + "'");
  }
  (texture.isSurface ? state->textures.surfaces : state->textures.textures)[texture.handle] =
      std::move(texture);
  return Error::success();
}

void Interpreter::clearTextures() { state->textures = {}; }

MemoryRange Interpreter::variable(StringRef name) const { return state->variables.lookup(name); }

namespace {

// The CTAs of a launch: one after another, or all together if the launch is cooperative. Where
// those that run wait for one that has not begun, that one begins.
class Schedule {
public:
  explicit Schedule(Grid &grid) : grid(grid) {}
  void run();

private:
  // So many instructions of CTAs that do not end: they may wait.
  static constexpr uint64_t kPatience = 1 << 20;
  bool begin();
  bool turn(); // false: the launch has ended
  Grid &grid;
  uint64_t next = 0, beganAt = 0;
  std::vector<std::unique_ptr<Cta>> running;
};

bool Schedule::begin() {
  const auto &[gx, gy, gz] = grid.launch.grid;
  if (next == uint64_t(gx) * gy * gz)
    return false;
  running.push_back(std::make_unique<Cta>(grid, std::array<uint32_t, 3>{uint32_t(next % gx),
                                                                        uint32_t(next / gx % gy),
                                                                        uint32_t(next / gx / gy)}));
  ++next;
  beganAt = grid.statistics.warpInstructions;
  return true;
}

bool Schedule::turn() {
  bool ran = false;
  for (const auto &cta : running) {
    ran |= cta->turn();
    if (!grid.error.empty())
      return false;
  }
  const size_t before = running.size();
  llvm::erase_if(running, [](const auto &cta) { return cta->hasEnded(); });
  const uint64_t executed = grid.statistics.warpInstructions;
  if (running.size() != before)
    beganAt = executed;
  if (grid.launch.instructionLimit && executed > grid.launch.instructionLimit) {
    grid.error = "kernel '" + grid.launch.kernel + "' has not ended after " +
                 std::to_string(executed) + " instructions of warps";
    return false;
  }
  if (running.empty() || !ran || executed - beganAt > kPatience)
    if (!begin() && (running.empty() || !ran)) {
      for (const auto &cta : running)
        cta->reportDeadlock();
      return false;
    }
  return true;
}

void Schedule::run() {
  while (begin() && grid.launch.cooperative)
    ;
  while (turn())
    ;
}

} // namespace

Expected<Statistics> Interpreter::launch(const Launch &launch) {
  const ptx::Function *kernel = state->module.function(launch.kernel);
  if (!kernel || !kernel->isKernel || !kernel->hasBody)
    return createStringError(state->module.name + ": there is no kernel '" + launch.kernel + "'");
  if (!kernel->valid)
    return createStringError(state->module.name + ": kernel '" + launch.kernel + "' has errors");
  const ptx::KernelAttributes &attributes = kernel->attributes;
  for (uint32_t size : attributes.requiredCluster)
    if (size > 1)
      return createStringError("kernel '" + launch.kernel +
                               "': unsupported: a cluster of several CTAs");
  uint64_t threads = 1, ctas = 1;
  for (unsigned i = 0; i < 3; ++i) {
    threads *= launch.block[i];
    ctas *= launch.grid[i];
  }
  if (!threads || !ctas || threads > 1024)
    return createStringError("kernel '" + launch.kernel + "': a grid of " + Twine(ctas) +
                             " CTAs of " + Twine(threads) + " threads");
  if (launch.parameters.size() != parameterLayout(*kernel).back())
    return createStringError("kernel '" + launch.kernel + "': parameters of " +
                             Twine(launch.parameters.size()) + " bytes, expected " +
                             Twine(parameterLayout(*kernel).back()));
  std::unique_ptr<KernelCode> &code = state->kernels[launch.kernel];
  if (!code)
    code = decodeKernel(state->module, *kernel, state->globals);
  state->collect();
  std::vector<uint8_t> parameters(launch.parameters.begin(), launch.parameters.end());
  MemoryRange workspace = state->room(64, 16);
  state->memory.add(workspace);
  Grid grid{state->module, *code, launch, state->memory, parameters};
  grid.constants = state->constants;
  grid.workspace = workspace.address;
  grid.aliases = &state->aliases;
  grid.textures = &state->textures;
  grid.constantAliases = state->constantAliases;
  for (const auto &[address, words] : state->heap)
    state->memory.add(
        {address, MutableArrayRef(reinterpret_cast<uint8_t *>(address), words.size() * 8)});
  grid.allocate = [&](uint64_t bytes) -> uint64_t {
    if (bytes > (64 << 20))
      return 0;
    std::vector<uint64_t> words(alignTo(bytes, 16) / 8 + 2);
    const uint64_t address = reinterpret_cast<uint64_t>(words.data());
    state->memory.add({address, MutableArrayRef(reinterpret_cast<uint8_t *>(address), bytes)});
    state->heap[address] = std::move(words);
    return address;
  };
  grid.release = [&](uint64_t address) {
    state->memory.remove(address);
    return state->heap.erase(address) == 1;
  };
  Schedule(grid).run();
  if (!grid.error.empty())
    return createStringError(grid.error);
  return grid.statistics;
}

} // namespace rubia::reference
