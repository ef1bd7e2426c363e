# shellcheck shell=bash
# Prepares wine: run programs for Windows with `wine64 PROGRAM` after this.

# Returns 1 if wine does not start; its messages are then in the log.
prepare_wine() { # log
    # Without this path, the wine of Debian also asks for its 32-bit part.
    PATH=/usr/lib/wine:$PATH
    WINEPREFIX=${WEFT_CACHE:-${XDG_CACHE_HOME:-~/.cache}/weft}/wine
    export WINEPREFIX WINEARCH=win64 WINEDEBUG=-all
    export WINEDLLOVERRIDES="winedbg.exe=d;mscoree=d;mshtml=d"  # nobody looks at a child that is meant to die
    [ -d "$WINEPREFIX" ] || timeout 120 wine64 wineboot -i > "$1" 2>&1
}
