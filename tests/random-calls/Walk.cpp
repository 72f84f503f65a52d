// SPDX-License-Identifier: Apache-2.0
#include "tests/random-calls/Walk.h"
#include <cstdio>

namespace walks {

void Walk::note(const char *name, int code, int expected) {
  char line[200];
  snprintf(line, sizeof(line), "  call %u: %s gave %d, not %d\n", made, name, code, expected);
  findings += line;
}

void Walk::claim(bool isTrue, const char *what) {
  if (!isTrue)
    findings += "  call " + std::to_string(made) + ": " + what + "\n";
}

// Objects end in any order that CUDA allows; all memory is as the model says.
void Walk::endAll() {
  while (!graphs.empty())
    endGraph();
  for (std::unique_ptr<MemoryOf> &memory : memories)
    if (memory) {
      memory->isUsed = false;
      read(*memory);
    }
  while (anyMemory())
    release();
  while (!events.empty())
    endEvent();
  for (std::unique_ptr<StreamOf> &stream : streams)
    if (stream) {
      expect(kSuccess, "cuStreamSynchronize", stream->handle);
      expect(kSuccess, "cuStreamDestroy_v2", stream->handle);
    }
  while (!modules.empty())
    unloadModule();
}

std::string Walk::run(unsigned calls) {
  using Kind = void (Walk::*)();
  static constexpr struct {
    Kind call;
    unsigned weight;
  } kKinds[] = {
      {&Walk::allocate, 4},      {&Walk::release, 2},       {&Walk::fill, 6},
      {&Walk::copy, 6},          {&Walk::copyAsync, 6},     {&Walk::allocatePooled, 2},
      {&Walk::hostMemory, 1},    {&Walk::registerHost, 1},  {&Walk::askPointers, 2},
      {&Walk::wrongMemory, 4},   {&Walk::makeStream, 2},    {&Walk::endStream, 1},
      {&Walk::askStream, 3},     {&Walk::makeEvent, 2},     {&Walk::endEvent, 1},
      {&Walk::recordEvent, 3},   {&Walk::elapsed, 2},       {&Walk::hostFunction, 1},
      {&Walk::wrongStreams, 3},  {&Walk::loadModule, 1},    {&Walk::unloadModule, 1},
      {&Walk::launch, 6},        {&Walk::wrongLaunch, 3},   {&Walk::askFunction, 2},
      {&Walk::useLibrary, 1},    {&Walk::makeGraph, 2},     {&Walk::addNode, 5},
      {&Walk::runGraph, 2},      {&Walk::endGraph, 1},      {&Walk::capture, 2},
      {&Walk::contexts, 2},      {&Walk::devices, 2},       {&Walk::limits, 1},
      {&Walk::ownContext, 1},    {&Walk::words, 2},         {&Walk::ownPool, 1},
      {&Walk::copyRectangle, 3}, {&Walk::fillRectangle, 3}, {&Walk::link, 1},
      {&Walk::shared, 4},        {&Walk::ending, 4},
  };
  unsigned sum = 0;
  for (const auto &kind : kKinds)
    sum += kind.weight;
  expect(kSuccess, "cuCtxSetCurrent", world.context);
  while (made < calls) {
    size_t at = random.below(sum), kind = 0;
    while (at >= kKinds[kind].weight)
      at -= kKinds[kind++].weight;
    const unsigned before = made;
    (this->*kKinds[kind].call)();
    made += made == before; // kinds that had nothing to call
  }
  endAll();
  return findings;
}

std::string walk(const World &world, uint64_t seed, unsigned calls) {
  return Walk(world, seed).run(calls);
}

} // namespace walks
