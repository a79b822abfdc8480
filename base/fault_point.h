// Named places where a test build can be told to die, or to leave a step out.
//
// Only builds with EXPUNGE_FAULT_POINTS (a CMake option, off unless a preset for development sets it) look at
// the environment; in all others both functions are nothing. Such a build says so in its version and in its
// log.
//
//   EXPUNGE_CRASH_AT=name     SIGKILL where the point `name` is passed; name:3 for the third time
//   EXPUNGE_CRASH_TRACE=file  the name of every point that is passed is appended to the file
//   EXPUNGE_MUTATION=a,b      the steps `a` and `b` are left out: to show that a test notices
#ifndef EXPUNGE_BASE_FAULT_POINT_H_
#define EXPUNGE_BASE_FAULT_POINT_H_

namespace expunge {

#ifdef EXPUNGE_FAULT_POINTS
inline constexpr bool kHasFaultPoints = true;
// Between two steps of which the first must not be lost, or the second must not be needed.
void CrashPoint(const char* name);
// Whether to leave the step out that follows.
[[nodiscard]] bool Mutated(const char* name);
#else
inline constexpr bool kHasFaultPoints = false;
inline void CrashPoint(const char* /*name*/) {}
[[nodiscard]] constexpr bool Mutated(const char* /*name*/) { return false; }
#endif

}  // namespace expunge

#endif  // EXPUNGE_BASE_FAULT_POINT_H_
