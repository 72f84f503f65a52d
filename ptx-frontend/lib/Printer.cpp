#include "ptx-frontend/Printer.h"
namespace rubia::ptx {} // namespace rubia::ptx
