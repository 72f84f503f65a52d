// SPDX-License-Identifier: Apache-2.0
// A ROCm SMI that measures the second of FakeHip's devices, on two monitors; the first monitor is
// of another device, and the second device has no fan. FAKE_ROCM_SMI=new: as ROCm 6 has it of an
// MI300, with no sensor at the edge, and no average of the power.
#include <cstdint>
#include <cstdlib>

static bool isNew() { return getenv("FAKE_ROCM_SMI"); }

extern "C" {

int rsmi_init(uint64_t) { return 0; }
int rsmi_num_monitor_devices(uint32_t *count) { return *count = 2, 0; }
// Of 0000:0b:00.0, in partition 3.
int rsmi_dev_pci_id_get(uint32_t index, uint64_t *id) {
  return *id = index ? 0x30000b00 : 0x7f00, 0;
}
int rsmi_dev_busy_percent_get(uint32_t index, uint32_t *percent) {
  return *percent = index ? 42 : 99, 0;
}
int rsmi_dev_memory_busy_percent_get(uint32_t, uint32_t *percent) { return *percent = 7, 0; }
int rsmi_dev_temp_metric_get(uint32_t, uint32_t sensor, int metric, int64_t *value) {
  return *value = isNew() ? 71500 : 61500, sensor != isNew() || metric;
}
int rsmi_dev_power_ave_get(uint32_t, uint32_t, uint64_t *microwatts) {
  return *microwatts = 123456789, isNew();
}
int rsmi_dev_power_get(uint32_t, uint64_t *microwatts, int *kind) {
  return *microwatts = 234567890, *kind = 1, !isNew();
}
int rsmi_dev_power_cap_get(uint32_t, uint32_t, uint64_t *microwatts) {
  return *microwatts = 300000000, 0;
}
int rsmi_dev_fan_speed_get(uint32_t, uint32_t, int64_t *) { return 2; }
int rsmi_dev_memory_usage_get(uint32_t, int kind, uint64_t *bytes) {
  return *bytes = uint64_t(3) << 30, kind;
}

} // extern "C"
