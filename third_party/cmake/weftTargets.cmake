# The target weft::weft of an installation by Premake. Static, unless BUILD_SHARED_LIBS is set or only the other is
# installed. CMake writes its own file of this name.
get_filename_component(weft_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
file(GLOB weft_STATIC "${weft_PREFIX}/lib/libweft.a")
file(GLOB weft_SHARED "${weft_PREFIX}/lib/libweft.so" "${weft_PREFIX}/lib/libweft.dylib")
set(weft_LIBRARY "${weft_STATIC}")
if(weft_SHARED AND (BUILD_SHARED_LIBS OR NOT weft_STATIC))
    set(weft_LIBRARY "${weft_SHARED}")
endif()

add_library(weft::weft UNKNOWN IMPORTED)
set_target_properties(weft::weft PROPERTIES
    IMPORTED_LOCATION "${weft_LIBRARY}"
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_INCLUDE_DIRECTORIES "${weft_PREFIX}/include")
if(weft_LIBRARY STREQUAL weft_STATIC)
    set_property(TARGET weft::weft PROPERTY INTERFACE_LINK_LIBRARIES ${weft_LIBRARIES})
else()
    set_property(TARGET weft::weft PROPERTY INTERFACE_COMPILE_DEFINITIONS WEFT_SHARED=1)
endif()
