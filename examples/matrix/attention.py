#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes attention (forward, one pass with a running softmax) in PTX: O = softmax(Q K^T / 8) V.

Heads have 64 elements of f16; O is f32. A CTA of four warps has 64 rows of Q, a warp 16, and goes
along K and V by 64 rows. The sums of Q K^T, which mma leaves in the layout of its A when two tiles
stand side by side, become factors of V without leaving their lanes. Any number of rows; with
`causal` a row of Q sees the rows of K up to its own number.

    attention.py > attention.ptx
    rubia launch attention.ptx --entry attention --grid ROWS/64,HEADS --block 128 buf:q buf:k buf:v zero:BYTES:o u32:ROWS u32:CAUSAL

With `attention.py --stages N` cp.async fills a ring of N blocks ahead of what is computed. The ring is dynamic shared memory:
`rubia launch --shared N*16384`. Six stages are 96 KiB, more than the LDS of most AMD GPUs has.
"""
import argparse

HEAD, BLOCK = 64, 64
ROW = 2 * HEAD  # bytes
V_OFFSET = BLOCK * ROW
STAGE = 2 * V_OFFSET
TILES = 8  # mma along K's rows, and along the head
LOG2E_BY_8 = "0f3E38AA3B"  # log2(e) / 8
MINUS_INFINITY = "0fFF800000"

parser = argparse.ArgumentParser()
parser.add_argument("--stages", type=int, default=1)
STAGES = parser.parse_args().stages
if STAGES < 1:
    parser.error("--stages must be 1 or more")

lines = []


def emit(text):
    lines.append("  " + text)


def sums(name, tile):
    return "{" + ", ".join(f"%{name}{4 * tile + i}" for i in range(4)) + "}"


def begin():
    lines.append(f""".version 8.0
.target sm_80
.address_size 64

{f".shared .align 128 .b8 tiles[{STAGE}];" if STAGES == 1 else ".extern .shared .align 128 .b8 tiles[];"}

.visible .entry attention(.param .u64 q, .param .u64 k, .param .u64 v, .param .u64 o, .param .u32 rows, .param .u32 causal)
.reqntid 128, 1, 1
{{
  .reg .pred %p<8>;
  .reg .b32 %r<64>, %rows, %causal, %first, %end, %from_k<4>, %from_v<4>, %at_k<4>, %at_v<4>, %to, %row<2>, %stage, %into, %ahead;
  .reg .b32 %q<16>, %b<4>, %w<16>;
  .reg .b64 %d<16>, %k, %v, %o;
  .reg .f32 %s<32>, %acc<32>, %f<16>, %most<2>, %total<2>, %new<2>, %scale<2>;""")
    emit("ld.param.u64 %d0, [q]; ld.param.u64 %k, [k]; ld.param.u64 %v, [v]; ld.param.u64 %o, [o];")
    emit("ld.param.u32 %rows, [rows]; ld.param.u32 %causal, [causal];")
    emit("cvta.to.global.u64 %d0, %d0; cvta.to.global.u64 %k, %k; cvta.to.global.u64 %v, %v; cvta.to.global.u64 %o, %o;")
    emit("mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y;")
    emit(f"mul.lo.u32 %r3, %r2, %rows; mul.wide.u32 %d1, %r3, {ROW}; // the head")
    emit("add.u64 %d0, %d0, %d1; add.u64 %k, %k, %d1; add.u64 %v, %v, %d1; shl.b64 %d1, %d1, 1; add.u64 %o, %o, %d1;")
    emit("and.b32 %r4, %r0, 31; shr.u32 %r5, %r0, 5; shr.u32 %r6, %r4, 2; and.b32 %r7, %r4, 3;")
    emit(f"mad.lo.u32 %row0, %r1, {BLOCK}, %r6; mad.lo.u32 %row0, %r5, 16, %row0; add.u32 %row1, %row0, 8;")
    emit("sub.u32 %r8, %rows, 1;")


def load_q():
    # Rows beyond the last are read as the last.
    for half in range(2):
        emit(f"min.u32 %r9, %row{half}, %r8; mul.wide.u32 %d2, %r9, {ROW}; add.u64 %d2, %d2, %d0;")
        emit("mul.wide.u32 %d3, %r7, 4; add.u64 %d2, %d2, %d3;")
        for step in range(4):
            for side in range(2):
                emit(f"ld.global.b32 %q{4 * step + half + 2 * side}, [%d2+{32 * step + 16 * side}];")


def addresses():
    # Chunks of 16 bytes are permuted by the row's number. Thread t copies chunk t % 8 of rows t / 8, t / 8 + 16 ...
    emit("mov.u32 %r10, tiles;")
    emit("shr.u32 %r11, %r0, 3; and.b32 %r12, %r0, 7; and.b32 %r13, %r11, 7; xor.b32 %r13, %r13, %r12;")
    emit(f"shl.b32 %r13, %r13, 4; mad.lo.u32 %to, %r11, {ROW}, %r13; add.u32 %to, %to, %r10; shl.b32 %r12, %r12, 4;")
    # K: row l % 8 + 8 (l / 16), chunk l / 8 % 2. V, transposed: row l % 16, chunk l / 16.
    emit("and.b32 %r14, %r4, 7; shr.u32 %r15, %r4, 4; shr.u32 %r16, %r4, 3; and.b32 %r16, %r16, 1;")
    emit("shl.b32 %r17, %r15, 3; add.u32 %r17, %r17, %r14; and.b32 %r18, %r4, 15;")
    for name, row, chunk, offset in (("k", "%r17", "%r16", 0), ("v", "%r18", "%r15", V_OFFSET)):
        for i in range(4):
            emit(f"add.u32 %r19, {chunk}, {2 * i}; xor.b32 %r19, %r19, %r14; shl.b32 %r19, %r19, 4;")
            emit(f"mad.lo.u32 %r19, {row}, {ROW}, %r19; add.u32 %r19, %r19, %r10; add.u32 %from_{name}{i}, %r19, {offset};")


def copy(first, into):
    emit(f"add.u32 %r27, %to, {into};")
    for i in range(4):
        emit(f"add.u32 %r20, {first}, %r11; add.u32 %r20, %r20, {16 * i}; min.u32 %r20, %r20, %r8;")
        emit(f"mul.wide.u32 %d4, %r20, {ROW}; cvt.u64.u32 %d5, %r12; add.u64 %d4, %d4, %d5;")
        for matrix, offset in (("%k", 0), ("%v", V_OFFSET)):
            emit(f"add.u64 %d6, {matrix}, %d4; cp.async.cg.shared.global [%r27+{offset + 16 * i * ROW}], [%d6], 16;")
    emit("cp.async.commit_group;")


def next_stage(stage):
    emit(f"add.u32 {stage}, {stage}, {STAGE}; setp.eq.u32 %p6, {stage}, {STAGES * STAGE}; selp.u32 {stage}, 0, {stage}, %p6;")


def scores():
    for i in range(4 * TILES):
        emit(f"mov.f32 %s{i}, 0f00000000;")
    for step in range(4):
        for pair in range(4):
            emit(f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%b0, %b1, %b2, %b3}}, [%at_k{step}+{16 * pair * ROW}];")
            for tile in range(2):
                emit("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     f"{sums('s', 2 * pair + tile)}, {sums('q', step)}, {{%b{2 * tile}, %b{2 * tile + 1}}}, {sums('s', 2 * pair + tile)};")
    # What a row must not see: rows of K from %r21 or %r22 on.
    emit("setp.ne.u32 %p1, %causal, 0;")
    for half in range(2):
        emit(f"add.u32 %r23, %row{half}, 1; min.u32 %r23, %r23, %rows; selp.u32 %r{21 + half}, %r23, %rows, %p1;")
    emit("shl.b32 %r24, %r7, 1; add.u32 %r24, %r24, %first;")
    for i in range(4 * TILES):
        emit(f"add.u32 %r25, %r24, {8 * (i // 4) + i % 2}; setp.lt.u32 %p2, %r25, %r{21 + i // 2 % 2};")
        emit(f"mul.f32 %s{i}, %s{i}, {LOG2E_BY_8}; selp.f32 %s{i}, %s{i}, {MINUS_INFINITY}, %p2;")


def softmax():
    for half in range(2):
        own = [i for i in range(4 * TILES) if i // 2 % 2 == half]
        emit(f"mov.f32 %new{half}, %most{half};")
        for i in own:
            emit(f"max.f32 %new{half}, %new{half}, %s{i};")
        for lanes in (1, 2):
            emit(f"shfl.sync.bfly.b32 %f0, %new{half}, {lanes}, 31, -1; max.f32 %new{half}, %new{half}, %f0;")
        # A row that has seen nothing yet has no largest score.
        emit(f"setp.eq.f32 %p3, %new{half}, {MINUS_INFINITY}; selp.f32 %f1, 0f00000000, %new{half}, %p3;")
        emit(f"sub.f32 %f2, %most{half}, %f1; ex2.approx.f32 %scale{half}, %f2; mov.f32 %most{half}, %new{half};")
        emit(f"mul.f32 %total{half}, %total{half}, %scale{half};")
        for i in own:
            emit(f"sub.f32 %f2, %s{i}, %f1; ex2.approx.f32 %s{i}, %f2; add.f32 %total{half}, %total{half}, %s{i};")
    for i in range(4 * TILES):
        emit(f"mul.f32 %acc{i}, %acc{i}, %scale{i // 2 % 2};")
    for i in range(2 * TILES):
        emit(f"cvt.rn.f16x2.f32 %w{i}, %s{2 * i + 1}, %s{2 * i};")


def weigh():
    for step in range(4):
        weights = sums("w", step)
        for pair in range(4):
            emit(f"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%b0, %b1, %b2, %b3}}, [%at_v{pair}+{16 * step * ROW}];")
            for tile in range(2):
                emit("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     f"{sums('acc', 2 * pair + tile)}, {weights}, {{%b{2 * tile}, %b{2 * tile + 1}}}, {sums('acc', 2 * pair + tile)};")


def loop():
    for i in range(4 * TILES):
        emit(f"mov.f32 %acc{i}, 0f00000000;")
    for half in range(2):
        emit(f"mov.f32 %most{half}, {MINUS_INFINITY}; mov.f32 %total{half}, 0f00000000;")
    # With `causal` nobody in the CTA sees rows behind its own.
    emit(f"setp.ne.u32 %p0, %causal, 0; add.u32 %r26, %r1, 1; mul.lo.u32 %r26, %r26, {BLOCK}; min.u32 %r26, %r26, %rows;")
    emit("selp.u32 %end, %r26, %rows, %p0; mov.u32 %first, 0;")
    emit(f"mov.u32 %stage, 0; mov.u32 %into, {(STAGES - 1) * STAGE}; mov.u32 %ahead, {(STAGES - 1) * BLOCK};")
    for stage in range(STAGES - 1):
        copy(stage * BLOCK, stage * STAGE)
    lines.append("again:")
    # Nobody reads the block any more that the copy overwrites: it was computed with a round ago.
    if STAGES > 1:
        emit(f"cp.async.wait_group {STAGES - 2};")
    emit("bar.sync 0;")
    copy("%ahead", "%into")
    if STAGES == 1:
        emit("cp.async.wait_group 0; bar.sync 0;")
    for i in range(4):
        emit(f"add.u32 %at_k{i}, %from_k{i}, %stage; add.u32 %at_v{i}, %from_v{i}, %stage;")
    scores()
    softmax()
    weigh()
    next_stage("%stage")
    next_stage("%into")
    emit(f"add.u32 %ahead, %ahead, {BLOCK}; add.u32 %first, %first, {BLOCK}; setp.lt.u32 %p4, %first, %end;")
    emit("@%p4 bra again;")
    emit("cp.async.wait_all;")


def store():
    for half in range(2):
        for lanes in (1, 2):
            emit(f"shfl.sync.bfly.b32 %f0, %total{half}, {lanes}, 31, -1; add.f32 %total{half}, %total{half}, %f0;")
    for half in range(2):
        emit(f"setp.lt.u32 %p5, %row{half}, %rows; mul.wide.u32 %d7, %row{half}, {4 * HEAD}; add.u64 %d7, %d7, %o;")
        emit("mul.wide.u32 %d8, %r7, 8; add.u64 %d7, %d7, %d8;")
        for tile in range(TILES):
            x, y = 4 * tile + 2 * half, 4 * tile + 2 * half + 1
            emit(f"div.rn.f32 %f3, %acc{x}, %total{half}; div.rn.f32 %f4, %acc{y}, %total{half};")
            emit(f"@%p5 st.global.v2.f32 [%d7+{32 * tile}], {{%f3, %f4}};")
    emit("ret;")
    lines.append("}")


begin()
load_q()
addresses()
loop()
store()
print("\n".join(lines))
