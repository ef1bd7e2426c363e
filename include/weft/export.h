// What a shared library of weft shows to others. WEFT_SHARED is set by weft.use() and by the CMake
// target, WEFT_BUILDING only while weft itself is compiled.
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
