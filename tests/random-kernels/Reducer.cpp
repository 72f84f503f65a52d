// SPDX-License-Identifier: Apache-2.0
#include "Reducer.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::random_kernels {
namespace {

using Statements = std::vector<Statement>;

// Whether something reads the condition code that no statement before it in the list sets for sure.
bool readsUndefinedCarry(const Statements &statements) {
  bool defined = false;
  for (const Statement &statement : statements) {
    const llvm::StringRef word = statement.word;
    if (statement.what == Statement::What::Scalar) {
      const llvm::StringRef op = word.split('.').first;
      if (!defined && (op == "addc" || op == "subc" || op == "madc"))
        return true;
      defined |= word.contains(".cc") && !statement.guard;
    }
    for (const Statements *inside : {&statement.body, &statement.orElse})
      if (readsUndefinedCarry(*inside))
        return true;
    for (const Statements &inside : statement.cases)
      if (readsUndefinedCarry(inside))
        return true;
  }
  return false;
}

// How many statements of a kind there are.
template <class Is> size_t count(const Statements &statements, const Is &is) {
  size_t sum = 0;
  for (const Statement &statement : statements) {
    sum += is(statement) + count(statement.body, is) + count(statement.orElse, is);
    for (const Statements &inside : statement.cases)
      sum += count(inside, is);
  }
  return sum;
}

// Whether memory that `candidate` reads has lost a store or a barrier that `kernel` had: shared and
// local memory has no value at first.
bool lostMemory(const Kernel &kernel, const Kernel &candidate) {
  using What = Statement::What;
  for (Space space : {Space::Shared, Space::Local, Space::Exchange}) {
    auto reads = [=](const Statement &statement) {
      return statement.address.space == space &&
             (statement.what == What::Load || statement.what == What::Atomic);
    };
    auto fills = [=](const Statement &statement) {
      if (space == Space::Exchange && statement.what == What::Barrier)
        return true;
      return statement.what == What::Store && statement.address.space == space &&
             (space == Space::Exchange || statement.fills);
    };
    if (count(candidate.body, reads) && count(candidate.body, fills) != count(kernel.body, fills))
      return true;
  }
  return false;
}

class Reducer {
public:
  Reducer(Kernel kernel, const std::function<bool(const Kernel &)> &stays)
      : kernel(std::move(kernel)), stays(stays) {}
  Kernel take() {
    for (bool changed = true; changed;) {
      changed = list([](Kernel &k) -> Statements & { return k.body; });
      for (size_t i = 0; i < kernel.functions.size(); ++i)
        changed |= list([i](Kernel &k) -> Statements & { return k.functions[i].body; });
    }
    return std::move(kernel);
  }

private:
  Kernel kernel;
  const std::function<bool(const Kernel &)> &stays;
  // Where a list of statements is, in whichever copy of the kernel.
  using Where = std::function<Statements &(Kernel &)>;

  template <class Change> bool attempt(Change change) {
    Kernel candidate = kernel;
    change(candidate);
    bool undefined = readsUndefinedCarry(candidate.body);
    for (const Function &function : candidate.functions)
      undefined |= readsUndefinedCarry(function.body);
    if (undefined || lostMemory(kernel, candidate) || !stays(candidate))
      return false;
    kernel = std::move(candidate);
    return true;
  }

  bool drop(const Where &where) {
    return dropPieces([&] { return where(kernel).size(); },
                      [&](size_t start, size_t end) {
                        return attempt([&](Kernel &candidate) {
                          Statements &all = where(candidate);
                          all.erase(all.begin() + long(start), all.begin() + long(end));
                        });
                      });
  }

  // What is inside a statement takes its place.
  bool unwrap(const Where &where, size_t index) {
    const Statement &statement = where(kernel)[index];
    std::vector<const Statements *> inside = {&statement.body, &statement.orElse};
    for (const Statements &one : statement.cases)
      inside.push_back(&one);
    for (const Statements *one : inside) {
      if (one->empty())
        continue;
      Statements copy = *one;
      if (statement.what == Statement::What::Loop)
        std::erase_if(copy, [](const Statement &s) { return s.what == Statement::What::Leave; });
      if (attempt([&](Kernel &candidate) {
            Statements &all = where(candidate);
            all.erase(all.begin() + long(index));
            all.insert(all.begin() + long(index), copy.begin(), copy.end());
          }))
        return true;
    }
    return false;
  }

  bool simplify(const Where &where, size_t index) {
    bool changed = false;
    using What = Statement::What;
    auto statement = [&](Kernel &k) -> Statement & { return where(k)[index]; };
    const What what = statement(kernel).what;
    if (statement(kernel).guard && what != What::If && what != What::Leave)
      changed |= attempt([&](Kernel &k) { statement(k).guard.reset(); });
    if (statement(kernel).address.index)
      changed |= attempt([&](Kernel &k) { statement(k).address.index.reset(); });
    if (statement(kernel).address.generic)
      changed |= attempt([&](Kernel &k) { statement(k).address.generic = false; });
    if (what == What::Loop && statement(kernel).count > 1)
      changed |= attempt([&](Kernel &k) { statement(k).count = 1; });
    return changed;
  }

  bool list(const Where &where) {
    bool changed = drop(where);
    for (size_t i = 0; i < where(kernel).size(); ++i) {
      if (unwrap(where, i)) {
        changed = true;
        --i;
        continue;
      }
      changed |= simplify(where, i);
      changed |= list([=](Kernel &k) -> Statements & { return where(k)[i].body; });
      changed |= list([=](Kernel &k) -> Statements & { return where(k)[i].orElse; });
      for (size_t n = 0; n < where(kernel)[i].cases.size(); ++n)
        changed |= list([=](Kernel &k) -> Statements & { return where(k)[i].cases[n]; });
    }
    return changed;
  }
};

} // namespace

Kernel reduce(Kernel kernel, const std::function<bool(const Kernel &)> &stays) {
  return Reducer(std::move(kernel), stays).take();
}

bool dropPieces(function_ref<size_t()> size, function_ref<bool(size_t, size_t)> drop) {
  bool changed = false;
  for (size_t piece = size(); piece > 0; piece /= 2)
    for (size_t end = size(); end > 0;) {
      const size_t start = end > piece ? end - piece : 0;
      changed |= drop(start, end);
      end = std::min(start, size());
    }
  return changed;
}

bool isTrueElsewhere(function_ref<bool()> check, bool ifCrashed) {
  outs().flush();
  pid_t child = fork();
  if (child < 0)
    report_fatal_error("cannot fork");
  if (child == 0)
    _exit(check() ? 1 : 0);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) == 1 : ifCrashed;
}

} // namespace rubia::random_kernels
