#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench-nccl parse does, with Python's re: line prefixes, colours, rows that NCCL
interrupted, the header, the footer. Reads stdin, prints CPU milliseconds, rows, their sum."""
import re
import resource
import sys

PREFIX = re.compile(rb"(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d) |\[[^\]\s]+\](?:<std\w+>:| )"
                    rb"| *\d+: )+")
LOG = re.compile(rb"(\S*?)([a-zA-Z][^\s:]*:\d+:\d+ (?:\[-?\d+\] )?(?:\S+:\d+ )?"
                 rb"NCCL (?:INFO|WARN|TRACE|CALL) )")
COLOUR = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
HEADER = re.compile(rb"#\s+size\s+count\s+type\s.*busbw")
FIGURE = rb"(\d+(?:\.\d+)?(?:e[+-]\d\d)?|inf|nan|N/A)"
ROW = re.compile(rb"\s*(\d+)\s+(\d+)\s+([a-z]\w*)\s+([a-z]\w*)?\s+(-?\d+)"
                 + (rb"\s+" + FIGURE) * 8 + rb"\s*$")
PIECE = re.compile(rb"\s*(?:\d+\s+\d+\s+[a-z]\w*\s|[\d.]+(?:e[+-]\d\d)?\s)")
FOOTER = re.compile(rb"# Out of bounds values : (\d+) (OK|FAILED)")

rows, total, pending, table, complete = 0, 0.0, b"", False, False
for line in sys.stdin.buffer:
    if b"\x1b" in line:
        line = COLOUR.sub(b"", line)
    prefix = PREFIX.match(line)
    if prefix:
        line = line[prefix.end():]
    log = LOG.search(line)
    if log:
        line = line[:log.start(2)]
        if not line:
            continue
    if line[:1] == b"#":
        pending = b""
        table = table and not FOOTER.match(line) or bool(HEADER.match(line))
        complete = complete or bool(FOOTER.match(line))
        continue
    if not table or not PIECE.match(line):
        continue
    row = ROW.match(pending + b" " + line)
    if row:
        rows, total, pending = rows + 1, total + float(row.group(8)), b""
    else:
        pending += line.rstrip(b"\n")

usage = resource.getrusage(resource.RUSAGE_SELF)
print("%.1f %d %d %.2f" % ((usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss, rows, total))
sys.exit(not complete)
