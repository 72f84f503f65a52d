// SPDX-License-Identifier: Apache-2.0
// A declaration at the top level of PTX, `.global` or `.const` with attributes and a type, then the
// name. No more is understood of the text: the driver is asked about each name, and one that is not
// a variable's is no harm.
#include "diff/forward/VariableNames.h"
#include "diff/forward/PtxWords.h"
#include <cstring>

namespace rubia::forward {
namespace {

void readText(const char *text, size_t size, TakeName take, void *context) {
  const char *end = text + size;
  int braces = 0, parentheses = 0;
  bool inDeclaration = false, isExtern = false;
  for (const char *at = text; at < end;) {
    if (!isNameCharacter(*at)) {
      braces += (*at == '{') - (*at == '}');
      parentheses += (*at == '(') - (*at == ')');
      if (*at == ';' || *at == '{')
        inDeclaration = isExtern = false;
      at = skip(at, end);
      continue;
    }
    const char *word = at;
    while (at < end && isNameCharacter(*at))
      ++at;
    const size_t length = size_t(at - word);
    if (braces || parentheses)
      continue;
    if (isWord(word, length, ".extern"))
      isExtern = true;
    else if (isWord(word, length, ".global") || isWord(word, length, ".const"))
      inDeclaration = !isExtern;
    else if (inDeclaration && *word != '.' && (*word < '0' || *word > '9')) {
      char name[1024];
      if (length < sizeof(name)) {
        memcpy(name, word, length);
        name[length] = 0;
        take(context, name);
      }
      inDeclaration = false;
    }
  }
}

bool hasTextureInstruction(const char *text, size_t size) {
  constexpr const char *kBegins[] = {"tex.", "tld4.", "txq.", "suld.", "sust.", "sured.", "suq."};
  const char *end = text + size;
  size_t length = 0;
  for (const char *at = text; const char *word = nextWord(at, end, length);)
    for (const char *begin : kBegins)
      if (length > strlen(begin) && !memcmp(word, begin, strlen(begin)))
        return true;
  return false;
}

} // namespace

void readVariableNames(const uint8_t *image, size_t size, TakeName take, void *context) {
  struct Names {
    TakeName take;
    void *context;
  } names{take, context};
  readTexts(
      image, size,
      [](void *taken, const char *text, size_t bytes) {
        const auto *to = static_cast<Names *>(taken);
        if (text)
          readText(text, bytes, to->take, to->context);
      },
      &names);
}

bool mayNameTextures(const uint8_t *image, size_t size) {
  bool may = false;
  readTexts(
      image, size,
      [](void *found, const char *text, size_t bytes) {
        *static_cast<bool *>(found) |= !text || hasTextureInstruction(text, bytes);
      },
      &may);
  return may;
}

} // namespace rubia::forward
