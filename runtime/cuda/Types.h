// SPDX-License-Identifier: Apache-2.0
// Our own declarations of what crosses the boundary of the CUDA driver API: status codes, the few
// enumerations and structures that implemented functions take, laid out as CUDA's ABI has them.
// Handles are pointers to our own objects; device pointers are void * here (CUdeviceptr is a 64-bit
// integer, passed alike).
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubia::runtime::cuda {

// Those that this library and its tests name. Errors.def has all, with their texts.
enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kMapFailed = 205,
  kAlreadyMapped = 208,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kPeerAccessUnsupported = 217,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kUnsupportedExecAffinity = 224,
  kInvalidSource = 300,
  kFileNotFound = 301,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kLossyQuery = 402,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kStreamCaptureMerge = 902,
  kStreamCaptureUnmatched = 903,
  kStreamCaptureUnjoined = 904,
  kStreamCaptureIsolation = 905,
  kStreamCaptureImplicit = 906,
  kCapturedEvent = 907,
  kStreamCaptureWrongThread = 908,
  kGraphExecUpdateFailure = 910,
  kInvalidClusterSize = 912,
  kInvalidResourceType = 914,
  kInvalidResourceConfiguration = 915,
  kUnknown = 999,
};
const char *nameOf(Result result); // null if there is no such code
const char *textOf(Result result);

inline constexpr int kDriverVersion = 13000;

struct Context;
struct Stream;
struct Event;
struct Module;
struct Library;
struct Function; // CUfunction and CUkernel
struct MemoryPool;
struct LinkState;
struct Graph;
struct GraphNode;
struct ExecutableGraph; // CUgraphExec
struct UserObject;

struct Uuid {
  uint8_t bytes[16];
};

/// Stream handles that are no objects.
inline Stream *const kLegacyStream = reinterpret_cast<Stream *>(1);
inline Stream *const kPerThreadStream = reinterpret_cast<Stream *>(2);

enum DeviceAttribute : int {
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
};

enum FunctionAttribute : int {
  kMaxThreadsPerBlock,
  kSharedSizeBytes,
  kConstSizeBytes,
  kLocalSizeBytes,
  kNumRegs,
  kPtxVersion,
  kBinaryVersion,
  kCacheModeCa,
  kMaxDynamicSharedSizeBytes,
  kPreferredSharedMemoryCarveout,
  kClusterSizeMustBeSet,
  kRequiredClusterWidth,
  kRequiredClusterHeight,
  kRequiredClusterDepth,
  kNonPortableClusterSizeAllowed,
  kClusterSchedulingPolicyPreference,
  kFunctionAttributeCount,
};

enum JitOption : int {
  kJitMaxRegisters = 0,
  kJitWallTime = 2,
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferSizeBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSizeBytes = 6,
  kJitCacheMode = 14,
  kJitOptionCount = 35,
};

enum MemoryType : int { kMemoryHost = 1, kMemoryDevice = 2, kMemoryArray = 3, kMemoryUnified = 4 };

enum PointerAttribute : int {
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerP2pTokens = 5,
  kPointerSyncMemops = 6,
  kPointerBufferId = 7,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
  kPointerIsLegacyIpcCapable = 10,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
  kPointerMapped = 13,
  kPointerAllowedHandleTypes = 14,
  kPointerIsGpuDirectRdmaCapable = 15,
  kPointerAccessFlags = 16,
  kPointerMempoolHandle = 17,
  kPointerMappingSize = 18,
  kPointerMappingBase = 19,
  kPointerMemoryBlockId = 20,
  kPointerIsHwDecompressCapable = 21,
};

/// One side of a copy in CUDA_MEMCPY2D and CUDA_MEMCPY3D.
struct CopySide2D {
  size_t xInBytes, y;
  MemoryType type;
  void *host;
  void *device;
  void *array;
  size_t pitch;
};
struct Copy2D { // CUDA_MEMCPY2D
  CopySide2D from, to;
  size_t widthInBytes, height;
};
static_assert(sizeof(Copy2D) == 128);

struct CopySide3D {
  size_t xInBytes, y, z, lod;
  MemoryType type;
  void *host;
  void *device;
  void *array;
  void *reserved; // CUDA_MEMCPY3D_PEER: the context
  size_t pitch, height;
};
struct Copy3D { // CUDA_MEMCPY3D
  CopySide3D from, to;
  size_t widthInBytes, height, depth;
};
static_assert(sizeof(Copy3D) == 200);

enum LaunchAttributeId : int {
  kLaunchIgnore = 0,
  kLaunchAccessPolicyWindow = 1,
  kLaunchCooperative = 2,
  kLaunchSynchronizationPolicy = 3,
  kLaunchClusterDimension = 4,
  kLaunchClusterSchedulingPolicy = 5,
  kLaunchProgrammaticStreamSerialization = 6,
  kLaunchProgrammaticEvent = 7,
  kLaunchPriority = 8,
  kLaunchMemSyncDomainMap = 9,
  kLaunchMemSyncDomain = 10,
  kLaunchPreferredClusterDimension = 11,
  kLaunchCompletionEvent = 12,
  kLaunchDeviceUpdatableKernelNode = 13,
  kLaunchPreferredSharedMemoryCarveout = 14,
  kLaunchNvlinkUtilCentricScheduling = 16,
};
struct LaunchAttribute {
  LaunchAttributeId id;
  union alignas(8) {
    char bytes[64];
    int flag;
    struct {
      unsigned x, y, z;
    } cluster;
    Event *event; // of the two attributes with events: their first field
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  Stream *stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

struct MemoryLocation { // CUmemLocation
  int type;             // 1 device, 2 host, 3 and 4 host NUMA
  int id;
};

struct AllocationProperties { // CUmemAllocationProp
  int type;                   // 1: pinned
  int handleTypes;
  MemoryLocation location;
  void *windows; // of another operating system
  unsigned char compression, directRdma;
  unsigned short usage;
  unsigned char reserved[4];
};
static_assert(sizeof(AllocationProperties) == 32);

struct ExternalMemoryHandle { // CUDA_EXTERNAL_MEMORY_HANDLE_DESC; HIP's begins like it
  int type;                   // 1: a file descriptor
  union {
    int descriptor;
    void *pointers[2];
  };
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(ExternalMemoryHandle) == 104);
struct ExternalBuffer { // CUDA_EXTERNAL_MEMORY_BUFFER_DESC
  unsigned long long offset, size;
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(ExternalBuffer) == 88);

struct Array;                    // CUarray
struct ExternalSemaphore;        // CUexternalSemaphore
struct ExternalSemaphoreHandle { // CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC; HIP's begins like it
  int type;                      // 1: a file descriptor of a binary, 9: of a timeline semaphore
  union {
    int descriptor;
    void *pointers[2];
  };
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(ExternalSemaphoreHandle) == 96);
/// CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS and CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS; HIP's begin like
/// them, and have other sizes.
struct SemaphoreParameters {
  uint64_t value; // of a timeline semaphore
  uint64_t ofOtherKinds[8];
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(SemaphoreParameters) == 144);
/// CUDA_EXT_SEM_SIGNAL_NODE_PARAMS and CUDA_EXT_SEM_WAIT_NODE_PARAMS
struct SemaphoresNodeParameters {
  ExternalSemaphore *const *semaphores;
  const SemaphoreParameters *parameters;
  unsigned count;
};
static_assert(sizeof(SemaphoresNodeParameters) == 24);

struct MemoryPoolProperties { // CUmemPoolProps
  int allocationType;         // 1: pinned
  int handleTypes;
  MemoryLocation location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
static_assert(sizeof(MemoryPoolProperties) == 88);

struct DeviceProperties { // CUdevprop, of the deprecated cuDeviceGetProperties
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int sharedMemPerBlock;
  int totalConstantMemory;
  int warpSize;
  int maxPitch;
  int registersPerBlock;
  int clockRate;
  int textureAlign;
};

/// CUctxCreateParams: sharing of the device between processes or with graphics. We have neither.
struct CreateParameters {
  void *affinity;
  int affinityCount;
  void *sharing;
};

using HostFunction = void (*)(void *data); // CUhostFn

enum NodeType : int { // CUgraphNodeType
  kKernelNode,
  kCopyNode,
  kFillNode,
  kHostNode,
  kChildNode,
  kEmptyNode,
  kWaitNode,
  kRecordNode,
  kSignalSemaphoresNode,
  kWaitSemaphoresNode,
  kAllocateNode,
  kFreeNode,
  kBatchNode,
  kConditionalNode,
};

struct KernelNodeParameters { // CUDA_KERNEL_NODE_PARAMS_v1
  Function *function;
  unsigned grid[3], block[3], sharedBytes;
  void **values;
  void **extra;
};
struct KernelNodeParametersV2 { // CUDA_KERNEL_NODE_PARAMS_v2 and v3
  KernelNodeParameters first;
  Function *kernel;
  Context *context;
};
static_assert(sizeof(KernelNodeParametersV2) == 72);

struct FillNodeParameters { // CUDA_MEMSET_NODE_PARAMS
  void *to;
  size_t pitch;
  unsigned value, elementBytes;
  size_t width, height;
};
struct HostNodeParameters {
  HostFunction function;
  void *data;
};
struct MemoryAccess { // CUmemAccessDesc
  MemoryLocation location;
  int flags;
};
struct AllocateNodeParameters { // CUDA_MEM_ALLOC_NODE_PARAMS
  MemoryPoolProperties pool;
  const MemoryAccess *access;
  size_t accessCount, bytes;
  void *address;
};
static_assert(sizeof(AllocateNodeParameters) == 120);

struct CopyAttributes { // CUmemcpyAttributes
  int order;            // CUmemcpySrcAccessOrder
  MemoryLocation from, to;
  unsigned flags;
};
static_assert(sizeof(CopyAttributes) == 24);
struct CopyOperand { // CUmemcpy3DOperand
  int type;          // 1 a pointer, 2 an array
  union {
    struct {
      void *pointer;
      size_t rowLength, layerHeight; // bytes, rows
      MemoryLocation location;
    };
    struct {
      Array *array;
      size_t x, y, z; // texels
    };
  };
};
static_assert(sizeof(CopyOperand) == 40);
struct BatchedCopy { // CUDA_MEMCPY3D_BATCH_OP
  CopyOperand from, to;
  size_t width, height, depth;
  int order;
  unsigned flags;
};
static_assert(sizeof(BatchedCopy) == 112);

struct CooperativeLaunch { // CUDA_LAUNCH_PARAMS
  Function *function;
  unsigned grid[3], block[3], sharedBytes;
  Stream *stream;
  void **values;
};

struct DeviceResource { // CUdevResource
  int type;             // 1: multiprocessors
  unsigned char padding[92];
  unsigned count, smallestPart, alignment;
  unsigned char rest[36];
};
static_assert(sizeof(DeviceResource) == 144);
struct ExecutionAffinity { // CUexecAffinityParam
  int type;                // 0: a number of multiprocessors
  unsigned count;
};

enum MemoryOperationType : int { // CUstreamBatchMemOpType
  kWaitWord32 = 1,
  kWriteWord32 = 2,
  kFlushRemoteWrites = 3,
  kWaitWord64 = 4,
  kWriteWord64 = 5,
  kMemoryBarrier = 6,
};
/// CUstreamWaitValue_flags. kWaitReached: the word is equal or greater, as counters that wrap
/// around are compared.
enum WaitFlag : unsigned {
  kWaitReached = 0,
  kWaitEqual = 1,
  kWaitAnd = 2,
  kWaitNor = 3,
  kWaitFlush = 1u << 30,
};

union MemoryOperation { // CUstreamBatchMemOpParams
  MemoryOperationType type;
  struct {
    MemoryOperationType type;
    void *address;
    uint64_t value;
    unsigned flags;
    void *alias;
  } word;
  struct {
    MemoryOperationType type;
    unsigned flags;
  } barrier;
  uint64_t words[6];
};
static_assert(sizeof(MemoryOperation) == 48);
struct BatchNodeParameters { // CUDA_BATCH_MEM_OP_NODE_PARAMS
  Context *context;
  unsigned count;
  MemoryOperation *operations;
  unsigned flags;
};
static_assert(sizeof(BatchNodeParameters) == 32);

struct EdgeData { // CUgraphEdgeData
  uint8_t fromPort, toPort, type, reserved[5];
};
static_assert(sizeof(EdgeData) == 8);

enum ConditionalType : int { kIfNode, kWhileNode, kSwitchNode };

struct NodeParameters { // CUgraphNodeParams
  NodeType type;
  int reserved0[3];
  union {
    int64_t words[29];
    KernelNodeParametersV2 kernel;
    struct {
      int flags, reserved;
      Context *context;
      Copy3D copy;
    } copy;
    struct {
      FillNodeParameters fill;
      Context *context;
    } fill;
    HostNodeParameters host;
    struct {
      Graph *graph;
      int ownership;
    } child;
    Event *event;
    AllocateNodeParameters allocate;
    void *freed;
    BatchNodeParameters batch;
    struct {
      SemaphoresNodeParameters first;
      Context *context;
    } semaphores;
    struct {
      uint64_t handle;
      ConditionalType type;
      unsigned size;
      Graph **bodies;
      Context *context;
    } conditional;
  };
  int64_t reserved2;
};
static_assert(sizeof(NodeParameters) == 256);

enum InstantiateFlag : uint64_t {
  kFreeOnLaunch = 1,
  kUpload = 2,
  kDeviceLaunch = 4,
  kNodePriority = 8,
};
struct InstantiateParameters { // CUDA_GRAPH_INSTANTIATE_PARAMS
  uint64_t flags;
  Stream *uploadStream;
  GraphNode *errorNode;
  int result; // CUgraphInstantiateResult
};
struct UpdateResult { // CUgraphExecUpdateResultInfo
  int result;         // CUgraphExecUpdateResult
  GraphNode *errorNode, *errorFromNode;
};

struct Notification;    // CUasyncCallbackHandle
struct LogRegistration; // CUlogsCallbackHandle
using LogCallback = void (*)(void *data, int level, char *message, size_t length); // CUlogsCallback

using DynamicShared = size_t (*)(int blockSize); // CUoccupancyB2DSize

} // namespace rubia::runtime::cuda
