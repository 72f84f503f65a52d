#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a matrix product in PTX: C = A * B^T, A and B of f16 with rows along the depth, C of f32.

A CTA of four warps has 128 x 128 of C, a warp 64 x 64, and goes along the depth by 32, with two
buffers in shared memory: while one is multiplied, cp.async fills the other. Rows have 64
bytes there, and their four chunks of 16 bytes are permuted by the row's number, so that neither
copies nor ldmatrix meet bank conflicts.

    gemm.py > gemm.ptx
    rubia launch gemm.ptx --entry gemm --grid N/128,M/128 --block 128 buf:a buf:b zero:BYTES:c u32:N u32:K

Sizes are multiples of the tile's.
"""

TILE_M = TILE_N = 128
TILE_K = 32
ROW = 2 * TILE_K  # bytes of a row in shared memory
STAGE = TILE_M * ROW
B_OFFSET = 2 * STAGE
CHUNKS = 4  # of 16 bytes that a thread copies, for each of A and B
M_TILES, N_TILES = 4, 8  # mma of a warp

lines = []


def emit(text):
    lines.append("  " + text)


def accumulator(m, n, i):
    return f"%acc{(m * N_TILES + n) * 4 + i}"


def begin():
    lines.append(f""".version 8.0
.target sm_80
.address_size 64

.shared .align 128 .b8 tiles[{2 * B_OFFSET}];

.visible .entry gemm(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .u32 k)
.reqntid 128, 1, 1
{{
  .reg .pred %p<4>;
  .reg .b32 %r<64>, %stage, %other, %left, %to, %from_a<2>, %from_b<2>;
  .reg .b32 %fa<{4 * M_TILES}>, %fb<{2 * N_TILES}>;
  .reg .b64 %d<16>, %offset<{2 * CHUNKS}>, %a, %b, %c, %at;
  .reg .f32 %acc<{M_TILES * N_TILES * 4}>;""")
    emit("ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c];")
    emit("ld.param.u32 %r0, [n]; ld.param.u32 %left, [k];")
    emit("cvta.to.global.u64 %a, %a; cvta.to.global.u64 %b, %b; cvta.to.global.u64 %c, %c;")
    emit("mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y;")
    emit("mul.lo.u32 %r4, %left, 2; // bytes of a row of A and B")


def copy_addresses():
    # Thread t copies chunk t % 4 of rows t / 4, t / 4 + 32 ...
    emit("shr.u32 %r5, %r1, 2; and.b32 %r6, %r1, 3;")
    emit("mul.lo.u32 %r7, %r5, %r4; shl.b32 %r8, %r6, 4; add.u32 %r7, %r7, %r8;")
    emit("shl.b32 %r9, %r4, 5; // 32 rows")
    for i in range(CHUNKS):
        emit(f"cvt.u64.u32 %offset{i}, %r7; add.u32 %r7, %r7, %r9;")
    emit(f"mul.lo.u32 %r10, %r3, {TILE_M}; mul.wide.u32 %d0, %r10, %r4; add.u64 %a, %a, %d0;")
    emit(f"mul.lo.u32 %r10, %r2, {TILE_N}; mul.wide.u32 %d0, %r10, %r4; add.u64 %b, %b, %d0;")
    emit("shr.u32 %r11, %r1, 3; and.b32 %r11, %r11, 3; xor.b32 %r11, %r11, %r6;")
    emit(f"mul.lo.u32 %to, %r5, {ROW}; shl.b32 %r11, %r11, 4; add.u32 %to, %to, %r11;")
    emit("mov.u32 %r12, tiles; add.u32 %to, %to, %r12;")


def fragment_addresses():
    # Lane l names row l % 16 of A, chunk l / 16; row l % 8 + 8 (l / 16) of B, chunk l / 8 % 2.
    emit("and.b32 %r20, %r1, 31; shr.u32 %r21, %r1, 5;")
    emit("and.b32 %r22, %r21, 1; shr.u32 %r23, %r21, 1; // the warp's column and row")
    emit("and.b32 %r24, %r20, 15; shr.u32 %r25, %r20, 4;")
    emit("and.b32 %r26, %r20, 7; shl.b32 %r27, %r25, 3; add.u32 %r26, %r26, %r27;")
    emit("shr.u32 %r28, %r20, 3; and.b32 %r28, %r28, 1;")
    for row, chunk, warp, base, offset in (("%r24", "%r25", "%r23", "%from_a", 0),
                                           ("%r26", "%r28", "%r22", "%from_b", B_OFFSET)):
        emit(f"shr.u32 %r29, {row}, 1; and.b32 %r29, %r29, 3; xor.b32 %r29, %r29, {chunk};")
        emit(f"shl.b32 %r29, %r29, 4; mad.lo.u32 %r29, {row}, {ROW}, %r29;")
        emit(f"mad.lo.u32 %r29, {warp}, {64 * ROW}, %r29; add.u32 %r29, %r29, %r12;")
        emit(f"add.u32 {base}0, %r29, {offset}; xor.b32 %r30, {base}0, 32; mov.u32 {base}1, %r30;")


def copy_next(stage):
    emit(f"add.u32 %r40, %to, {stage};")
    for matrix, offset in (("%a", 0), ("%b", B_OFFSET)):
        for i in range(CHUNKS):
            emit(f"add.u64 %at, {matrix}, %offset{i};")
            emit(f"cp.async.cg.shared.global [%r40+{offset + i * 32 * ROW}], [%at], 16;")
    emit("cp.async.commit_group;")


def wait():
    emit("cp.async.wait_group 0; bar.sync 0;")


def multiply():
    for half in range(2):
        emit(f"add.u32 %r41, %from_a{half}, %stage; add.u32 %r42, %from_b{half}, %stage;")
        for m in range(M_TILES):
            registers = ", ".join(f"%fa{4 * m + i}" for i in range(4))
            emit(f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{registers}}}, [%r41+{m * 16 * ROW}];")
        for n in range(0, N_TILES, 2):
            registers = ", ".join(f"%fb{2 * n + i}" for i in range(4))
            emit(f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{registers}}}, [%r42+{n * 8 * ROW}];")
        for m in range(M_TILES):
            for n in range(N_TILES):
                sums = ", ".join(accumulator(m, n, i) for i in range(4))
                a = ", ".join(f"%fa{4 * m + i}" for i in range(4))
                b = ", ".join(f"%fb{2 * n + i}" for i in range(2))
                emit(f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{sums}}}, {{{a}}}, {{{b}}}, {{{sums}}};")


def loop():
    for i in range(M_TILES * N_TILES * 4):
        emit(f"mov.f32 %acc{i}, 0f00000000;")
    emit("mov.u32 %stage, 0;")
    copy_next(0)
    wait()
    lines.append("again:")
    # The last round reads its own tile again, which nobody multiplies.
    emit(f"sub.u32 %left, %left, {TILE_K}; setp.ne.u32 %p0, %left, 0;")
    emit(f"selp.u64 %d1, {ROW}, 0, %p0; add.u64 %a, %a, %d1; add.u64 %b, %b, %d1;")
    emit(f"xor.b32 %other, %stage, {STAGE};")
    copy_next("%other")
    multiply()
    emit("mov.u32 %stage, %other;")
    wait()
    emit("@%p0 bra again;")


def store_sums():
    # Lane 4 g + t has rows g and g + 8, columns 2 t and 2 t + 1.
    emit("shr.u32 %r50, %r20, 2; and.b32 %r51, %r20, 3;")
    emit(f"mad.lo.u32 %r50, %r3, {TILE_M}, %r50; mad.lo.u32 %r50, %r23, 64, %r50;")
    emit(f"shl.b32 %r51, %r51, 1; mad.lo.u32 %r51, %r2, {TILE_N}, %r51; mad.lo.u32 %r51, %r22, 64, %r51;")
    emit("mul.wide.u32 %d2, %r50, %r0; cvt.u64.u32 %d3, %r51; add.u64 %d2, %d2, %d3;")
    emit("shl.b64 %d2, %d2, 2; add.u64 %d2, %d2, %c; mul.wide.u32 %d4, %r0, 32; // eight rows")
    for m in range(M_TILES):
        for half in range(2):
            for n in range(N_TILES):
                x, y = accumulator(m, n, 2 * half), accumulator(m, n, 2 * half + 1)
                emit(f"st.global.v2.f32 [%d2+{32 * n}], {{{x}, {y}}};")
            emit("add.u64 %d2, %d2, %d4;")
    emit("ret;")
    lines.append("}")


begin()
copy_addresses()
fragment_addresses()
loop()
store_sums()
print("\n".join(lines))
