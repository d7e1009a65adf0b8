# What every room's target shares: the language, the warnings, frame pointers for perf's call chains, and the
# sanitizer or coverage that the preset asks for.

set(GLASSBOX_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize= takes them")
option(GLASSBOX_FUZZ "Build the fuzzers (needs clang's libFuzzer)" OFF)
option(GLASSBOX_COVERAGE "Instrument for source coverage" OFF)

function(glassbox_room target)
  target_compile_features(${target} PUBLIC c_std_17)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS ON POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wno-unused-parameter
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fvisibility=hidden)
  if(GLASSBOX_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${GLASSBOX_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${GLASSBOX_SANITIZE})
  endif()
  if(GLASSBOX_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(GLASSBOX_COVERAGE)
    target_compile_options(${target} PRIVATE -fprofile-instr-generate -fcoverage-mapping)
    target_link_options(${target} PUBLIC -fprofile-instr-generate)
  endif()
endfunction()
