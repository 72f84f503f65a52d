// SPDX-License-Identifier: Apache-2.0
// nvidia-smi for programs that `rubia run` starts: lists devices, answers queries, prints the usual
// table. It tells what NVML tells, and [N/A] for the rest.
#include "runtime/nvml/Api.h"
#include <CLI/CLI.hpp>
#include <charconv>
#include <ctime>
#include <functional>
#include <iomanip>
#include <iostream>
#include <optional>

using namespace rubia::runtime::nvml;

namespace {

using Text = std::optional<std::string>;

// What a function of NVML gives, if it does.
template <class T, class Function, class... Arguments>
std::optional<T> ask(Function function, Arguments... arguments) {
  T value{};
  return function(arguments..., &value) ? std::nullopt : std::optional(value);
}
Text askText(Return (*function)(Device *, char *, unsigned), Device *device) {
  char text[256];
  return function(device, text, sizeof(text)) ? Text() : Text(text);
}

Text number(std::optional<uint64_t> value, uint64_t divisor = 1) {
  return value ? Text(std::to_string(*value / divisor)) : Text();
}
Text watts(std::optional<unsigned> milliwatts) {
  if (!milliwatts)
    return {};
  char text[32];
  snprintf(text, sizeof(text), "%.2f", *milliwatts / 1000.0);
  return text;
}
Text hexadecimal(std::optional<unsigned> value, int digits) {
  if (!value)
    return {};
  char text[16];
  snprintf(text, sizeof(text), "0x%0*X", digits, *value);
  return text;
}

std::optional<PciInfo> pci(Device *device) { return ask<PciInfo>(nvmlDeviceGetPciInfo_v3, device); }
std::optional<Memory> memory(Device *device) {
  return ask<Memory>(nvmlDeviceGetMemoryInfo, device);
}
std::optional<Utilization> utilization(Device *device) {
  return ask<Utilization>(nvmlDeviceGetUtilizationRates, device);
}
Text driverVersion() {
  char text[80];
  return nvmlSystemGetDriverVersion(text, sizeof(text)) ? Text() : Text(text);
}
std::string cudaVersion() {
  int version = 0;
  nvmlSystemGetCudaDriverVersion_v2(&version);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
Text capability(Device *device) {
  int major = 0, minor = 0;
  if (nvmlDeviceGetCudaComputeCapability(device, &major, &minor))
    return {};
  return std::to_string(major) + "." + std::to_string(minor);
}
Text now(const char *format) {
  const std::time_t time = std::time(nullptr);
  std::ostringstream text;
  text << std::put_time(std::localtime(&time), format);
  return text.str();
}

constexpr uint64_t kMebi = 1 << 20;

// A field of --query-gpu: its names, the unit behind its values, and the value.
struct Field {
  std::vector<std::string> names;
  const char *unit;
  Text (*value)(Device *device);
};
template <class T, class Member>
std::optional<uint64_t> part(const std::optional<T> &whole, Member member) {
  return whole ? std::optional<uint64_t>((*whole).*member) : std::nullopt;
}

// clang-format off
const std::vector<Field> kFields = {
    {{"timestamp"}, "", [](Device *) { return now("%Y/%m/%d %H:%M:%S.000"); }},
    {{"driver_version"}, "", [](Device *) { return driverVersion(); }},
    {{"count"}, "", [](Device *) { unsigned n = 0; return nvmlDeviceGetCount_v2(&n) ? Text() : number(n); }},
    {{"name", "gpu_name"}, "", [](Device *d) { return askText(nvmlDeviceGetName, d); }},
    {{"uuid", "gpu_uuid"}, "", [](Device *d) { return askText(nvmlDeviceGetUUID, d); }},
    {{"index"}, "", [](Device *d) { return number(ask<unsigned>(nvmlDeviceGetIndex, d)); }},
    {{"pci.bus_id", "gpu_bus_id"}, "", [](Device *d) { auto p = pci(d); return p ? Text(p->busId) : Text(); }},
    {{"pci.domain"}, "", [](Device *d) { auto p = pci(d); return hexadecimal(p ? std::optional(p->domain) : std::nullopt, 4); }},
    {{"pci.bus"}, "", [](Device *d) { auto p = pci(d); return hexadecimal(p ? std::optional(p->bus) : std::nullopt, 2); }},
    {{"pci.device"}, "", [](Device *d) { auto p = pci(d); return hexadecimal(p ? std::optional(p->device) : std::nullopt, 2); }},
    {{"memory.total"}, "MiB", [](Device *d) { return number(part(memory(d), &Memory::total), kMebi); }},
    {{"memory.used"}, "MiB", [](Device *d) { return number(part(memory(d), &Memory::used), kMebi); }},
    {{"memory.free"}, "MiB", [](Device *d) { return number(part(memory(d), &Memory::free), kMebi); }},
    {{"utilization.gpu"}, "%", [](Device *d) { return number(part(utilization(d), &Utilization::gpu)); }},
    {{"utilization.memory"}, "%", [](Device *d) { return number(part(utilization(d), &Utilization::memory)); }},
    {{"temperature.gpu"}, "", [](Device *d) { return number(ask<unsigned>(nvmlDeviceGetTemperature, d, 0)); }},
    {{"power.draw", "power.draw.average", "power.draw.instant"}, "W", [](Device *d) { return watts(ask<unsigned>(nvmlDeviceGetPowerUsage, d)); }},
    {{"power.limit", "enforced.power.limit"}, "W", [](Device *d) { return watts(ask<unsigned>(nvmlDeviceGetEnforcedPowerLimit, d)); }},
    {{"fan.speed"}, "%", [](Device *d) { return number(ask<unsigned>(nvmlDeviceGetFanSpeed, d)); }},
    {{"clocks.max.graphics", "clocks.max.gr"}, "MHz", [](Device *d) { return number(ask<unsigned>(nvmlDeviceGetMaxClockInfo, d, 0)); }},
    {{"clocks.max.sm"}, "MHz", [](Device *d) { return number(ask<unsigned>(nvmlDeviceGetMaxClockInfo, d, 1)); }},
    {{"clocks.max.memory", "clocks.max.mem"}, "MHz", [](Device *d) { return number(ask<unsigned>(nvmlDeviceGetMaxClockInfo, d, 2)); }},
    {{"compute_cap"}, "", capability},
    {{"compute_mode"}, "", [](Device *) { return Text("Default"); }},
    // Known to exist, and nobody measures them here.
    {{"serial", "gpu_serial", "vbios_version", "persistence_mode", "pstate", "display_active", "display_mode",
      "ecc.mode.current", "ecc.mode.pending", "mig.mode.current", "mig.mode.pending", "clocks.current.graphics",
      "clocks.gr", "clocks.current.sm", "clocks.sm", "clocks.mem", "clocks.current.memory", "clocks.current.video",
      "clocks.video", "temperature.memory", "encoder.stats.sessionCount", "memory.reserved", "gpu_operation_mode.current",
      "pcie.link.gen.current", "pcie.link.gen.gpucurrent", "pcie.link.gen.max", "pcie.link.gen.gpumax",
      "pcie.link.gen.hostmax", "pcie.link.width.current", "pcie.link.width.max", "clocks_throttle_reasons.active",
      "clocks_event_reasons.active", "clocks_throttle_reasons.supported", "clocks_event_reasons.supported",
      "ecc.errors.corrected.volatile.total", "ecc.errors.uncorrected.volatile.total", "power.management",
      "power.default_limit", "power.min_limit", "power.max_limit", "inforom.img", "accounting.mode"}, "",
     [](Device *) { return Text(); }},
};
// clang-format on

const Field *fieldFor(const std::string &name) {
  for (const Field &field : kFields)
    if (std::find(field.names.begin(), field.names.end(), name) != field.names.end())
      return &field;
  return nullptr;
}

int listDevices(const std::vector<Device *> &devices) {
  for (Device *device : devices)
    std::cout << "GPU " << ask<unsigned>(nvmlDeviceGetIndex, device).value_or(0) << ": "
              << askText(nvmlDeviceGetName, device).value_or("[N/A]")
              << " (UUID: " << askText(nvmlDeviceGetUUID, device).value_or("[N/A]") << ")\n";
  return 0;
}

int query(const std::vector<Device *> &devices, const std::vector<std::string> &names,
          const std::vector<std::string> &format) {
  auto has = [&](const char *word) {
    return std::find(format.begin(), format.end(), word) != format.end();
  };
  if (!has("csv")) {
    std::cout << "\"--format=\" switch is missing: only csv is supported\n";
    return 2;
  }
  std::vector<const Field *> fields;
  for (const std::string &name : names) {
    fields.push_back(fieldFor(name));
    if (!fields.back()) {
      std::cout << "Field \"" << name << "\" is not a valid field to query.\n";
      return 2;
    }
  }
  if (!has("noheader"))
    for (size_t i = 0; i < fields.size(); ++i)
      std::cout << names[i] << (*fields[i]->unit ? std::string(" [") + fields[i]->unit + "]" : "")
                << (i + 1 < fields.size() ? ", " : "\n");
  for (Device *device : devices)
    for (size_t i = 0; i < fields.size(); ++i) {
      Text value = fields[i]->value(device);
      std::cout << value.value_or("[N/A]");
      if (value && *fields[i]->unit && !has("nounits"))
        std::cout << ' ' << fields[i]->unit;
      std::cout << (i + 1 < fields.size() ? ", " : "\n");
    }
  return 0;
}

// ---------- The table

std::string padded(const std::string &text, size_t width, bool isRight = false) {
  if (text.size() >= width)
    return text.substr(0, width);
  const std::string gap(width - text.size(), ' ');
  return isRight ? gap + text : text + gap;
}
std::string withUnit(const Text &value, const char *unit) { return value ? *value + unit : "N/A"; }
std::string valueOf(const char *field, Device *device, const char *unit) {
  return withUnit(fieldFor(field)->value(device), unit);
}

void printTable(const std::vector<Device *> &devices) {
  const std::string line = "+-----------------------------------------+------------------------+"
                           "----------------------+\n";
  const std::string plain = "+------------------------------------------------------------------"
                            "-----------------------+\n";
  std::cout << *now("%a %b %e %H:%M:%S %Y") << "\n" << plain;
  std::cout << "| "
            << padded("NVIDIA-SMI (Rubia)         Driver Version: " + driverVersion().value_or("") +
                          "      CUDA Version: " + cudaVersion(),
                      87)
            << " |\n"
            << line
            << "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile "
               "Uncorr. ECC |\n"
            << "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  "
               "Compute M. |\n"
            << line;
  for (Device *device : devices) {
    const std::string power =
        valueOf("power.draw", device, "W") + " / " + valueOf("power.limit", device, "W");
    const std::string used =
        valueOf("memory.used", device, "MiB") + " / " + valueOf("memory.total", device, "MiB");
    std::cout << "| " << padded(valueOf("index", device, ""), 3, true) << "  "
              << padded(valueOf("name", device, ""), 28) << padded("N/A", 6, true) << " | "
              << padded(valueOf("pci.bus_id", device, ""), 18) << padded("N/A", 4, true) << " | "
              << padded("N/A", 20, true) << " |\n";
    std::cout << "| " << padded(valueOf("fan.speed", device, "%"), 3, true) << "  "
              << padded(valueOf("temperature.gpu", device, "C"), 6) << padded("N/A", 4, true)
              << padded(power, 24, true) << " | " << padded(used, 22, true) << " | "
              << padded(valueOf("utilization.gpu", device, "%"), 8, true)
              << padded(valueOf("compute_mode", device, ""), 12, true) << " |\n"
              << line;
  }
  std::cout << "\n" << plain << "| " << padded("Processes: not known", 87) << " |\n" << plain;
}

// All devices, or those that -i names: by index, UUID or place.
std::optional<std::vector<Device *>> chosen(const std::vector<std::string> &names) {
  std::vector<Device *> devices;
  unsigned count = 0;
  nvmlDeviceGetCount_v2(&count);
  Device *device = nullptr;
  if (names.empty())
    for (unsigned i = 0; i < count; ++i)
      if (!nvmlDeviceGetHandleByIndex_v2(i, &device))
        devices.push_back(device);
  for (const std::string &name : names) {
    const bool isIndex = name.find_first_not_of("0123456789") == std::string::npos;
    unsigned index = 0;
    const bool isSmall =
        std::from_chars(name.data(), name.data() + name.size(), index).ec == std::errc();
    if (isIndex ? isSmall && !nvmlDeviceGetHandleByIndex_v2(index, &device)
                : !nvmlDeviceGetHandleByUUID(name.c_str(), &device) ||
                      !nvmlDeviceGetHandleByPciBusId_v2(name.c_str(), &device)) {
      devices.push_back(device);
      continue;
    }
    std::cout << "No devices were found\n";
    return std::nullopt;
  }
  return devices;
}

} // namespace

int main(int count, char **arguments) {
  CLI::App app("What NVML tells of the devices that Rubia uses", "nvidia-smi");
  bool isList = false;
  std::vector<std::string> names, fields, format;
  app.add_flag("-L,--list-gpus", isList, "List the devices");
  app.add_option("-i,--id", names, "By index, UUID or PCI place")->delimiter(',');
  app.add_option("--query-gpu", fields, "Fields, such as name,memory.total")->delimiter(',');
  app.add_option("--format", format, "csv[,noheader][,nounits]")->delimiter(',');
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError &error) {
    constexpr int kInvalidOption = 2; // NVIDIA's status
    return app.exit(error) ? kInvalidOption : 0;
  }
  if (Return result = nvmlInit_v2()) {
    std::cout << "NVIDIA-SMI has failed: " << nvmlErrorString(result) << "\n";
    return result;
  }
  std::optional<std::vector<Device *>> devices = chosen(names);
  if (!devices)
    return 6;
  if (isList)
    return listDevices(*devices);
  if (!fields.empty())
    return query(*devices, fields, format);
  printTable(*devices);
  return 0;
}
