// SPDX-License-Identifier: Apache-2.0
// Eight processes that allocate, map, export and import memory at random, and die at random. No
// byte that any of them reads is wrong, and none of them gains memory or descriptors.
//
// RUBIA_TEST_SOAK=SECONDS, 3 by default; RUBIA_TEST_SEED=NUMBER.
#include "runtime/device/Hip.h"
#include "tests/cuda/Peer.h"
#include "llvm/ADT/STLExtras.h"
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

constexpr unsigned kProcesses = 8;
constexpr unsigned kLazy = 1;
constexpr int kDescriptor = 1;
constexpr unsigned long long kNone = 0;
constexpr size_t kBlock = 2 << 20; // the granularity of mapped memory
constexpr size_t kMaxGrowth = 64 << 20;

/// What a process has given to the others. The words of memory that was given stay what they are.
struct Offer {
  std::atomic<uint64_t> version; // odd while it is written
  HipIpcHandle handle;
  uint64_t bytes;
  unsigned word;
};

struct Counts {
  std::atomic<uint64_t> rounds, deaths, opened, gone, imported, checked;
};

/// In memory that all processes share.
struct Board {
  std::atomic<bool> ends;
  Offer offers[kProcesses];
  Counts counts;
  int sockets[kProcesses][2]; // descriptors of mapped memory come to [i][0]
};

struct Message { // with a descriptor
  uint64_t bytes;
  unsigned word;
};

void fill(void *memory, unsigned word, size_t bytes) {
  DONE(cu("cuMemsetD32_v2", memory, word, bytes / 4));
  DONE(cu("cuCtxSynchronize")); // the others do not wait for the stream
}
void check(void *memory, unsigned word, size_t bytes, Counts &counts) {
  std::vector<unsigned> words(bytes / 4);
  DONE(cu("cuMemcpyDtoH_v2", static_cast<void *>(words.data()), memory, bytes));
  REQUIRE(llvm::all_of(words, [&](unsigned one) { return one == word; }));
  ++counts.checked;
}

size_t descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}
size_t residentBytes() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

/// One of the processes, from its start to its death.
class Player {
public:
  Player(Board &board, unsigned index, uint64_t seed)
      : board(board), counts(board.counts), index(index), random(seed) {}

  void play() {
    makeContext();
    DONE(cu("cuStreamCreate", &stream, 1u));
    round(); // libraries, threads and pools are there from now on
    const size_t files = descriptors(), bytes = residentBytes();
    const unsigned rounds = 1 + pick(8);
    for (unsigned i = 0; i < rounds && !board.ends; ++i) {
      round();
      require(descriptors() == files, "no descriptor is left", __LINE__);
      require(residentBytes() < bytes + kMaxGrowth, "no memory is left", __LINE__);
      ++counts.rounds;
    }
    die();
  }

private:
  struct Owned {
    void *memory;
    size_t bytes;
    unsigned word;
  };
  struct Mapped : Owned {
    uint64_t handle;
    bool isImported; // those cannot be exported again
  };

  unsigned pick(unsigned count) { return unsigned(random() % count); }
  unsigned newWord() { return unsigned(random()); }

  void act() {
    switch (pick(9)) {
    case 0:
      return allocate();
    case 1:
      return allocateOfPool();
    case 2:
      return map();
    case 3:
      return offer();
    case 4:
    case 5:
      return openOffer(pick(kProcesses));
    case 6:
      return send(pick(kProcesses));
    case 7:
      return receive();
    case 8:
      return checkAll();
    }
  }
  void round() {
    for (unsigned i = 0; i < 20; ++i)
      act();
    checkAll();
    withdraw();
    for (const Owned &one : plain)
      DONE(cu("cuMemFree_v2", one.memory));
    for (const Owned &one : pooled)
      DONE(cu("cuMemFreeAsync", one.memory, stream));
    for (const Owned &one : opened)
      DONE(cu("cuIpcCloseMemHandle", one.memory));
    for (const Mapped &one : mapped)
      unmap(one);
    DONE(cu("cuStreamSynchronize", stream));
    plain.clear(), pooled.clear(), opened.clear(), mapped.clear();
  }

  void allocate() {
    Owned one{nullptr, 4096u * (1 + pick(512)), newWord()};
    DONE(cu("cuMemAlloc_v2", &one.memory, one.bytes));
    fill(one.memory, one.word, one.bytes);
    plain.push_back(one);
  }
  void allocateOfPool() {
    Owned one{nullptr, 256u * (1 + pick(4096)), newWord()};
    DONE(cu("cuMemAllocAsync", &one.memory, one.bytes, stream));
    DONE(cu("cuStreamSynchronize", stream));
    fill(one.memory, one.word, one.bytes);
    pooled.push_back(one);
  }

  void mapHandle(uint64_t handle, size_t bytes, unsigned word, bool isImported) {
    Mapped one{{nullptr, bytes, word}, handle, isImported};
    MemoryAccess access{};
    access.location = {1, 0};
    access.flags = 3;
    DONE(cu("cuMemAddressReserve", &one.memory, bytes, size_t(0), static_cast<void *>(nullptr),
            kNone));
    DONE(cu("cuMemMap", one.memory, bytes, size_t(0), handle, kNone));
    DONE(cu("cuMemSetAccess", one.memory, bytes, static_cast<const MemoryAccess *>(&access),
            size_t(1)));
    mapped.push_back(one);
  }
  void map() {
    AllocationProperties properties{};
    properties.type = 1;
    properties.handleTypes = kDescriptor;
    properties.location = {1, 0};
    uint64_t handle = 0;
    const size_t bytes = kBlock * (1 + pick(2));
    DONE(cu("cuMemCreate", &handle, bytes, static_cast<const AllocationProperties *>(&properties),
            kNone));
    mapHandle(handle, bytes, newWord(), false);
    fill(mapped.back().memory, mapped.back().word, bytes);
  }
  static void unmap(const Mapped &one) {
    DONE(cu("cuMemUnmap", one.memory, one.bytes));
    DONE(cu("cuMemRelease", one.handle));
    DONE(cu("cuMemAddressFree", one.memory, one.bytes));
  }

  /// Memory of cuMemAlloc.
  void offer() {
    if (plain.empty())
      return;
    const Owned &one = plain[pick(unsigned(plain.size()))];
    Offer &mine = board.offers[index];
    HipIpcHandle handle;
    DONE(cu("cuIpcGetMemHandle", &handle, one.memory));
    mine.version |= 1;
    mine.handle = handle;
    mine.bytes = one.bytes;
    mine.word = one.word;
    ++mine.version;
  }
  void withdraw() {
    Offer &mine = board.offers[index];
    mine.version |= 1;
    mine.bytes = 0;
    ++mine.version;
  }
  /// It may be withdrawn and freed meanwhile, or its process dead: then it is refused.
  void openOffer(unsigned which) {
    Offer &other = board.offers[which];
    const uint64_t version = other.version;
    const HipIpcHandle handle = other.handle;
    Owned one{nullptr, other.bytes, other.word};
    if (which == index || !one.bytes || version % 2 || other.version != version)
      return;
    const Result result = cu("cuIpcOpenMemHandle_v2", &one.memory, handle, kLazy);
    if (result) {
      REQUIRE(result == kInvalidValue || result == kInvalidHandle); // memory or process is gone
      ++counts.gone;
      return;
    }
    ++counts.opened;
    opened.push_back(one);
    check(one.memory, one.word, one.bytes, counts);
  }

  void send(unsigned to) {
    if (mapped.empty())
      return;
    const Mapped &one = mapped[pick(unsigned(mapped.size()))];
    if (one.isImported)
      return;
    int descriptor = -1;
    DONE(cu("cuMemExportToShareableHandle", static_cast<void *>(&descriptor), one.handle,
            kDescriptor, kNone));
    Message message{one.bytes, one.word};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    iovec data{&message, sizeof(message)};
    msghdr header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = space;
    header.msg_controllen = sizeof(space);
    cmsghdr *control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
    (void)sendmsg(board.sockets[to][1], &header, MSG_DONTWAIT); // full: nobody reads just now
    close(descriptor);
  }
  void receive() {
    Message message{};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    iovec data{&message, sizeof(message)};
    msghdr header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = space;
    header.msg_controllen = sizeof(space);
    if (recvmsg(board.sockets[index][0], &header, MSG_DONTWAIT) != ssize_t(sizeof(message)))
      return;
    int descriptor = -1;
    REQUIRE(CMSG_FIRSTHDR(&header));
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(int));
    uint64_t handle = 0;
    DONE(cu("cuMemImportFromShareableHandle", &handle,
            reinterpret_cast<void *>(intptr_t(descriptor)), kDescriptor));
    close(descriptor);
    mapHandle(handle, message.bytes, message.word, true);
    check(mapped.back().memory, message.word, message.bytes, counts);
    ++counts.imported;
  }

  void checkAll() {
    for (const auto *list : {&plain, &pooled, &opened})
      for (const Owned &one : *list)
        check(one.memory, one.word, one.bytes, counts);
    for (const Mapped &one : mapped)
      check(one.memory, one.word, one.bytes, counts);
  }

  /// With all that a round has made; or at any moment of one.
  [[noreturn]] void die() {
    for (unsigned i = 0; i < 10; ++i)
      act();
    ++counts.deaths;
    switch (pick(3)) {
    case 0:
      std::thread([time = std::chrono::microseconds(pick(20'000))] {
        std::this_thread::sleep_for(time);
        raise(SIGKILL);
      }).detach();
      for (;;)
        round();
    case 1:
      exit(0); // with the exit handlers
    }
    _exit(0);
  }

  Board &board;
  Counts &counts;
  const unsigned index;
  std::mt19937_64 random;
  Stream *stream = nullptr;
  std::vector<Owned> plain, pooled, opened;
  std::vector<Mapped> mapped;
};

unsigned numberOf(const char *name, unsigned otherwise) {
  const char *text = getenv(name);
  return text ? unsigned(strtoul(text, nullptr, 10)) : otherwise;
}

std::vector<std::string> sharedFiles() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator("/dev/shm"))
    if (const std::string name = entry.path().filename(); name.find("rubia") != std::string::npos)
      names.push_back(name);
  return names;
}

TEST(Soak, ProcessesThatDieLeaveNothingAndSpoilNothing) {
  const std::vector<std::string> before = sharedFiles();
  auto *board = static_cast<Board *>(
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(board, MAP_FAILED);
  for (auto &pair : board->sockets)
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
  uint64_t seed = numberOf("RUBIA_TEST_SEED", 1);
  pid_t children[kProcesses] = {};
  auto start = [&](unsigned index) {
    const uint64_t own = ++seed;
    children[index] = fork();
    ASSERT_GE(children[index], 0);
    if (children[index])
      return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(300);
    Player(*board, index, own).play();
  };
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(numberOf("RUBIA_TEST_SOAK", 1));
  for (unsigned i = 0; i < kProcesses; ++i)
    start(i);
  for (unsigned alive = kProcesses; alive;) {
    int status = 0;
    const pid_t died = waitpid(-1, &status, 0);
    ASSERT_GT(died, 0);
    const bool isMeant = WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status);
    EXPECT_TRUE(isMeant) << "status " << status << ", seeds up to " << seed;
    if (!isMeant || Clock::now() > end)
      board->ends = true;
    if (board->ends) {
      --alive;
      continue;
    }
    for (unsigned i = 0; i < kProcesses; ++i)
      if (children[i] == died)
        start(i);
  }
  const Counts &counts = board->counts;
  printf("%llu rounds, %llu deaths, %llu opened, %llu gone, %llu imported, %llu checked\n",
         static_cast<unsigned long long>(counts.rounds),
         static_cast<unsigned long long>(counts.deaths),
         static_cast<unsigned long long>(counts.opened),
         static_cast<unsigned long long>(counts.gone),
         static_cast<unsigned long long>(counts.imported),
         static_cast<unsigned long long>(counts.checked));
  EXPECT_GE(counts.deaths, kProcesses);
  EXPECT_GT(counts.opened, 0u);
  EXPECT_GT(counts.imported, 0u);
  EXPECT_EQ(sharedFiles(), before);
  for (auto &pair : board->sockets)
    close(pair[0]), close(pair[1]);
}

} // namespace
} // namespace rubia::runtime::cuda
