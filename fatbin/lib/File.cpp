// SPDX-License-Identifier: Apache-2.0
// Finds the containers in files of many kinds. Known sections are walked: containers stand back to
// back there, and anything else is a problem. All other data is searched for a container's first
// eight bytes, because NVIDIA's libraries and programs built by other tools keep containers in
// sections of their own. One damaged container never hides the others: it is noted, and the walk
// goes on at the next one.

#include "fatbin/File.h"
#include "fatbin/lib/Layout.h"
#include "fatbin/lib/LinkedModules.h"
#include "input/File.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::fatbin {

char NoImages::ID = 0;
void NoImages::log(raw_ostream &os) const { os << text; }

ImageFile::ImageFile(std::unique_ptr<MemoryBuffer> buffer) : buffer(std::move(buffer)) {}
ImageFile::ImageFile(ImageFile &&) noexcept = default;
ImageFile &ImageFile::operator=(ImageFile &&) noexcept = default;
ImageFile::~ImageFile() = default;

StringRef ImageFile::name() const { return buffer->getBufferIdentifier(); }
ArrayRef<uint8_t> ImageFile::bytes() const { return arrayRefFromStringRef(buffer->getBuffer()); }

static std::string placeOf(StringRef file, StringRef member, StringRef section, uint64_t offset) {
  std::string place = file.str();
  if (!member.empty())
    place += ("(" + member + ")").str();
  if (!section.empty())
    place += (", section " + section).str();
  return place + formatv(", offset {0:x}", offset).str();
}

std::string ImageFile::place(const FileImage &image) const {
  return placeOf(name(), image.member, image.section, image.image.offset);
}

std::string ImageFile::description() const {
  std::vector<Image> all;
  all.reserve(images.size());
  for (const FileImage &image : images)
    all.push_back(image.image);
  return describe(all);
}

namespace {

// A stretch of the file, and what it is called.
struct Region {
  ArrayRef<uint8_t> bytes;
  StringRef member, section;
};

class FileReader {
public:
  FileReader(ImageFile &file) : file(file) {}

  void readAny(const Region &region, unsigned depth);

private:
  static constexpr unsigned kMaxArchiveDepth = 8;

  void readArchive(const Region &region, unsigned depth);
  void readLinked(const object::ObjectFile &object, const Region &region, size_t firstImage);
  void readObject(const Region &region);
  void readSection(const object::SectionRef &section, const Region &object);
  void readCubin(const Region &region);
  void readPtx(const Region &region);

  void walkContainers(const Region &region);
  void searchContainers(const Region &region);
  void searchTexts(const Region &region, uint64_t begin, uint64_t end);
  uint64_t addContainer(const Region &region, uint64_t position);
  void add(Image image, const Region &region, uint64_t container);

  void note(const Region &region, uint64_t position, const Twine &text);
  void note(const Region &region, uint64_t position, Error error);
  uint64_t fileOffset(const Region &region) const {
    return region.bytes.data() - file.bytes().data();
  }

  ImageFile &file;
};

} // namespace

// The first eight bytes of every container: magic number, version 1, header size 16.
static constexpr StringLiteral kContainerStart =
    StringLiteral::withInnerNUL("\x50\xed\x55\xba\x01\x00\x10\x00");

void FileReader::note(const Region &region, uint64_t position, const Twine &text) {
  file.problems.push_back(
      (placeOf(file.name(), region.member, region.section, fileOffset(region) + position) + ": " +
       text)
          .str());
}

// An ImageError's offset counts from `position`.
void FileReader::note(const Region &region, uint64_t position, Error error) {
  handleAllErrors(
      std::move(error), [&](const ImageError &e) { note(region, position + e.offset, e.text); },
      [&](const ErrorInfoBase &e) { note(region, position, e.message()); });
}

void FileReader::add(Image image, const Region &region, uint64_t container) {
  file.images.push_back({image, region.member.str(), region.section.str(), container});
}

// Where the next container begins, at `position` or behind it; the region's size if there is none.
static uint64_t nextContainer(const Region &region, uint64_t position) {
  return std::min(asText(region.bytes).find(kContainerStart, position), region.bytes.size());
}

// Adds the images of the container at `position` and returns the position behind it, or of the
// next one where its size is not to be trusted.
uint64_t FileReader::addContainer(const Region &region, uint64_t position) {
  ArrayRef<uint8_t> rest = region.bytes.drop_front(position);
  Expected<uint64_t> size = containerSize(rest);
  if (!size) {
    note(region, position, size.takeError());
    return nextContainer(region, position + kContainerStart.size());
  }
  ++file.containers;
  Expected<std::vector<Image>> images = readContainer(rest);
  if (!images) {
    note(region, position, images.takeError());
    return position + *size;
  }
  uint64_t start = fileOffset(region) + position;
  for (Image &image : *images) {
    image.offset += start;
    add(image, region, start);
  }
  return position + *size;
}

void FileReader::walkContainers(const Region &region) {
  StringRef text = asText(region.bytes);
  size_t position = 0;
  while ((position = text.find_first_not_of('\0', position)) != StringRef::npos) {
    if (startsWithContainer(region.bytes.drop_front(position))) {
      position = addContainer(region, position);
      continue;
    }
    note(region, position, "container expected");
    position = nextContainer(region, position);
  }
}

// Programs that read containers have their first bytes among their constants. Those lead to no
// entry, and to a size that no container of this place has. One of the two alone is damage.
static bool isContainer(ArrayRef<uint8_t> bytes) {
  if (bytes.size() < container::kMinHeaderSize)
    return false;
  const auto size = readAt<uint64_t>(bytes, container::kSize);
  const ArrayRef<uint8_t> behind = bytes.drop_front(container::kMinHeaderSize);
  return (size % entry::kAlignment == 0 && size <= behind.size()) ||
         (behind.size() >= entry::kHeaderSize &&
          readAt<uint16_t>(behind, entry::kVersion) == entry::kKnownVersion);
}

static uint64_t findContainer(const Region &region, uint64_t position) {
  position = nextContainer(region, position);
  while (position < region.bytes.size() && !isContainer(region.bytes.drop_front(position)))
    position = nextContainer(region, position + kContainerStart.size());
  return position;
}

void FileReader::searchContainers(const Region &region) {
  uint64_t behind = 0, position = findContainer(region, 0);
  while (position < region.bytes.size()) {
    searchTexts(region, behind, position);
    behind = addContainer(region, position);
    position = findContainer(region, behind);
  }
  searchTexts(region, behind, position);
}

static bool isText(char c) { return (c >= ' ' && c <= '~') || StringRef("\t\n\v\f\r").contains(c); }

// PTX that a program carries as a string: from the `.version` behind blanks and comments to the
// NUL. Of a string without one, as Rust has them, up to the last brace.
void FileReader::searchTexts(const Region &region, uint64_t begin, uint64_t end) {
  StringRef all = asText(region.bytes).take_front(end);
  for (size_t word = all.find(".version", begin); word != StringRef::npos;
       word = all.find(".version", word + 1)) {
    size_t start = word, stop = word;
    while (start > begin && isText(all[start - 1]))
      --start;
    while (stop < all.size() && isText(all[stop]))
      ++stop;
    StringRef text = all.slice(start, stop);
    if (stop == all.size() || all[stop])
      text = text.take_front(text.rfind('}') + 1);
    // A compiler has the beginnings of PTX inside; no program without a kernel has anything to
    // load.
    if (!startsWithPtx(arrayRefFromStringRef(text)) || !text.contains(".entry"))
      continue;
    readPtx({arrayRefFromStringRef(text), region.member, region.section});
    word = stop - 1;
  }
}

void FileReader::readCubin(const Region &region) {
  Expected<uint64_t> size = cubinSize(region.bytes.data(), region.bytes.size());
  if (!size)
    return note(region, 0, size.takeError());
  Image image = describeCubin(region.bytes.take_front(*size));
  image.offset = fileOffset(region);
  add(image, region, image.offset);
}

void FileReader::readPtx(const Region &region) {
  Image image = describePtxText(region.bytes);
  image.offset = fileOffset(region);
  add(image, region, image.offset);
}

// nvcc's sections; in PE files names end after eight characters.
static bool holdsContainers(StringRef section) {
  return StringSwitch<bool>(section)
      .Cases({".nv_fatbin", ".nv_fatb", "__nv_relfatbin", "__nv_rel"}, true)
      .Default(false);
}

void FileReader::readSection(const object::SectionRef &section, const Region &object) {
  if (section.isVirtual() || section.isText() || section.isDebugSection())
    return;
  Expected<StringRef> name = section.getName();
  if (!name)
    return note(object, 0, name.takeError());
  Expected<StringRef> contents = section.getContents();
  if (!contents)
    return note({object.bytes, object.member, *name}, 0, contents.takeError());
  Region region{arrayRefFromStringRef(*contents), object.member, *name};
  if (region.bytes.empty())
    return;
  if (holdsContainers(*name))
    walkContainers(region);
  else
    searchContainers(region);
}

// Two zero bytes are all that LLVM asks of COFF for an unknown machine. Many files of data begin
// so.
static bool isOfUnknownMachine(const Region &region) {
  return asText(region.bytes).starts_with(StringRef("\0\0", 2));
}

void FileReader::readObject(const Region &region) {
  if (region.bytes.size() >= elf::kHeaderSize &&
      asText(region.bytes)
          .starts_with("\x7f"
                       "ELF") &&
      readAt<uint16_t>(region.bytes, elf::kMachine) == elf::kMachineCuda)
    return readCubin(region);
  Expected<std::unique_ptr<object::ObjectFile>> object =
      object::ObjectFile::createObjectFile({asText(region.bytes), file.name()});
  if (!object && isOfUnknownMachine(region)) {
    consumeError(object.takeError());
    return searchContainers(region);
  }
  if (!object)
    return note(region, 0, object.takeError());
  // Section headers may be stripped off a program; the containers are still in its segments.
  if ((*object)->section_begin() == (*object)->section_end())
    return searchContainers(region);
  const size_t firstImage = file.images.size();
  for (const object::SectionRef &section : (*object)->sections())
    readSection(section, region);
  readLinked(**object, region, firstImage);
}

void FileReader::readLinked(const object::ObjectFile &object, const Region &region,
                            size_t firstImage) {
  const auto *elf = dyn_cast<object::ELF64LEObjectFile>(&object);
  if (!elf)
    return;
  auto module = readLinkedModule(elf->getELFFile(), fileOffset(region),
                                 ArrayRef(file.images).drop_front(firstImage));
  if (!module)
    return note(region, 0, module.takeError());
  if (*module)
    file.linkedModules.push_back(std::move(**module));
}

// LLVM 22 does not compare the size of an archive's last member with the archive.
static bool isInside(const Region &outer, StringRef inner) {
  uint64_t start =
      reinterpret_cast<uintptr_t>(inner.data()) - reinterpret_cast<uintptr_t>(outer.bytes.data());
  return inner.empty() || fits(start, inner.size(), outer.bytes.size());
}

// Members are at even offsets only, so a container in an archive is not aligned in the file.
void FileReader::readArchive(const Region &region, unsigned depth) {
  if (depth == kMaxArchiveDepth)
    return note(region, 0, "archives are nested more than " + Twine(kMaxArchiveDepth) + " deep");
  Expected<std::unique_ptr<object::Archive>> archive =
      object::Archive::create({asText(region.bytes), file.name()});
  if (!archive)
    return note(region, 0, archive.takeError());
  if ((*archive)->isThin())
    return note(region, 0, "unsupported: a thin archive holds only the names of its members");
  Error error = Error::success();
  for (const object::Archive::Child &child : (*archive)->children(error)) {
    Expected<StringRef> name = child.getName();
    Expected<StringRef> contents = child.getBuffer();
    if (!name || !contents) {
      note(region, child.getChildOffset(), joinErrors(name.takeError(), contents.takeError()));
      continue;
    }
    if (!isInside(region, *contents)) {
      note(region, child.getChildOffset(), "member " + *name + " reaches beyond its archive");
      break;
    }
    std::string member = region.member.empty() ? name->str() : (region.member + "/" + *name).str();
    readAny({arrayRefFromStringRef(*contents), member, ""}, depth + 1);
  }
  if (error)
    note(region, 0, std::move(error));
}

void FileReader::readAny(const Region &region, unsigned depth) {
  if (startsWithContainer(region.bytes))
    return walkContainers(region);
  StringRef name = region.member.empty() ? file.name() : region.member;
  switch (identify_magic(asText(region.bytes))) {
  case file_magic::archive:
    return readArchive(region, depth);
  case file_magic::elf:
  case file_magic::elf_relocatable:
  case file_magic::elf_executable:
  case file_magic::elf_shared_object:
  case file_magic::elf_core:
  case file_magic::coff_object:
  case file_magic::pecoff_executable:
    return readObject(region);
  default:
    if (startsWithPtx(region.bytes) || name.ends_with(".ptx"))
      return readPtx(region);
    return searchContainers(region);
  }
}

Expected<ImageFile> readBuffer(std::unique_ptr<MemoryBuffer> buffer) {
  ImageFile file(std::move(buffer));
  FileReader(file).readAny({file.bytes(), "", ""}, 0);
  if (!file.images.empty())
    return std::move(file);
  if (!file.problems.empty())
    return make_error<NoImages>(join(file.problems, "\n"));
  if (file.containers)
    return make_error<NoImages>(
        (file.name() + ": no CUDA code: its fatbin containers are empty").str());
  return make_error<NoImages>(
      (file.name() + ": no CUDA code: no fatbin, cubin or PTX in it").str());
}

static bool isPtx(StringRef path, StringRef start) {
  return path.ends_with(".ptx") || startsWithPtx(arrayRefFromStringRef(start));
}

static Error tooLarge(StringRef path, const char *what, uint64_t size, uint64_t most) {
  return createFileError(path,
                         createStringError(std::make_error_code(std::errc::file_too_large),
                                           "%s of %llu bytes, more than the limit of %llu", what,
                                           (unsigned long long)size, (unsigned long long)most));
}

Expected<std::unique_ptr<MemoryBuffer>> openFile(StringRef path) {
  Expected<input::File> file = input::File::open(path, input::Accept::PipesToo);
  if (!file)
    return file.takeError();
  if (file->isPipe())
    return file->readAll(kMaxPayloadBytes);
  if (file->size() > kMaxFileBytes)
    return tooLarge(path, "a file", file->size(), kMaxFileBytes);
  if (file->size() > kMaxPayloadBytes) {
    constexpr uint64_t kStart = 4096;
    auto start = file->read(0, kStart, kStart);
    if (!start)
      return start.takeError();
    if (isPtx(path, (*start)->getBuffer()))
      return tooLarge(path, "PTX text", file->size(), kMaxPayloadBytes);
  }
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createFileError(path, buffer.getError());
  return std::move(*buffer);
}

Expected<ImageFile> readFile(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = openFile(path);
  if (!buffer)
    return buffer.takeError();
  return readBuffer(std::move(*buffer));
}

} // namespace rubia::fatbin
