# glassbox_library: a room that others can take without Glassbox.
#
#     glassbox_library(elfimage
#       DESCRIPTION "one sentence, for pkg-config"
#       SOURCES     elfimage.c layout.c
#       HEADERS     elfimage.h
#       LINK        elf                          # what the linker needs beside libc
#       PC_REQUIRES libelf                       # the same, as pkg-config names it
#       PC_LIBS     pfm)                         # what of it has no .pc file of its own
#
# makes, from one compilation,
#
#     target elfimage          lib/libelfimage.a     what the rooms of this tree link
#     target elfimage_shared   lib/libelfimage.so
#     include/elfimage/elfimage.h, so that #include "elfimage/elfimage.h" means the same here and there
#     find_package(elfimage) → elfimage::elfimage (static), elfimage::elfimage_shared
#     pkg-config elfimage
#     man page 3, where docs/man/libelfimage.3 exists
#
# all of it in the install component `elfimage`: `cmake --install BUILD --component elfimage` installs it alone. Rooms
# are compiled with hidden visibility, so a public header opens with `#pragma GCC visibility push(default)` and pops
# it at its end.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(GlassboxRoom)

function(glassbox_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION" "SOURCES;HEADERS;LINK;PC_REQUIRES;PC_LIBS")

  add_library(${name}_objects OBJECT ${arg_SOURCES})
  glassbox_room(${name}_objects)
  target_include_directories(${name}_objects PRIVATE ${PROJECT_SOURCE_DIR})

  add_library(${name} STATIC)
  add_library(${name}_shared SHARED)
  set_target_properties(${name}_shared PROPERTIES
    OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  foreach(target ${name} ${name}_shared)
    add_library(${name}::${target} ALIAS ${target})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${name}_objects>)
    target_link_libraries(${target} PUBLIC ${arg_LINK})
    target_link_options(${target} PUBLIC $<BUILD_INTERFACE:$<TARGET_PROPERTY:${name}_objects,INTERFACE_LINK_OPTIONS>>)
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(TARGETS ${name} ${name}_shared EXPORT ${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${name}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${name} NAMELINK_COMPONENT ${name})
  install(FILES ${arg_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${name} COMPONENT ${name})
  install(EXPORT ${name} NAMESPACE ${name}:: FILE ${name}Config.cmake DESTINATION ${package_dir} COMPONENT ${name})
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/${name}ConfigVersion.cmake
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}ConfigVersion.cmake DESTINATION ${package_dir} COMPONENT ${name})

  # The prefix counts from the .pc file, so that an installed tree can be moved.
  file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  list(JOIN arg_PC_REQUIRES " " requires)
  list(TRANSFORM arg_PC_LIBS PREPEND -l)
  list(JOIN arg_PC_LIBS " " private_libraries)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
"prefix=\${pcfiledir}/${prefix_from_pc}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}

Name: ${name}
Description: ${arg_DESCRIPTION}
Version: ${PROJECT_VERSION}
Requires.private: ${requires}
Cflags: -I\${includedir}
Libs: -L\${libdir} -l${name}
Libs.private: ${private_libraries}
")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${name})

  set(man_page ${PROJECT_SOURCE_DIR}/docs/man/lib${name}.3)
  if(EXISTS ${man_page})
    install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT ${name})
  endif()
endfunction()
