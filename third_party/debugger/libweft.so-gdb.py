# gdb loads this file by itself if it lies beside an installed libweft.so, in a folder of gdb's
# `auto-load safe-path`. It loads the commands, which lie in share/weft/debugger.
import os
import sys

import gdb

folder = os.path.dirname(os.path.realpath(gdb.current_objfile().filename))
while folder != '/':
    commands = os.path.join(folder, 'share', 'weft', 'debugger')
    if os.path.exists(os.path.join(commands, 'weft_gdb.py')):
        sys.path.insert(0, commands)
        import weft_gdb  # noqa: F401
        break
    folder = os.path.dirname(folder)
