// SPDX-License-Identifier: Apache-2.0
#include "tools/Sources.h"
#include "fatbin/Container.h"
#include "runtime/device/ClosedLibraries.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting computeCapability;
} // namespace rubia::settings::Id

namespace rubia::tools {

Expected<unsigned> computeCapability() {
  const settings::Settings settings;
  if (Error error = settings.check(settings::Id::computeCapability))
    return std::move(error);
  return settings.number(settings::Id::computeCapability);
}

Expected<SourceFile> openSources(const std::string &path) {
  return sourcesOf(fatbin::readFile(path));
}

bool Source::hasPtx() const {
  return any_of(images,
                [](const fatbin::FileImage *i) { return i->image.kind == fatbin::ImageKind::Ptx; });
}

static std::vector<fatbin::Image> plainImages(const Source &source) {
  std::vector<fatbin::Image> images;
  images.reserve(source.images.size());
  for (const fatbin::FileImage *image : source.images)
    images.push_back(image->image);
  return images;
}

std::string Source::whyNoPtx() const {
  return refused.empty() ? fatbin::describe(plainImages(*this)) : refused;
}

static bool mayHoldKernels(const fatbin::Image &image) {
  if (image.kind != fatbin::ImageKind::Cubin)
    return true;
  Expected<std::string> bytes = fatbin::payload(image);
  if (!bytes)
    return consumeError(bytes.takeError()), true;
  Expected<size_t> kernels = fatbin::kernelCount(arrayRefFromStringRef(*bytes));
  if (!kernels)
    return consumeError(kernels.takeError()), true;
  return *kernels;
}

bool Source::hasKernels() const {
  auto may = [](const fatbin::FileImage *i) { return mayHoldKernels(i->image); };
  return any_of(images, may) || any_of(others, may);
}

unsigned capabilityOf(const SourceFile &file, StringRef name, unsigned forPrograms) {
  const bool isShared = file.file.bytes().size() > 4 && file.file.bytes().front() == 0x7f;
  return isShared ? runtime::capabilityForLibrary(name).value_or(forPrograms) : forPrograms;
}

// Where PTX text is the file, or the member of an archive, its place needs no offset.
static std::string placeOf(const fatbin::ImageFile &file, const fatbin::FileImage &image) {
  if (image.image.kind != fatbin::ImageKind::Ptx || !image.section.empty())
    return file.place(image);
  return (file.name() + (image.member.empty() ? "" : "(" + image.member + ")")).str();
}

// One source for each container, and for each image that has none.
static Expected<std::vector<Source>> singleSources(const fatbin::ImageFile &file) {
  std::vector<Source> sources;
  const fatbin::FileImage *previous = nullptr;
  for (const fatbin::FileImage &image : file.images) {
    bool sameContainer =
        previous && previous->container == image.container && previous->member == image.member;
    if (!sameContainer) {
      Source &source = sources.emplace_back();
      source.bytes = file.bytes().drop_front(image.container);
      if (fatbin::startsWithContainer(source.bytes)) {
        source.place = file.place(image);
        Expected<uint64_t> size = fatbin::containerSize(source.bytes);
        if (!size)
          return size.takeError();
        source.bytes = source.bytes.take_front(*size);
      } else {
        source.place = placeOf(file, image);
        source.bytes = image.image.stored;
      }
    }
    sources.back().images.push_back(&image);
    previous = &image;
  }
  return sources;
}

// The containers of a module of relocatable device code become one source, in the place of the
// first.
static void join(std::vector<Source> &sources, const fatbin::ImageFile &file,
                 const fatbin::LinkedModule &module) {
  auto take = [&](uint64_t container) -> std::optional<Source> {
    auto found = find_if(sources, [&](const Source &s) {
      return s.images.front()->container == container && s.images.front()->member == module.member;
    });
    if (found == sources.end())
      return std::nullopt;
    Source source = std::move(*found);
    sources.erase(found);
    return source;
  };
  std::vector<Source> parts;
  std::vector<fatbin::RawImage> raw;
  auto add = [&](uint64_t container, bool relocatable) {
    if (std::optional<Source> part = take(container)) {
      raw.push_back({fatbin::RawImage::Kind::Container, relocatable, part->bytes});
      parts.push_back(std::move(*part));
    }
  };
  if (module.linked)
    add(*module.linked, false);
  for (uint64_t unit : module.units)
    add(unit, true);
  if (parts.empty())
    return;
  fatbin::ModuleChoice choice = fatbin::chooseModule(raw);
  Source joined;
  joined.place = (file.name() + (module.member.empty() ? "" : "(" + module.member + ")")).str();
  for (Source &part : parts) {
    const bool isLinked = choice.kind == fatbin::ModuleChoice::Kind::Linked && part.hasPtx();
    const bool isChosen = isLinked || (choice.kind == fatbin::ModuleChoice::Kind::Chosen &&
                                       part.bytes.data() == choice.bytes.data());
    if (isChosen && !isLinked) {
      joined.place = part.place;
      joined.bytes = part.bytes;
    }
    llvm::append_range(isChosen ? joined.images : joined.others, part.images);
  }
  if (choice.kind == fatbin::ModuleChoice::Kind::Linked) {
    joined.bundle = std::make_shared<const std::vector<uint8_t>>(std::move(choice.bundle));
    joined.bytes = *joined.bundle;
  } else if (choice.kind != fatbin::ModuleChoice::Kind::Chosen)
    joined.refused = std::move(choice.text);
  sources.push_back(std::move(joined));
}

Expected<SourceFile> sourcesOf(Expected<fatbin::ImageFile> file) {
  if (!file)
    return file.takeError();
  SourceFile result{std::move(*file), {}};
  Expected<std::vector<Source>> sources = singleSources(result.file);
  if (!sources)
    return sources.takeError();
  result.sources = std::move(*sources);
  for (const fatbin::LinkedModule &module : result.file.linkedModules)
    join(result.sources, result.file, module);
  return result;
}

Expected<runtime::PtxImage> parse(const Source &source, unsigned computeCapability) {
  if (!source.hasPtx())
    return createStringError(inconvertibleErrorCode(), source.place + ": " + source.whyNoPtx());
  Expected<runtime::PtxImage::Text> found =
      runtime::PtxImage::textOf(source.bytes, computeCapability);
  if (!found)
    return found.takeError();
  found->name = source.place;
  return runtime::PtxImage::fromText(std::move(*found));
}

} // namespace rubia::tools
