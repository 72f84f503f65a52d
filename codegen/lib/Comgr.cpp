// SPDX-License-Identifier: Apache-2.0
// ROCm's code object manager as the linker. It is loaded with dlopen, because users without ROCm do
// not have it and its LLVM must not meet ours: RTLD_LOCAL, C interface only.
#include "codegen/lib/Link.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include <dlfcn.h>
#if __has_include(<amd_comgr/amd_comgr.h>)
#include <amd_comgr/amd_comgr.h>
#else
#include <amd_comgr.h>
#endif
#include <map>
#include <mutex>

using namespace llvm;

namespace rubia::codegen {

namespace {

struct Comgr {
  decltype(&amd_comgr_get_version) getVersion;
  decltype(&amd_comgr_status_string) statusString;
  decltype(&amd_comgr_get_isa_count) getIsaCount;
  decltype(&amd_comgr_get_isa_name) getIsaName;
  decltype(&amd_comgr_create_data) createData;
  decltype(&amd_comgr_release_data) releaseData;
  decltype(&amd_comgr_set_data) setData;
  decltype(&amd_comgr_set_data_name) setDataName;
  decltype(&amd_comgr_get_data) getData;
  decltype(&amd_comgr_create_data_set) createDataSet;
  decltype(&amd_comgr_destroy_data_set) destroyDataSet;
  decltype(&amd_comgr_data_set_add) dataSetAdd;
  decltype(&amd_comgr_action_data_count) actionDataCount;
  decltype(&amd_comgr_action_data_get_data) actionDataGetData;
  decltype(&amd_comgr_create_action_info) createActionInfo;
  decltype(&amd_comgr_destroy_action_info) destroyActionInfo;
  decltype(&amd_comgr_action_info_set_isa_name) setIsaName;
  decltype(&amd_comgr_action_info_set_option_list) setOptionList;
  decltype(&amd_comgr_action_info_set_logging) setLogging;
  decltype(&amd_comgr_do_action) doAction;
};

Error systemError(const Twine &message) {
  return make_error<CodegenError>(Fault::System, message.str());
}

template <typename F>
bool find(void *library, const char *name, F &function, std::string &missing) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function && missing.empty())
    missing = name;
  return function;
}

/// The library is never closed: LLVM inside it does not survive that.
Expected<const Comgr *> load(const std::string &name) {
  static std::mutex mutex;
  static std::map<std::string, Comgr> loaded;
  std::lock_guard lock(mutex);
  if (auto it = loaded.find(name); it != loaded.end())
    return &it->second;
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return systemError("cannot load comgr: " + Twine(dlerror()));
  Comgr comgr;
  std::string missing;
  find(library, "amd_comgr_get_version", comgr.getVersion, missing);
  find(library, "amd_comgr_status_string", comgr.statusString, missing);
  find(library, "amd_comgr_get_isa_count", comgr.getIsaCount, missing);
  find(library, "amd_comgr_get_isa_name", comgr.getIsaName, missing);
  find(library, "amd_comgr_create_data", comgr.createData, missing);
  find(library, "amd_comgr_release_data", comgr.releaseData, missing);
  find(library, "amd_comgr_set_data", comgr.setData, missing);
  find(library, "amd_comgr_set_data_name", comgr.setDataName, missing);
  find(library, "amd_comgr_get_data", comgr.getData, missing);
  find(library, "amd_comgr_create_data_set", comgr.createDataSet, missing);
  find(library, "amd_comgr_destroy_data_set", comgr.destroyDataSet, missing);
  find(library, "amd_comgr_data_set_add", comgr.dataSetAdd, missing);
  find(library, "amd_comgr_action_data_count", comgr.actionDataCount, missing);
  find(library, "amd_comgr_action_data_get_data", comgr.actionDataGetData, missing);
  find(library, "amd_comgr_create_action_info", comgr.createActionInfo, missing);
  find(library, "amd_comgr_destroy_action_info", comgr.destroyActionInfo, missing);
  find(library, "amd_comgr_action_info_set_isa_name", comgr.setIsaName, missing);
  find(library, "amd_comgr_action_info_set_option_list", comgr.setOptionList, missing);
  find(library, "amd_comgr_action_info_set_logging", comgr.setLogging, missing);
  find(library, "amd_comgr_do_action", comgr.doAction, missing);
  if (!missing.empty()) {
    dlclose(library);
    return systemError("'" + name + "' has no function " + missing);
  }
  return &loaded.emplace(name, comgr).first->second;
}

std::string versionOf(const Comgr &comgr) {
  size_t major = 0, minor = 0;
  comgr.getVersion(&major, &minor);
  return "comgr " + std::to_string(major) + "." + std::to_string(minor);
}

/// comgr's targets are named without feature switches.
Error checkTarget(const Comgr &comgr, const TargetId &target) {
  size_t count = 0;
  comgr.getIsaCount(&count);
  std::string wanted = "amdgcn-amd-amdhsa--" + target.processor;
  for (size_t i = 0; i < count; ++i) {
    const char *name = nullptr;
    if (comgr.getIsaName(i, &name) == AMD_COMGR_STATUS_SUCCESS && name && wanted == name)
      return Error::success();
  }
  return make_error<CodegenError>(Fault::Unsupported, versionOf(comgr) +
                                                          " does not know the target '" +
                                                          target.processor + "'");
}

Error failure(const Comgr &comgr, const char *what, amd_comgr_status_t status, StringRef log = {}) {
  const char *text = nullptr;
  comgr.statusString(status, &text);
  std::string message =
      versionOf(comgr) + " failed in " + what + ": " + (text ? text : "unknown status");
  if (!log.trim().empty())
    message += ": " + log.trim().str();
  return systemError(message);
}

/// The first piece of data of this kind in a set, empty if there is none.
std::string firstOf(const Comgr &comgr, amd_comgr_data_set_t set, amd_comgr_data_kind_t kind) {
  size_t count = 0;
  if (comgr.actionDataCount(set, kind, &count) != AMD_COMGR_STATUS_SUCCESS || count == 0)
    return {};
  amd_comgr_data_t data;
  if (comgr.actionDataGetData(set, kind, 0, &data) != AMD_COMGR_STATUS_SUCCESS)
    return {};
  size_t size = 0;
  comgr.getData(data, &size, nullptr);
  std::string bytes(size, '\0');
  comgr.getData(data, &size, bytes.data());
  comgr.releaseData(data);
  return bytes;
}

} // namespace

Expected<std::vector<uint8_t>> linkWithComgr(ArrayRef<std::string> objects, const TargetId &target,
                                             const std::string &libraryName) {
  Expected<const Comgr *> loaded = load(libraryName);
  if (!loaded)
    return loaded.takeError();
  const Comgr &comgr = **loaded;
  if (Error error = checkTarget(comgr, target))
    return error;

  amd_comgr_data_set_t inputs, outputs;
  if (auto status = comgr.createDataSet(&inputs))
    return failure(comgr, "create_data_set", status);
  scope_exit destroyInputs([&] { comgr.destroyDataSet(inputs); });
  if (auto status = comgr.createDataSet(&outputs))
    return failure(comgr, "create_data_set", status);
  scope_exit destroyOutputs([&] { comgr.destroyDataSet(outputs); });
  for (const auto &[number, object] : enumerate(objects)) {
    amd_comgr_data_t data;
    if (auto status = comgr.createData(AMD_COMGR_DATA_KIND_RELOCATABLE, &data))
      return failure(comgr, "create_data", status);
    scope_exit releaseData([&] { comgr.releaseData(data); }); // the set has it too
    if (auto status = comgr.setData(data, object.size(), object.data()))
      return failure(comgr, "set_data", status);
    if (auto status = comgr.setDataName(data, ("unit" + Twine(number) + ".o").str().c_str()))
      return failure(comgr, "set_data_name", status);
    if (auto status = comgr.dataSetAdd(inputs, data))
      return failure(comgr, "data_set_add", status);
  }

  amd_comgr_action_info_t action;
  if (auto status = comgr.createActionInfo(&action))
    return failure(comgr, "create_action_info", status);
  scope_exit destroyAction([&] { comgr.destroyActionInfo(action); });
  if (auto status = comgr.setIsaName(action, target.isaName().c_str()))
    return failure(comgr, "action_info_set_isa_name", status);
  if (auto status = comgr.setOptionList(action, nullptr, 0))
    return failure(comgr, "action_info_set_option_list", status);
  if (auto status = comgr.setLogging(action, true))
    return failure(comgr, "action_info_set_logging", status);
  if (auto status =
          comgr.doAction(AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE, action, inputs, outputs))
    return failure(comgr, "do_action", status, firstOf(comgr, outputs, AMD_COMGR_DATA_KIND_LOG));

  std::string bytes = firstOf(comgr, outputs, AMD_COMGR_DATA_KIND_EXECUTABLE);
  if (bytes.empty())
    return systemError(versionOf(comgr) +
                       " made no code object: " + firstOf(comgr, outputs, AMD_COMGR_DATA_KIND_LOG));
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

} // namespace rubia::codegen
