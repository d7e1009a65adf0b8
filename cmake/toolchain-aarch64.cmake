# Builds static programs for aarch64 with this machine's own clang and lld, against the libraries that
# scripts/aarch64-sysroot lays out. What the build runs (the stencil tool) and what ctest runs goes through qemu.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_ASM_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)

set(GLASSBOX_AARCH64_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot
    CACHE PATH "What scripts/aarch64-sysroot has laid out")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GLASSBOX_AARCH64_SYSROOT)
cmake_path(ABSOLUTE_PATH GLASSBOX_AARCH64_SYSROOT NORMALIZE OUTPUT_VARIABLE CMAKE_SYSROOT)
if(NOT EXISTS ${CMAKE_SYSROOT}/packages)
  message(FATAL_ERROR "No libraries for aarch64 in ${CMAKE_SYSROOT}: run scripts/aarch64-sysroot")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)

set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld -static")
set(CMAKE_SHARED_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_C_STANDARD_LIBRARIES_INIT -lz) # libelf's archive needs it
