// Includes the Windows header, with the functions of Windows 10 and newer.
#pragma once

#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#undef WINVER
#define WINVER 0x0A00

#include <windows.h>

// Macros with names of ours.
#undef Yield  // weft/task_scheduler.h may have been included before
#undef PrefetchForWrite
