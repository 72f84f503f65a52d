// SPDX-License-Identifier: Apache-2.0
// Memory and events that other processes use too. HIP: hipIpc*, hipMemPoolExportPointer.
//
// Device memory becomes a file (SharedFile.h) when it is first asked for: its pages, which are its
// own, are copied and replaced while nothing is executed. The handle names process and descriptor,
// so that nothing has to be left anywhere, and nothing is when a process dies.
#pragma once

#include "emulator/hip/Api.h"
#include "emulator/hip/SharedFile.h"
#include <shared_mutex>

namespace rubia::emulator::hip {

/// What a hipIpcMemHandle_t and a hipMemPoolPtrExportData hold.
struct AllocationName {
  uint64_t magic = 0;
  SharedName file;
  uint64_t offset = 0, bytes = 0; // in the file
  uint64_t pool = 0;              // of memory of a pool: which one
  uint32_t device = 0;
};
static_assert(sizeof(AllocationName) <= 64);

/// Of the allocation that holds `pointer`, which hipMalloc or a pool made.
hipError_t nameAllocation(const void *pointer, uint64_t pool, AllocationName &name);
/// Where another process's allocation begins here. The same place for all who open it on a device.
hipError_t openAllocation(const AllocationName &name, uint64_t pool, unsigned device,
                          void **pointer);
/// After all work. Memory that several have opened goes with the last.
hipError_t closeAllocation(void *pointer);
bool isOpened(const void *pointer);
/// Keeps the pages of another process's memory mapped, whoever closes it: a copy may still be on
/// its way in one stream when another stream frees the memory. Null: it is none.
std::shared_ptr<const void> pagesOf(const void *pointer);
/// To be called before the allocation that starts there is freed: its pages are the process's
/// again. False: the system has no pages, and the allocation is still shared.
bool unshare(void *pointer);

/// Held by all that executes on a device; alone, by who replaces pages. It prefers those that
/// execute, since kernels may wait for each other.
std::shared_mutex &executing();

/// An event's count of records, in memory that all of its processes have.
class SharedEvent {
public:
  static std::shared_ptr<SharedEvent> create(unsigned device);
  static std::shared_ptr<SharedEvent> open(const SharedName &name);
  ~SharedEvent();
  SharedName name() const { return nameOf(*file); }
  unsigned device() const { return file->device(); }

  uint64_t begin();             // a record; its number
  void finish(uint64_t number); // when the stream is there
  uint64_t last() const;        // that was begun
  bool isDone(uint64_t number) const;
  /// False: the process that was to finish it has died.
  bool wait(uint64_t number) const;

private:
  struct Page {
    std::atomic<uint64_t> begun, done;
    std::atomic<int32_t> process;
    std::atomic<uint64_t> processStart;
  };
  explicit SharedEvent(std::shared_ptr<SharedFile> file, Page *page)
      : file(std::move(file)), page(page) {}
  static std::shared_ptr<SharedEvent> mapped(std::shared_ptr<SharedFile> file);
  std::shared_ptr<SharedFile> file;
  Page *page;
};

} // namespace rubia::emulator::hip
