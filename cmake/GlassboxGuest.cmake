# glassbox_guest(NAME SOURCES a.c ... [OPTIONS -O3 ...] [LINK_OPTIONS -zstack-size=... ...])
#
# Compiles C to a WASI command with line tables, at build time: ${CMAKE_BINARY_DIR}/guests/NAME.wasm. The target is
# guest_NAME and is built by default; `guests` builds all of them. OPTIONS come after `-O2 -g` and so can override them.
#
# wasm-ld is run directly. Clang's driver, told to link with -O, runs the wasm-opt that it finds on the PATH over the
# linked module, silently, and wasm-opt drops or displaces the line tables. (Clang 19's --no-wasm-opt is no way out:
# with it the driver does not link at all, and reports success.)

find_program(GLASSBOX_WASM_CLANG NAMES clang-19 clang DOC "clang that compiles guests to wasm32-wasi" REQUIRED)
find_program(GLASSBOX_WASM_LD NAMES wasm-ld-19 wasm-ld DOC "Linker of guests" REQUIRED)
find_path(GLASSBOX_WASI_LIB crt1-command.o PATHS /usr/lib/wasm32-wasi NO_DEFAULT_PATH
          DOC "Folder of wasi-libc's crt1-command.o and libc.a" REQUIRED)
execute_process(COMMAND ${GLASSBOX_WASM_CLANG} --target=wasm32-wasi -print-libgcc-file-name
                OUTPUT_VARIABLE glassbox_wasm_builtins OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS ${glassbox_wasm_builtins})
  message(FATAL_ERROR "clang's builtins for wasm32 are missing (Debian: libclang-rt-19-dev-wasm32)")
endif()

add_custom_target(guests)

function(glassbox_guest name)
  cmake_parse_arguments(PARSE_ARGV 1 guest "" "" "SOURCES;OPTIONS;LINK_OPTIONS")
  set(objects)
  foreach(source IN LISTS guest_SOURCES)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source STEM stem)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir/${stem}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir
      COMMAND ${GLASSBOX_WASM_CLANG} --target=wasm32-wasi -std=gnu17 -Wall -Wextra -O2 -g ${guest_OPTIONS}
              -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "Compiling guest ${name}: ${stem}.c" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(module ${CMAKE_BINARY_DIR}/guests/${name}.wasm)
  add_custom_command(OUTPUT ${module}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/guests
    COMMAND ${GLASSBOX_WASM_LD} -m wasm32 -L${GLASSBOX_WASI_LIB} ${GLASSBOX_WASI_LIB}/crt1-command.o ${objects}
            ${guest_LINK_OPTIONS} -lm -lc ${glassbox_wasm_builtins} -o ${module}
    DEPENDS ${objects} COMMENT "Linking guest ${name}.wasm" VERBATIM)
  add_custom_target(guest_${name} ALL DEPENDS ${module})
  add_dependencies(guests guest_${name})
endfunction()
