// The version of these headers. Until 1.0 only the same minor version is compatible.
#pragma once

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 2
#define WEFT_VERSION_PATCH 0
