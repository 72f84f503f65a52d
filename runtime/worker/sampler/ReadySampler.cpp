// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/sampler/ReadySampler.h"
#include "codegen/ReadyFunctions.h"

// The table lies in the program: it is of the same build, and a compile process reads no file.
asm(".section .rodata.rubia_sampler, \"a\", @progbits\n"
    ".hidden rubia_sampler_begin\n"
    ".hidden rubia_sampler_end\n"
    "rubia_sampler_begin:\n"
    ".incbin \"" RUBIA_SAMPLER_TABLE "\"\n"
    "rubia_sampler_end:\n"
    ".previous\n");

extern "C" {
extern const uint8_t rubia_sampler_begin[], rubia_sampler_end[];
}

namespace rubia::runtime {

void useReadySampler() {
  cantFail(codegen::useReadyFunctions({rubia_sampler_begin, rubia_sampler_end}));
}

} // namespace rubia::runtime
