// SPDX-License-Identifier: Apache-2.0
#include "GoldenFile.h"
#include "PackedFile.h"
#include "ptx-frontend/lib/TypeNames.h"

using namespace llvm;
using nlohmann::json;

namespace rubia::golden {
namespace {

unsigned bytesOf(const Operand &operand) { return operand.bits == 1 ? 1 : operand.bits / 8; }

json describe(ArrayRef<Operand> operands) {
  json list = json::array();
  for (const Operand &operand : operands)
    list.push_back({ptx::nameOf(operand.type).str(), operand.bits, operand.negated});
  return list;
}

std::vector<Operand> operandsOf(const json &list) {
  std::vector<Operand> operands;
  for (const json &entry : list)
    operands.push_back(
        {ptx::typeOf(ptx::modifierNamed(entry[0].get<std::string>())), entry[1], entry[2]});
  return operands;
}

void putColumns(std::string &blob, ArrayRef<uint64_t> rows, ArrayRef<Operand> columns) {
  for (unsigned column = 0; column < columns.size(); ++column)
    for (unsigned byte = 0; byte < bytesOf(columns[column]); ++byte)
      for (size_t i = column; i < rows.size(); i += columns.size())
        blob.push_back(char(rows[i] >> (8 * byte)));
}

Expected<std::vector<uint64_t>> takeColumns(StringRef &blob, ArrayRef<Operand> columns) {
  std::vector<uint64_t> rows(kTupleCount * columns.size());
  for (unsigned column = 0; column < columns.size(); ++column)
    for (unsigned byte = 0; byte < bytesOf(columns[column]); ++byte) {
      if (blob.size() < kTupleCount)
        return createStringError("the golden file is truncated");
      for (unsigned i = 0; i < kTupleCount; ++i)
        rows[i * columns.size() + column] |= uint64_t(uint8_t(blob[i])) << (8 * byte);
      blob = blob.drop_front(kTupleCount);
    }
  return rows;
}

} // namespace

Error write(const GoldenFile &file, StringRef path) {
  json header{{"device", file.device}, {"date", file.date}, {"tuples", kTupleCount}};
  std::vector<const Case *> firstWith(file.inputs.size());
  std::string blob;
  for (const GoldenCase &golden : file.cases) {
    const Case &test = golden.test;
    if (!firstWith[golden.inputs])
      firstWith[golden.inputs] = &test;
    header["cases"].push_back({{"mnemonic", test.mnemonic},
                               {"text", test.text},
                               {"sources", describe(test.sources)},
                               {"destinations", describe(test.destinations)},
                               {"version", {test.version.major, test.version.minor}},
                               {"sm", test.sm},
                               {"variant", std::string(test.smVariant ? 1 : 0, test.smVariant)},
                               {"chapter", test.chapter},
                               {"selectors", test.selectors},
                               {"inputs", golden.inputs}});
    if (test.immediate)
      header["cases"].back()["immediate"] = {*test.immediate, test.immediateIndex};
  }
  for (auto [i, test] : enumerate(firstWith)) {
    header["inputs"].push_back(describe(test->sources));
    putColumns(blob, file.inputs[i], test->sources);
  }
  for (const GoldenCase &golden : file.cases)
    putColumns(blob, golden.outputs, golden.test.destinations);
  return write(PackedFile{std::move(header), std::move(blob)}, path);
}

Expected<GoldenFile> read(StringRef path) {
  auto packed = readPacked(path);
  if (!packed)
    return packed.takeError();
  const json &header = packed->header;
  if (header.value("tuples", 0u) != kTupleCount)
    return createStringError(path + " is not a golden file of this version");
  StringRef rest = packed->blob;
  GoldenFile file{header["device"], header["date"], {}, {}};
  for (const json &entry : header["inputs"]) {
    auto rows = takeColumns(rest, operandsOf(entry));
    if (!rows)
      return rows.takeError();
    file.inputs.push_back(std::move(*rows));
  }
  for (const json &entry : header["cases"]) {
    Case test;
    test.mnemonic = entry["mnemonic"];
    test.text = entry["text"];
    test.sources = operandsOf(entry["sources"]);
    test.destinations = operandsOf(entry["destinations"]);
    test.version = {entry["version"][0], entry["version"][1]};
    test.sm = entry["sm"];
    std::string variant = entry["variant"];
    test.smVariant = variant.empty() ? 0 : variant[0];
    test.chapter = entry["chapter"];
    test.selectors = entry["selectors"];
    if (entry.contains("immediate")) {
      test.immediate = entry["immediate"][0].get<int64_t>();
      test.immediateIndex = entry["immediate"][1];
    }
    auto rows = takeColumns(rest, test.destinations);
    if (!rows)
      return rows.takeError();
    file.cases.push_back({std::move(test), entry["inputs"], std::move(*rows)});
  }
  return file;
}

} // namespace rubia::golden
