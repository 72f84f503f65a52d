// SPDX-License-Identifier: Apache-2.0
// What two runs of a launch made of its memory, compared: a verdict for each allocation, and the
// first element that differs.
#pragma once

#include "diff/Capsule.h"
#include "diff/Locate.h"
#include "diff/Stores.h"
#include "llvm/Support/JSON.h"

namespace rubia::capsule {

/// From good to bad; a launch has the worst of its allocations'.
enum class Verdict : uint8_t {
  Equal,       // bit by bit, but for the bits of NaNs
  Within,      // the bound that was given
  Recordings,  // it differs no more than several recordings do from each other
  Undecided,   // the kernel's own operations may give other bits, and no bound was given
  OtherImage,  // it differs, and what ran when it was recorded was not this PTX
  Unsupported, // it cannot be replayed
  Different,
  Race,      // it differs, and its threads race with each other
  Unwritten, // it differs, and it uses what nobody has written
  Failed,    // it ended with an error on the device
};
llvm::StringRef nameOf(Verdict verdict);

/// What the user knows of an allocation.
struct View {
  std::string of;                   // a parameter's number, or a variable's name
  ptx::Type type = ptx::Type::None; // None: as the kernel's stores say
  unsigned elementBytes = 0;        // 0: as the type has
  uint64_t columns = 0, rows = 0;   // 0: it has no shape
};

/// "0=f16": f16, bf16, f32, f64, e4m3, e5m2, or b8, b16, b32, b64 for bits.
llvm::Expected<View> parseElementType(llvm::StringRef text);
/// "0=1024x768": columns, of elements that lie side by side, and rows.
llvm::Expected<View> parseShape(llvm::StringRef text);
/// Whether the view is of this memory of the launch.
bool isViewOf(const View &view, const Launch &launch, const Region &region);

struct Bounds {
  std::optional<uint64_t> ulps; // steps between the two numbers
  std::optional<double> relative;
  std::vector<View> views =
      {}; // of one allocation there may be several, which know different things
};

struct Element {
  uint64_t index = 0;
  uint64_t expected = 0, got = 0; // bits
};

struct BufferResult {
  size_t region = 0;  // of Launch::regions()
  int parameter = -1; // the first that points into it
  Verdict verdict = Verdict::Equal;
  ptx::Type type = ptx::Type::None; // as which elements are compared; None: bits of 32
  unsigned elementBytes = 4;
  uint64_t elements = 0, differing = 0, nans = 0; // nans: both are, with other bits
  uint64_t maxUlps = 0;                           // of floating-point elements that differ
  double maxRelative = 0;
  std::optional<Element> first;
  std::optional<Writer> writer; // of that element in the replay, where it was asked for
  /// Against runs whose inexact instructions moved their results (decideByNoise).
  struct Moved {
    unsigned runs = 0;
    uint64_t beyond = 0; // elements that differ by far more than in those runs
    double ratio = 0;    // the largest difference, as a multiple of what those runs changed there
    bool areRecordings = false; // the runs
  };
  std::optional<Moved> moved;
  /// Elements that differ by at most 2^i steps, and by more than half as many; the last: by more,
  /// or not numbers that can be compared.
  static constexpr size_t kBins = 34;
  std::vector<uint64_t> histogram;
  /// Elements that differ, of each of kStretches equal parts of the allocation (fewer if it has
  /// fewer elements); empty if none does.
  static constexpr size_t kStretches = 256;
  std::vector<uint64_t> stretches;
  size_t stretchOf(uint64_t element) const;
  /// The same of rectangles, row by row, where the allocation has a shape.
  static constexpr size_t kCells = 64; // in a row, and rows, at most
  uint64_t columns = 0, rows = 0;
  size_t cellColumns = 0, cellRows = 0;
  std::vector<uint64_t> cells;
  /// The first element of each that differs, and who wrote it in the replay, where that was asked
  /// for.
  struct Part {
    uint64_t element = 0;
    std::optional<Writer> writer;
  };
  std::vector<Part> stretchParts, cellParts;
  /// Where `writer` is: source, PTX, AMDGPU instructions, where that was asked for.
  std::vector<Excerpt> code;
};

/// Who is wrong where results differ.
enum class Party : uint8_t {
  Unknown,
  Target,    // what was compared
  Recorded,  // what it was compared with
  Reference, // the interpreter of reference/
  Program    // it is undefined, or several are wrong
};
/// "target"
std::string nameOf(Party party);

struct LaunchResult {
  const Launch *launch = nullptr; // as it was recorded
  Verdict verdict = Verdict::Equal;
  std::string reason;        // of what is not a comparison; of Undecided: the inexact instruction
  bool isOtherImage = false; // that ran where it was recorded
  bool isOfNans = false;     // Undecided: it computes with the bits of NaNs
  Launch::Moved moved;       // of the replay
  Launch::Fusion fusion;     // of the replay
  std::vector<BufferResult> buffers;
  /// Tensor maps that both have changed, which cannot be compared; empty: there are none. No run
  /// decides of them.
  std::string openMaps;
  /// Who is wrong, and the first instruction whose result differs, where that was asked for.
  std::vector<std::string> explanation;
  std::optional<Party> wrong;
  std::optional<StoreSite> instruction;
  bool isComputed = false;        // the instruction makes another result of equal operands
  std::vector<Excerpt> explained; // the code around that instruction, where a page was asked for
};

/// Its bits; the last element may have fewer bytes than others.
uint64_t elementAt(llvm::ArrayRef<uint8_t> bytes, uint64_t index, unsigned size);
/// "1.5 (0x3fc00000)"
std::string textOf(ptx::Type type, unsigned bytes, uint64_t bits);
/// Steps between two floating-point numbers of the type; both zeros are one. None for NaNs and for
/// an infinity and a number.
std::optional<uint64_t> ulpsBetween(ptx::Type type, uint64_t a, uint64_t b);

/// The value of a number of the type; of a type without numbers, NaN.
double valueOf(ptx::Type type, uint64_t bits);

/// Of two numbers; of equal bits, and of two NaNs, 0; infinite where it cannot be told.
double distanceBetween(ptx::Type type, uint64_t a, uint64_t b);

/// Undecided, if nothing is worse than tensor maps that cannot be compared.
void addOpenMaps(LaunchResult &result);

BufferResult compareBuffers(llvm::ArrayRef<uint8_t> expected, llvm::ArrayRef<uint8_t> got,
                            const Stores &stores, const Bounds &bounds, const View &view = {});

/// A launch in the capsule that was recorded, or in that of a replay.
struct Run {
  const Capsule &capsule;
  const Launch &launch;
};

/// `expected` may be `recorded`; what the kernel may do follows from what was recorded.
llvm::Expected<LaunchResult> compareLaunches(const Run &recorded, const Run &expected,
                                             const Run &got, const Bounds &bounds);

/// Runs of a launch in one place: in `moved` inexact instructions moved their results within their
/// bounds, in `unmoved` they did not.
struct PerturbedSet {
  Run unmoved;
  std::vector<Run> moved;
};

/// Decides what compareLaunches() left undecided, by how far perturbed runs are from theirs that
/// moved nothing. They may have run elsewhere than `got`: then a mistake of its target does not
/// make its own bound larger. Verdicts
/// are of statistics: a difference that such runs show as well is within the bound, one that is far
/// beyond all of them is different, what lies between stays undecided. `still`: the first inexact
/// instruction that did not move; then nothing is different for certain.
llvm::Error decideByNoise(LaunchResult &result, const Run &expected, const Run &got,
                          const PerturbedSet &runs, llvm::StringRef still);

/// Decides what is undecided by how far `others` are from `recorded`: recordings of the same launch
/// from the same memory. The rule is that of decideByNoise(). What differs by more than they do
/// stays undecided.
llvm::Error decideByRecordings(LaunchResult &result, const Run &recorded, const Run &got,
                               llvm::ArrayRef<Run> others);

} // namespace rubia::capsule
