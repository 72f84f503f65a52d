#include "tools/lib/Sources.h"
#include "fatbin/Container.h"
#include <cstdlib>

using namespace llvm;

namespace rubia::tools {

Expected<unsigned> computeCapability() {
  const char *variable = getenv("RUBIA_COMPUTE_CAPABILITY");
  if (!variable || !*variable)
    return 89;
  auto [major, minor] = StringRef(variable).split('.');
  unsigned majorNumber = 0, minorNumber = 0, value = 0;
  if (minor.empty()
          ? !StringRef(variable).getAsInteger(10, value) && value >= 20 && value < 1000
          : !major.getAsInteger(10, majorNumber) && !minor.getAsInteger(10, minorNumber) &&
                minorNumber < 10 && majorNumber >= 2 && majorNumber < 100)
    return minor.empty() ? value : majorNumber * 10 + minorNumber;
  return createStringError(inconvertibleErrorCode(), "RUBIA_COMPUTE_CAPABILITY is '" +
                                                         Twine(variable) +
                                                         "', expected a number such as 8.9");
}

Expected<SourceFile> openSources(const std::string &path) {
  return sourcesOf(fatbin::readFile(path));
}

Expected<SourceFile> sourcesOf(Expected<fatbin::ImageFile> file) {
  if (!file)
    return file.takeError();
  SourceFile result{std::move(*file), {}};
  const fatbin::FileImage *previous = nullptr;
  for (const fatbin::FileImage &image : result.file.images) {
    bool sameContainer =
        previous && previous->container == image.container && previous->member == image.member;
    if (!sameContainer) {
      Source &source = result.sources.emplace_back();
      source.place = result.file.place(image);
      source.bytes = result.file.bytes().drop_front(image.container);
      if (fatbin::startsWithContainer(source.bytes)) {
        Expected<uint64_t> size = fatbin::containerSize(source.bytes);
        if (!size)
          return size.takeError();
        source.bytes = source.bytes.take_front(*size);
      } else {
        source.bytes = image.image.stored;
      }
    }
    result.sources.back().images.push_back(&image);
    previous = &image;
  }
  return result;
}

Expected<runtime::PtxImage> parse(const Source &source, unsigned computeCapability) {
  std::vector<fatbin::Image> images;
  for (const fatbin::FileImage *image : source.images)
    images.push_back(image->image);
  const fatbin::Image *chosen = fatbin::selectPtx(images, computeCapability);
  if (!chosen)
    return createStringError(inconvertibleErrorCode(),
                             source.place + ": " + fatbin::describe(images));
  Expected<std::string> text = fatbin::payload(*chosen);
  if (!text)
    return text.takeError();
  return runtime::PtxImage::fromText(source.place, std::move(*text));
}

} // namespace rubia::tools
