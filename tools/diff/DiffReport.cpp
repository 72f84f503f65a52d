// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/DiffReport.h"
#include "tools/diff/ReplayTargets.h"
#include "tools/html/Page.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace llvm;

namespace rubia::tools {

using capsule::BufferResult;
using capsule::Launch;
using capsule::LaunchResult;
using capsule::Verdict;

Verdict DiffReport::verdict() const {
  Verdict worst = Verdict::Equal;
  for (const Target &target : targets)
    for (const LaunchResult &launch : target.launches)
      worst = std::max(worst, launch.verdict);
  return worst;
}

static std::string nameOf(ptx::Type type, unsigned bytes) {
  switch (type) {
  case ptx::Type::F16:
    return "f16";
  case ptx::Type::BF16:
    return "bf16";
  case ptx::Type::F32:
    return "f32";
  case ptx::Type::F64:
    return "f64";
  case ptx::Type::E4M3:
    return "e4m3";
  case ptx::Type::E5M2:
    return "e5m2";
  default:
    return "b" + std::to_string(bytes * 8);
  }
}

static std::string placeOf(const Launch &launch, const BufferResult &buffer) {
  if (buffer.region >= launch.memory.size())
    return "array " + std::to_string(buffer.region - launch.memory.size());
  const capsule::Region &region = launch.memory[buffer.region];
  std::string text = region.name.empty() ? "allocation " + std::to_string(buffer.region)
                                         : "variable '" + region.name + "'";
  if (buffer.parameter >= 0)
    text += " (parameter " + std::to_string(buffer.parameter) + ")";
  return text;
}

static std::string textOf(const BufferResult::Moved &moved) {
  const char *runs = moved.areRecordings ? "other recordings differ" : "perturbed runs changed";
  if (moved.beyond)
    return formatv("{0} far beyond what {1} {2}", moved.beyond, moved.runs, runs);
  return formatv("at most {0:F2} times what {1} {2}", moved.ratio, moved.runs, runs);
}

std::string textOf(const Launch &launch, const BufferResult &buffer) {
  std::string text;
  raw_string_ostream os(text);
  const bool isFloat = buffer.type != ptx::Type::None;
  os << placeOf(launch, buffer) << ": " << buffer.differing << " of " << buffer.elements << " "
     << nameOf(buffer.type, buffer.elementBytes) << " elements differ";
  if (buffer.first) {
    os << "; element " << buffer.first->index << ": expected "
       << capsule::textOf(buffer.type, buffer.elementBytes, buffer.first->expected) << ", got "
       << capsule::textOf(buffer.type, buffer.elementBytes, buffer.first->got);
    if (isFloat && buffer.maxUlps != UINT64_MAX)
      os << "; at most " << buffer.maxUlps << " ulp, " << formatv("{0:e2}", buffer.maxRelative)
         << " relative";
  }
  if (buffer.moved)
    os << "; " << textOf(*buffer.moved);
  if (buffer.nans)
    os << "; " << buffer.nans << " NaNs have other bits";
  return text;
}

std::string textOf(const capsule::Writer &writer) {
  const capsule::StoreSite &site = writer.site;
  return formatv(
      "thread ({0},{1},{2}) of CTA ({3},{4},{5}) wrote it at line {6} of the PTX{7}: {8}{9}",
      writer.thread[0], writer.thread[1], writer.thread[2], writer.cta[0], writer.cta[1],
      writer.cta[2], site.line, site.source.empty() ? "" : " (" + site.source + ")", site.text,
      writer.stores > 1 ? formatv(" (the last of {0} stores)", writer.stores).str()
                        : std::string());
}

std::string textOf(const Launch::Moved &moved) {
  if (!moved.words)
    return "";
  std::string regions;
  for (uint64_t region : moved.regions)
    regions += (regions.empty() ? "" : ", ") + std::to_string(region);
  return formatv("allocations {0} lie at other addresses than recorded; {1} words of memory that "
                 "look like addresses in them were changed, the first at byte {2} of allocation "
                 "{3}",
                 regions, moved.words, moved.offset, moved.region);
}

std::string textOf(const Launch::Fusion &fusion) {
  if (!fusion.sums)
    return "";
  if (!fusion.runs)
    return formatv("of {0} sums that PTX lets a compiler fuse with products the reference fuses "
                   "none: to look for those takes too long",
                   fusion.sums);
  return formatv("the reference fuses {0} of {1} sums with products, as PTX permits, to be nearest "
                 "to what is recorded",
                 fusion.fused, fusion.sums);
}

std::string titleOf(const Launch &launch) {
  return "launch " + std::to_string(launch.ordinal) + " " + launch.kernel;
}

void DiffReport::writeText(raw_ostream &os, bool all) const {
  for (const Target &target : targets) {
    size_t counts[unsigned(Verdict::Failed) + 1] = {};
    for (const LaunchResult &result : target.launches) {
      ++counts[unsigned(result.verdict)];
      if (result.verdict == Verdict::Equal && !all)
        continue;
      os << target.name << ": " << titleOf(*result.launch) << ": " << nameOf(result.verdict);
      if (!result.reason.empty())
        os << ": " << result.reason;
      os << "\n";
      for (const BufferResult &buffer : result.buffers)
        if (buffer.differing || buffer.nans) {
          os << "  " << nameOf(buffer.verdict) << ": " << textOf(*result.launch, buffer) << "\n";
          if (buffer.writer)
            os << "    " << textOf(*buffer.writer) << "\n";
        }
      for (const std::string &line : result.explanation)
        os << "  " << line << "\n";
      for (const std::string &text : {textOf(result.moved), textOf(result.fusion)})
        if (!text.empty())
          os << "  " << text << "\n";
    }
    os << target.name << ": " << target.launches.size() << " launches";
    for (unsigned i = 0; i < std::size(counts); ++i)
      if (counts[i])
        os << ", " << counts[i] << " " << nameOf(Verdict(i));
    os << "\n";
  }
}

static json::Value jsonOf(const Launch &launch, const BufferResult &buffer) {
  const capsule::Region &region = *launch.regions()[buffer.region];
  json::Object out{{"allocation", int64_t(buffer.region)},
                   {"address", "0x" + utohexstr(region.address, true)},
                   {"bytes", region.bytes},
                   {"verdict", nameOf(buffer.verdict)},
                   {"type", nameOf(buffer.type, buffer.elementBytes)},
                   {"elements", buffer.elements},
                   {"differing", buffer.differing},
                   {"nans", buffer.nans}};
  if (!region.name.empty())
    out["variable"] = region.name;
  if (buffer.parameter >= 0)
    out["parameter"] = buffer.parameter;
  if (buffer.first)
    out["first"] = json::Object{
        {"element", buffer.first->index},
        {"expected", "0x" + utohexstr(buffer.first->expected, true, buffer.elementBytes * 2)},
        {"got", "0x" + utohexstr(buffer.first->got, true, buffer.elementBytes * 2)}};
  if (buffer.moved) {
    json::Object moved{{"runs", buffer.moved->runs}, {"beyond", buffer.moved->beyond}};
    if (std::isfinite(buffer.moved->ratio))
      moved["ratio"] = buffer.moved->ratio;
    out[buffer.moved->areRecordings ? "recordings" : "perturbed"] = std::move(moved);
  }
  if (buffer.writer)
    out["writer"] = toJson(*buffer.writer);
  if (buffer.differing && buffer.type != ptx::Type::None) {
    if (buffer.maxUlps != UINT64_MAX)
      out["max_ulps"] = buffer.maxUlps;
    if (std::isfinite(buffer.maxRelative))
      out["max_relative"] = buffer.maxRelative;
    json::Array bins;
    for (uint64_t count : buffer.histogram)
      bins.push_back(count);
    out["histogram"] = std::move(bins);
  }
  return out;
}

static json::Value jsonOf(const Launch::Moved &moved) {
  json::Array allocations;
  for (uint64_t region : moved.regions)
    allocations.push_back(region);
  json::Object out{{"allocations", std::move(allocations)}, {"words", moved.words}};
  if (moved.words)
    out["first_word"] = json::Object{{"allocation", moved.region}, {"byte", moved.offset}};
  return out;
}

void DiffReport::writeJson(raw_ostream &os) const {
  json::Array all;
  for (const Target &target : targets) {
    json::Array launches;
    for (const LaunchResult &result : target.launches) {
      json::Array buffers;
      for (const BufferResult &buffer : result.buffers)
        buffers.push_back(jsonOf(*result.launch, buffer));
      json::Object launch{{"ordinal", result.launch->ordinal},
                          {"kernel", json::fixUTF8(result.launch->kernel)},
                          {"verdict", nameOf(result.verdict)},
                          {"buffers", std::move(buffers)}};
      if (!result.reason.empty())
        launch["reason"] = json::fixUTF8(result.reason);
      if (!result.explanation.empty()) {
        json::Array lines;
        for (const std::string &line : result.explanation)
          lines.push_back(json::fixUTF8(line));
        launch["explanation"] = std::move(lines);
      }
      if (result.wrong)
        launch["wrong"] = capsule::nameOf(*result.wrong);
      if (result.instruction)
        launch["instruction"] = toJson(*result.instruction);
      if (result.fusion.sums)
        launch["fusion"] = json::Object{{"sums", result.fusion.sums},
                                        {"fused", result.fusion.fused},
                                        {"runs", result.fusion.runs}};
      if (!result.moved.regions.empty())
        launch["moved"] = jsonOf(result.moved);
      launches.push_back(std::move(launch));
    }
    all.push_back(json::Object{{"target", target.name}, {"launches", std::move(launches)}});
  }
  json::Object document{{"version", 1},
                        {"capsule", json::fixUTF8(capsule)},
                        {"recorded_on", json::fixUTF8(recordedOn)},
                        {"verdict", nameOf(verdict())},
                        {"targets", std::move(all)}};
  os << formatv("{0:2}", json::Value(std::move(document))) << "\n";
}

void DiffReport::writeJUnit(raw_ostream &os) const {
  os << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const Target &target : targets) {
    const auto isFailure = [](const LaunchResult &result) {
      return result.verdict >= Verdict::Different;
    };
    const auto isSkipped = [&](const LaunchResult &result) {
      return !isFailure(result) && result.verdict >= Verdict::Undecided;
    };
    os << "  <testsuite name=\"rubia diff " << escaped(target.name) << "\" tests=\""
       << target.launches.size() << "\" failures=\"" << count_if(target.launches, isFailure)
       << "\" skipped=\"" << count_if(target.launches, isSkipped) << "\">\n";
    for (const LaunchResult &result : target.launches) {
      std::string text = result.reason;
      for (const BufferResult &buffer : result.buffers)
        if (buffer.differing)
          text += (text.empty() ? "" : "\n") + textOf(*result.launch, buffer) +
                  (buffer.writer ? "\n" + textOf(*buffer.writer) : "");
      os << "    <testcase classname=\"" << escaped(result.launch->kernel) << "\" name=\"launch "
         << result.launch->ordinal << "\">";
      if (isFailure(result) || isSkipped(result))
        os << "<" << (isFailure(result) ? "failure" : "skipped") << " message=\""
           << escaped(nameOf(result.verdict)) << "\">" << escaped(text) << "</"
           << (isFailure(result) ? "failure" : "skipped") << ">";
      os << "</testcase>\n";
    }
    os << "  </testsuite>\n";
  }
  os << "</testsuites>\n";
}

} // namespace rubia::tools
