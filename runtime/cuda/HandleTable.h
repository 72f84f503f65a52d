// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace rubia::runtime::cuda {

/// Keeps an object until the calling thread's entry point returns (Driver.h: CallFrame). A thread
/// that is in none keeps nothing.
void keepForCall(std::shared_ptr<const void> object);

/// The live handles of one type, with their objects. A program may pass any pointer for a handle,
/// so an entry point looks here before it reads what the handle points to. Another thread may
/// destroy the handle meanwhile: the object is there until those who have found it are done. Tables
/// are leaked: programs release handles in their exit handlers.
template <class T> class HandleTable {
public:
  static HandleTable &leaked() { return *new HandleTable; }

  /// Returns the handle.
  T *add(std::shared_ptr<T> object) {
    T *handle = object.get();
    std::unique_lock<std::shared_mutex> lock(mutex);
    objects.insert_or_assign(handle, std::move(object));
    return handle;
  }

  /// Null: it is not live. Of several threads that destroy a handle one gets the object.
  std::shared_ptr<T> remove(T *handle) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    auto node = objects.extract(handle);
    return node ? std::move(node.mapped()) : nullptr;
  }

  /// Null: it is not live.
  std::shared_ptr<T> find(T *handle) const {
    std::shared_lock<std::shared_mutex> lock(mutex);
    auto found = objects.find(handle);
    return found == objects.end() ? nullptr : found->second;
  }

  /// Whether it is live; keeps the object for the call.
  bool contains(T *handle) const {
    std::shared_ptr<T> found = find(handle);
    if (!found)
      return false;
    keepForCall(std::move(found));
    return true;
  }

  /// Calls `visit` for each handle; nobody adds or removes one meanwhile.
  template <class Visit> void forEach(Visit visit) const {
    std::shared_lock<std::shared_mutex> lock(mutex);
    for (const auto &[handle, object] : objects)
      visit(handle);
  }

  /// Removes those for which `isGone` is true.
  template <class Predicate> std::vector<std::shared_ptr<T>> removeIf(Predicate isGone) {
    std::vector<std::shared_ptr<T>> removed;
    std::unique_lock<std::shared_mutex> lock(mutex);
    std::erase_if(objects, [&](auto &entry) {
      if (!isGone(*entry.second))
        return false;
      removed.push_back(std::move(entry.second));
      return true;
    });
    return removed;
  }

private:
  mutable std::shared_mutex mutex;
  std::map<T *, std::shared_ptr<T>> objects;
};

} // namespace rubia::runtime::cuda
