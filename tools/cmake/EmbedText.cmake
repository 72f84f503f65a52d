# SPDX-License-Identifier: Apache-2.0
# cmake -DIN=file -DOUT=file -P EmbedText.cmake: a text file as C++ string literals, for #include.
file(READ ${IN} text)
string(LENGTH "${text}" length)
set(out "")
set(at 0)
while(at LESS length) # compilers need accept no longer literals than 64 KiB
  string(SUBSTRING "${text}" ${at} 16000 part)
  string(APPEND out "R\"RUBIA(${part})RUBIA\"\n")
  math(EXPR at "${at} + 16000")
endwhile()
file(WRITE ${OUT} "${out}")
