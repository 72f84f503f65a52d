// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <set>
#include <shared_mutex>

namespace rubia::runtime::cuda {

/// The live handles of one type. A program may pass any pointer for a handle, so an entry point
/// looks here before it reads what the handle points to. The table does not own them. Tables are
/// leaked: programs release handles in their exit handlers.
template <class T> class HandleTable {
public:
  static HandleTable &leaked() { return *new HandleTable; }

  void add(T *handle) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    handles.insert(handle);
  }

  /// False: it is not live. Of several threads that destroy a handle one gets true.
  bool remove(T *handle) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    return handles.erase(handle);
  }

  bool contains(T *handle) const {
    std::shared_lock<std::shared_mutex> lock(mutex);
    return handles.contains(handle);
  }

  /// Calls `visit` if the handle is live; nobody removes it meanwhile. Who only asks whether it is
  /// may find it destroyed by another thread at once.
  template <class Visit> bool with(T *handle, Visit visit) const {
    std::shared_lock<std::shared_mutex> lock(mutex);
    if (!handles.contains(handle))
      return false;
    visit(*handle);
    return true;
  }

  /// Calls `visit` for each handle; nobody adds or removes one meanwhile.
  template <class Visit> void forEach(Visit visit) const {
    std::shared_lock<std::shared_mutex> lock(mutex);
    for (T *handle : handles)
      visit(handle);
  }

  /// Removes those for which `isGone` is true; it may destroy them.
  template <class Predicate> void removeIf(Predicate isGone) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    std::erase_if(handles, isGone);
  }

private:
  mutable std::shared_mutex mutex;
  std::set<T *> handles;
};

} // namespace rubia::runtime::cuda
