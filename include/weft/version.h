// The version of these headers. Before 1.0 only versions with the same minor number are compatible.
#pragma once

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 7
#define WEFT_VERSION_PATCH 0
