// SPDX-License-Identifier: Apache-2.0
// Launches of a capsule on a target, in processes of their own: a target is chosen by the
// environment of a process, and a launch that fails takes the device of its process with it.
#pragma once

#include "diff/Replay.h"
#include "settings/Settings.h"
#include <functional>
#include <map>
#include <memory>

namespace rubia::tools {

struct ReplayTarget {
  std::string name;            // "gfx1100", "gfx942,nan=canonical"
  settings::Settings settings; // what makes it
  bool isReference = false;    // the interpreter of reference/, named `reference`
  std::string library = "";    // libcuda.so.1; empty: ours
};

/// What is replayed there.
struct ReplayWork {
  std::string path;                // of the capsule
  std::string kernel;              // a regular expression that names have to match; empty: all
  unsigned timeout = 600;          // seconds for a launch; 0: any number
  std::string ptx;                 // a file with PTX to run in the place of what was recorded
  std::vector<std::string> images; // files with those that the capsule does not have
  std::vector<uint64_t> ordinals;  // of the launches; empty: all
  std::optional<unsigned> noise;   // of a perturbed run: its index (capsule::Noise::ofRun)
  bool isPlain = false;            // the interpreter fuses no products and sums

  /// The capsule, with these images.
  llvm::Expected<capsule::Capsule> open() const;
  /// The PTX of a launch.
  llvm::Expected<std::string> textOf(const capsule::Capsule &capsule,
                                     const capsule::Launch &launch) const;
  /// Which launches are meant. An error: `kernel` is no regular expression.
  llvm::Expected<std::function<bool(const capsule::Launch &)>> chooser() const;
};

/// Words with `;` between them, on top of `base`: "gfx1100", code options as "nan=canonical" or
/// "canonical", "hip", "emulator", "nvidia", or the folder of another Rubia's libcuda.so.1, with a
/// `/`. Or "reference" alone. An error names what is wrong.
llvm::Expected<ReplayTarget> parseTarget(llvm::StringRef text, const ReplayTarget &base);

/// The path of NVIDIA's libcuda.so.1. An error: it is in none of the usual places.
llvm::Expected<std::string> nvidiaDriver();

/// The last store to a byte (diff/Replay.h), on that target. None: nothing wrote there.
llvm::Expected<std::optional<capsule::Writer>>
locateOn(const ReplayWork &work, const ReplayTarget &target, const capsule::LocateRequest &request);
/// All that are known, the last first.
llvm::Expected<std::vector<capsule::Writer>> writersOn(const ReplayWork &work,
                                                       const ReplayTarget &target,
                                                       const capsule::LocateRequest &request);
/// Those of all words of a region.
llvm::Expected<capsule::WriterMap> locateAllOn(const ReplayWork &work, const ReplayTarget &target,
                                               const capsule::LocateRequest &request);
/// Into a file, and what the words say about sites into FILE.sites; for the process of a target.
llvm::Error writeWriters(const capsule::WriterMap &map, const std::string &file);

/// What a thread computes on that target (diff/Replay.h). `given`: what the reference takes open
/// results from; others take none.
llvm::Expected<std::vector<uint8_t>> traceOn(const ReplayWork &work, const ReplayTarget &target,
                                             const capsule::TraceOf &of,
                                             llvm::ArrayRef<uint8_t> given = {});

/// As many lines, none of which says where the source is: a target names lines of the PTX then.
std::string withoutSourceLines(llvm::StringRef ptx);

/// The thread that a launch fails in, and the line of the PTX, 0 where it is not told. None: what
/// the target says of that does not name it.
struct FailingThread {
  capsule::Writer thread;
  uint32_t line = 0;
};
/// In a message of the emulator or the interpreter.
std::optional<FailingThread> failingThreadIn(llvm::StringRef message);
llvm::Expected<std::optional<FailingThread>> failingThread(const capsule::Capsule &capsule,
                                                           const capsule::Launch &launch,
                                                           const ReplayWork &work,
                                                           const ReplayTarget &target);

/// By ordinal, what launches touch: those that can be looked at so.
llvm::Expected<std::map<uint64_t, capsule::TouchedPages>> touchedOn(const ReplayWork &work,
                                                                    const ReplayTarget &target);
/// The same for the process of a target, into a file.
llvm::Error writeTouched(const capsule::Capsule &capsule, const ReplayWork &work,
                         const std::string &library, const std::string &file);

/// Whether launches run there in other orders of CTAs and threads: on the emulator, under its check
/// `order` (docs/emulator-order.md). And the target on which they do, each seed in one order.
bool hasOrders(const ReplayTarget &target);
ReplayTarget inOrder(const ReplayTarget &target, uint64_t seed);

/// What CUDA leaves undefined: a data race, or a use of what nobody has written.
struct Undefined {
  bool isRace = false;
  std::string what;
};
llvm::json::Object toJson(const capsule::StoreSite &site);
llvm::json::Value toJson(const capsule::Writer &writer);

/// How the problem of a launch begins that did not end in time.
inline constexpr const char *kNotEnded = "it did not end within ";
/// Where the emulator ends a launch in which nothing goes on, and tells who waits, before
/// `timeout` does.
ReplayTarget impatient(ReplayTarget target, unsigned timeout);

/// What the launches made of their memory there. Of a replay that had to be begun again there are
/// several capsules: behind a launch that failed, or that its process did not survive.
class Replayed {
public:
  static llvm::Expected<Replayed> run(const ReplayWork &work, const capsule::Capsule &capsule,
                                      const ReplayTarget &target);

  struct Found {
    const capsule::Capsule *capsule;
    const capsule::Launch *launch;
  };
  /// By ordinal; null if it was not replayed.
  Found find(uint64_t ordinal) const;
  /// One that was replayed into a capsule before.
  static Replayed of(capsule::Capsule capsule);

private:
  std::vector<std::shared_ptr<const capsule::Capsule>> parts;
  std::vector<std::shared_ptr<const capsule::Launch>> lost; // that no process survived
};

/// The first that the emulator finds in a launch there: by its checks, or as threads in other
/// orders leave something else than `got`. None: there is none.
llvm::Expected<std::optional<Undefined>> undefinedIn(const capsule::Capsule &capsule,
                                                     const Replayed &got, const ReplayWork &work,
                                                     const ReplayTarget &target, uint64_t ordinal);

} // namespace rubia::tools
