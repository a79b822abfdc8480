# Arbitrary precision: GMP, MPFR, FLINT (integers, rationals) and Arb (balls). None ships a CMake package.
#   target expunge::exact_arithmetic
foreach(header IN ITEMS gmp.h mpfr.h flint/fmpz_mat.h arb_mat.h)
  string(MAKE_C_IDENTIFIER "EXPUNGE_DIR_${header}" variable)
  find_path(${variable} ${header} REQUIRED)
endforeach()
add_library(expunge_exact_arithmetic INTERFACE)
add_library(expunge::exact_arithmetic ALIAS expunge_exact_arithmetic)
foreach(name IN ITEMS flint-arb flint mpfr gmp)
  string(MAKE_C_IDENTIFIER "EXPUNGE_LIB_${name}" variable)
  find_library(${variable} ${name} REQUIRED)
  target_link_libraries(expunge_exact_arithmetic INTERFACE ${${variable}})
endforeach()
