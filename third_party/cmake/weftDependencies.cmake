# Sets weft_LIBRARIES, what weft is linked with: the targets weft::boost_context and Threads::Threads, and libraries of
# the system. Sets weft_MISSING if there is something that cannot be found. Boost.Context is the library and headers in
# the prefix WEFT_BOOST. Without WEFT_BOOST it is Boost's own CMake target, or else the library and headers that lie in
# CMAKE_PREFIX_PATH or the system's folders.
set(weft_MISSING)
set(weft_LIBRARIES weft::boost_context Threads::Threads)
if(WIN32)
    list(APPEND weft_LIBRARIES synchronization) # has WaitOnAddress
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads QUIET)
if(NOT TARGET Threads::Threads)
    set(weft_MISSING "threads")
endif()

if(EMSCRIPTEN AND NOT TARGET weft::boost_context) # its own fibers take the place of Boost.Context
    add_library(weft::boost_context INTERFACE IMPORTED)
    set(options -fexceptions)
    if(WEFT_NO_EXCEPTIONS)
        set(options)
    endif()
    set_target_properties(weft::boost_context PROPERTIES
        INTERFACE_COMPILE_OPTIONS "${options}"
        INTERFACE_LINK_OPTIONS "${options};-sASYNCIFY=1;-sALLOW_MEMORY_GROWTH=1")
endif()

if(NOT TARGET weft::boost_context)
    set(where)
    if(WEFT_BOOST)
        set(where PATHS "${WEFT_BOOST}" NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
    else()
        find_package(Boost QUIET CONFIG COMPONENTS context)
    endif()
    if(TARGET Boost::context AND NOT WEFT_BOOST)
        add_library(weft::boost_context INTERFACE IMPORTED)
        set_property(TARGET weft::boost_context PROPERTY INTERFACE_LINK_LIBRARIES Boost::context)
    else()
        find_library(WEFT_BOOST_CONTEXT NAMES boost_context libboost_context ${where}
            PATH_SUFFIXES lib "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
        find_path(WEFT_BOOST_INCLUDE boost/context/detail/fcontext.hpp ${where} PATH_SUFFIXES include)
        mark_as_advanced(WEFT_BOOST_CONTEXT WEFT_BOOST_INCLUDE)
        if(WEFT_BOOST_CONTEXT AND WEFT_BOOST_INCLUDE)
            add_library(weft::boost_context UNKNOWN IMPORTED)
            set_target_properties(weft::boost_context PROPERTIES
                IMPORTED_LOCATION "${WEFT_BOOST_CONTEXT}" INTERFACE_INCLUDE_DIRECTORIES "${WEFT_BOOST_INCLUDE}")
        else()
            set(weft_MISSING "Boost.Context")
        endif()
    endif()
endif()
