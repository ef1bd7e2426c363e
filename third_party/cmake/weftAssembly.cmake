# Boost.Context from Boost's sources in WEFT_BOOST, a release or a checkout: weft::boost_context has the headers, and
# `assembly` is the list of the files that become a part of weft. As weft.useAssembly() in source/weft.lua.
set(folders "${WEFT_BOOST}")
if(NOT EXISTS "${WEFT_BOOST}/boost/version.hpp")
    file(GLOB folders "${WEFT_BOOST}/libs/*/include")
endif()
add_library(weft::boost_context INTERFACE IMPORTED)
set_target_properties(weft::boost_context PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${folders}"
    INTERFACE_COMPILE_DEFINITIONS BOOST_CONTEXT_NO_LIB) # otherwise the header asks for Boost's library, with Visual C++

set(abi x86_64_sysv_elf)
if(WIN32)
    set(abi x86_64_ms_pe)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(abi arm64_aapcs_elf)
endif()
if(APPLE)
    string(REPLACE elf macho abi "${abi}")
endif()
set(ending _gas.*) # .asm or .S, depending on Boost's version
if(MSVC)
    set(ending _masm.asm)
endif()
foreach(name make jump ontop)
    file(GLOB file "${WEFT_BOOST}/libs/context/src/asm/${name}_${abi}${ending}")
    list(APPEND assembly ${file})
endforeach()
if(NOT assembly)
    message(FATAL_ERROR "${WEFT_BOOST} has no assembly for this system: ${abi}")
endif()

if(MSVC)
    enable_language(ASM_MASM)
    set_source_files_properties(${assembly} PROPERTIES LANGUAGE ASM_MASM
        COMPILE_OPTIONS /nologo COMPILE_DEFINITIONS BOOST_CONTEXT_EXPORT=)
else()
    enable_language(ASM)
    string(REGEX MATCHALL "-[a-z]+-protection[^ ]*" options "${CMAKE_CXX_FLAGS}") # what they have for other files
    set_source_files_properties(${assembly} PROPERTIES LANGUAGE ASM COMPILE_OPTIONS "${options};-x;assembler-with-cpp")
endif()
