// SPDX-License-Identifier: Apache-2.0
// Growing arrays and text. The forwarding library depends on the C library alone, so that one file
// goes to any machine: there is no C++ library behind it.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rubia::forward {

/// Elements without constructors. Memory that cannot be had ends the process, as there is no state
/// to go on from.
template <class T> class Array {
public:
  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  Array(Array &&other) noexcept : data(other.data), count(other.count), capacity(other.capacity) {
    other.data = nullptr;
    other.count = other.capacity = 0;
  }
  ~Array() { free(data); }

  size_t size() const { return count; }
  bool empty() const { return !count; }
  T *begin() { return data; }
  T *end() { return data + count; }
  const T *begin() const { return data; }
  const T *end() const { return data + count; }
  T &operator[](size_t i) { return data[i]; }
  const T &operator[](size_t i) const { return data[i]; }
  void clear() { count = 0; }

  void resize(size_t wanted) {
    reserve(wanted);
    if (wanted > count)
      memset(static_cast<void *>(data + count), 0, (wanted - count) * sizeof(T));
    count = wanted;
  }
  void append(const T *values, size_t number) {
    if (!number)
      return;
    reserve(count + number);
    memcpy(static_cast<void *>(data + count), values, number * sizeof(T));
    count += number;
  }
  T &push(const T &value) {
    const T copy = value; // may be an element of this array
    append(&copy, 1);
    return data[count - 1];
  }
  void insert(size_t at, const T &value) {
    push(value);
    memmove(static_cast<void *>(data + at + 1), data + at, (count - at - 1) * sizeof(T));
    data[at] = value;
  }
  void remove(size_t at) {
    memmove(static_cast<void *>(data + at), data + at + 1, (count - at - 1) * sizeof(T));
    --count;
  }

private:
  void reserve(size_t wanted) {
    if (wanted <= capacity)
      return;
    capacity = wanted > 2 * capacity ? wanted : 2 * capacity;
    data = static_cast<T *>(realloc(static_cast<void *>(data), capacity * sizeof(T)));
    if (!data) {
      fputs("rubia capture: out of memory\n", stderr);
      abort();
    }
  }

  T *data = nullptr;
  size_t count = 0, capacity = 0;
};

using Bytes = Array<uint8_t>;

/// JSON being written.
class Text {
public:
  const Bytes &bytes() const { return text; }
  Text &add(const char *piece) {
    text.append(reinterpret_cast<const uint8_t *>(piece), strlen(piece));
    return *this;
  }
  __attribute__((format(printf, 2, 3))) Text &format(const char *pattern, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(line, sizeof(line), pattern, arguments);
    va_end(arguments);
    return add(line);
  }
  /// In quotes. Bytes that are no ASCII are written as characters of Latin-1.
  Text &quoted(const char *piece) {
    add("\"");
    for (; *piece; ++piece) {
      const auto c = static_cast<unsigned char>(*piece);
      if (c == '"' || c == '\\')
        format("\\%c", c);
      else if (c < 0x20 || c >= 0x7f)
        format("\\u%04x", c);
      else
        format("%c", c);
    }
    return add("\"");
  }
  Text &hex(const void *data, size_t size) {
    add("\"");
    for (size_t i = 0; i < size; ++i)
      format("%02x", static_cast<const uint8_t *>(data)[i]);
    return add("\"");
  }

private:
  Bytes text;
};

} // namespace rubia::forward
