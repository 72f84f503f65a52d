// SPDX-License-Identifier: Apache-2.0
// The words of PTX, and the texts of PTX in an image. No more is understood of the language here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubia::forward {

bool isNameCharacter(char c);
/// Past a comment, a text in quotes or one character.
const char *skip(const char *at, const char *end);
/// Whether a word of `size` characters is `expected`.
bool isWord(const char *word, size_t size, const char *expected);

/// The next word at `at` or behind it, comments and quotes left out; moves `at` behind it. Null:
/// there is none.
const char *nextWord(const char *&at, const char *end, size_t &size);

/// A text of PTX; null: it cannot be read.
using TakeText = void (*)(void *context, const char *text, size_t size);
/// Of an image of `size` bytes: PTX text, or each text in a container, decompressed.
void readTexts(const uint8_t *image, size_t size, TakeText take, void *context);

} // namespace rubia::forward
