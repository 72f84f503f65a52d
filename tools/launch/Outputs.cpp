// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/Outputs.h"
#include "input/File.h"
#include "tools/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::tools {

namespace {
// The buffer that a view is of: the only one with an output, if it does not say.
Expected<size_t> argumentOf(const BufferView &view, ArrayRef<LaunchArgument> arguments) {
  if (view.argument) {
    if (*view.argument < arguments.size() && arguments[*view.argument].isBuffer)
      return *view.argument;
    return createStringError("argument " + Twine(*view.argument + 1) + " is no buffer");
  }
  std::optional<size_t> only;
  unsigned outputs = 0, buffers = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    buffers += arguments[i].isBuffer;
    outputs += !arguments[i].output.empty();
    if (arguments[i].isBuffer && (!only || !arguments[i].output.empty()))
      only = i;
  }
  if (outputs == 1 || (!outputs && buffers == 1))
    return *only;
  return createStringError("which buffer is compared with '" + view.reference +
                           "' is not clear: name it, as in 2=" + view.reference);
}

// Type and shape of a view; the error: neither is known, or the buffer is no whole number of
// elements.
Expected<Shape> shapeOf(const BufferView &view, size_t number, const LaunchArgument &argument) {
  if (argument.shape && (!view.type || *view.type == argument.shape->type))
    return *argument.shape;
  if (!view.type)
    return createStringError("argument " + Twine(number + 1) + " ('" + argument.text +
                             "') has no type: name one, as in --print " + Twine(number + 1) +
                             ":f32, or give it a shape, as in zero:f32[1000]");
  const size_t size = sizeInBytes(*view.type);
  if (argument.bytes.size() % size)
    return createStringError("argument " + Twine(number + 1) + " has " +
                             Twine(argument.bytes.size()) + " bytes, which are no " +
                             nameOf(*view.type));
  return Shape{*view.type, {argument.bytes.size() / size}};
}

Error compareWith(const BufferView &view, size_t number, const LaunchArgument &argument,
                  const Tolerance &tolerance) {
  constexpr uint64_t kMaxBytes = uint64_t(1) << 36; // no device has as much
  auto file = input::readFile(view.reference, kMaxBytes, input::Accept::PipesToo);
  if (!file)
    return file.takeError();
  ArrayRef<uint8_t> expected = arrayRefFromStringRef((*file)->getBuffer());
  std::optional<Shape> shape = argument.shape;
  if (StringRef(view.reference).ends_with(".npy")) {
    Expected<NpyFile> reference = readNpy(expected);
    if (!reference)
      return createStringError(view.reference + ": " + toString(reference.takeError()));
    if (shape && *shape != reference->shape)
      return createStringError("argument " + Twine(number + 1) + " is " + shape->text() + ", " +
                               view.reference + " is " + reference->shape.text());
    shape = reference->shape;
    expected = reference->data;
  }
  if (!shape)
    shape = Shape{ElementType::U8, {argument.bytes.size()}};
  if (expected.size() != argument.bytes.size())
    return createStringError("argument " + Twine(number + 1) + " has " +
                             Twine(argument.bytes.size()) + " bytes, " + view.reference + " has " +
                             Twine(expected.size()));
  const std::string difference = compareElements(*shape, argument.bytes, expected, tolerance);
  if (difference.empty())
    return Error::success();
  return createStringError("argument " + Twine(number + 1) + " differs from " + view.reference +
                           ": " + difference);
}
} // namespace

Expected<std::vector<BufferView>> parseViews(ArrayRef<std::string> prints,
                                             ArrayRef<std::string> compares) {
  std::vector<BufferView> views;
  for (const std::string &text : prints) {
    Expected<BufferView> view = parsePrint(text);
    if (!view)
      return view.takeError();
    views.push_back(std::move(*view));
  }
  for (const std::string &text : compares) {
    Expected<BufferView> view = parseCompare(text);
    if (!view)
      return view.takeError();
    views.push_back(std::move(*view));
  }
  return views;
}

Error writeOutput(const LaunchArgument &argument) {
  if (argument.output.empty())
    return Error::success();
  if (!StringRef(argument.output).ends_with(".npy"))
    return writeFile(argument.output, toStringRef(ArrayRef(argument.bytes)));
  Expected<std::string> file = writeNpy(*argument.shape, argument.bytes);
  if (!file)
    return createStringError(argument.output + ": " + toString(file.takeError()));
  return writeFile(argument.output, *file);
}

Error lookAtBuffers(ArrayRef<BufferView> views, ArrayRef<LaunchArgument> arguments,
                    const Tolerance &tolerance) {
  Error problems = Error::success();
  for (const BufferView &view : views) {
    Expected<size_t> number = argumentOf(view, arguments);
    if (!number) {
      problems = joinErrors(std::move(problems), number.takeError());
      continue;
    }
    const LaunchArgument &argument = arguments[*number];
    if (!view.reference.empty()) {
      problems = joinErrors(std::move(problems), compareWith(view, *number, argument, tolerance));
      continue;
    }
    Expected<Shape> shape = shapeOf(view, *number, argument);
    if (!shape)
      problems = joinErrors(std::move(problems), shape.takeError());
    else
      printElements(outs(), *shape, argument.bytes);
  }
  return problems;
}

} // namespace rubia::tools
