// WEFT_API: marks the functions and classes that a shared library of weft exports.
//
// weft.use() in Premake and the CMake target define WEFT_SHARED. WEFT_BUILDING is defined only
// while weft itself is compiled.
#pragma once

#if defined(_WIN32)
#if !defined(WEFT_SHARED)
#define WEFT_API
#elif defined(WEFT_BUILDING)
#define WEFT_API __declspec(dllexport)
#else
#define WEFT_API __declspec(dllimport)
#endif
#else
#define WEFT_API __attribute__((visibility("default")))
#endif
