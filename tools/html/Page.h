// SPDX-License-Identifier: Apache-2.0
// What the pages of `--html` are made of. A page is one file with nothing from elsewhere; it can be
// read and printed without its scripts, and follows the reader's choice of light or dark.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace llvm {
class raw_ostream;
}

namespace rubia::tools {

/// Text within HTML or XML: of any bytes, valid UTF-8.
std::string escaped(llvm::StringRef text);

/// `pageTitle` is text.
void beginPage(llvm::raw_ostream &os, llvm::StringRef pageTitle);

enum class PageScript : uint8_t { Pictures, Launches, Tables, Flames };
void endPage(llvm::raw_ostream &os, llvm::ArrayRef<PageScript> scripts);

/// A picture that the keyboard reaches, and the text of its chosen mark below it.
void beginPicture(llvm::raw_ostream &os, llvm::StringRef title, double width, double height,
                  llvm::StringRef svgClass = "");
void endPicture(llvm::raw_ostream &os);
/// A mark of a picture: where it is among the others, and what it stands for.
struct PageMark {
  uint64_t column, row;
  double x, y, width, height;
  double opacity = 1;
};
void writeMark(llvm::raw_ostream &os, const PageMark &mark, llvm::StringRef text);

/// A table that its heads sort.
struct PageColumn {
  llvm::StringRef name;
  bool isNumber = false;
};
class PageTable {
public:
  /// With an `id`, a field above the table filters its rows.
  PageTable(llvm::raw_ostream &os, llvm::ArrayRef<PageColumn> columns, llvm::StringRef id = "");
  ~PageTable();
  PageTable(const PageTable &) = delete;
  PageTable &operator=(const PageTable &) = delete;

  void beginRow();
  /// A cell of the class, which is a word of page.css.
  void text(llvm::StringRef text, llvm::StringRef cellClass = "");
  void number(uint64_t value);
  /// With digits behind the point.
  void number(double value, unsigned digits);
  /// With a bar behind it, of the percentage.
  void share(double percent);
  void nothing(); // sorted as 0 among numbers

private:
  llvm::raw_ostream &os;
  bool isInRow = false;
};

} // namespace rubia::tools
