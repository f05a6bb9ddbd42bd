# SPDX-License-Identifier: Apache-2.0
# Writes one C file with the sources FILES (relative to ROOT) as byte arrays
# and an index sorted by name, ended by a null row.
set(body "/* Made by cmake/embed.cmake. */\n#include \"host/embed.h\"\n\n")
set(index "const struct aicr_embedded aicr_embedded[] = {\n")
set(n 0)
foreach(name IN LISTS FILES)
  file(READ ${ROOT}/${name} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  file(SIZE ${ROOT}/${name} size)
  string(APPEND body "static const unsigned char f${n}[] = {${bytes}0};\n")
  string(APPEND index "  {\"${name}\", (const char *)f${n}, ${size}},\n")
  math(EXPR n "${n} + 1")
endforeach()
string(APPEND index "  {0, 0, 0}};\n")
file(WRITE ${OUT} "${body}\n${index}")
