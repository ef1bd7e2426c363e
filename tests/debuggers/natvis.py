#!/usr/bin/env python3
# Prints a C++ file with all expressions of weft.natvis. It compiles if the types and members exist.
# It needs -fno-access-control of g++.
import re
import sys
import xml.etree.ElementTree as xml

SPACE = '{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}'


def expressions(element):
    yield element.get('Condition', '')
    text = element.text or ''
    if element.tag == SPACE + 'DisplayString':
        yield from re.findall(r'\{([^{}]+)\}', text.replace('{{', '').replace('}}', ''))
    elif not len(element):
        yield text
    for child in element:
        yield from expressions(child)


print('#include "scheduler/state/scheduler.h"\ntemplate <class... T> void Exist(T &&...);')
for i, view in enumerate(xml.parse(sys.argv[1]).getroot()):
    print('struct View%d : %s {\n    void Check() {' %
          (i, view.get('Name').replace('<*>', '<weft::internal::Entry>')))
    for text in expressions(view):
        # C++ has neither the format after a comma nor the members of Microsoft's std::atomic.
        text = re.sub(r',(?:\w+|\[(.*)\])$', lambda found: ', ' + (found[1] or '0'), text.strip())
        text = text.replace('._Storage._Value', '.load()')
        text = text.replace('$T1', 'weft::internal::Entry').replace('$i', '0')
        if text:
            print('        Exist(%s);' % text)
    print('    }\n};')
