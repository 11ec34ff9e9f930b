#!/usr/bin/env python3
"""Compare every #include under src/ with the folder table of docs/architecture.md."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \| ([^|]*) \|\s*$")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
SYSTEM = {
    "alloca", "assert", "ctype", "dirent", "endian", "errno", "fcntl", "fenv", "float", "fnmatch", "getopt",
    "inttypes", "langinfo", "libgen", "limits", "linux", "locale", "malloc", "math", "netdb",
    "netinet", "arpa", "net", "poll", "pthread", "pwd", "grp", "regex", "sched", "semaphore", "setjmp", "signal",
    "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib",
    "stdnoreturn", "string", "strings", "sys", "syslog", "termios", "threads", "time", "unistd",
    "wchar",
}


def read_table():
    """Folder -> (folders it may include, third-party header prefixes)."""
    table = {}
    for line in (ROOT / "docs" / "architecture.md").read_text().splitlines():
        match = ROW.match(line)
        if match:
            folder, folders, headers = match.groups()
            table[folder] = (set(re.findall(r"`(\w+)`", folders)),
                             re.findall(r"`([^`]+)`", headers))
    return table


def third_party_ok(path, prefixes, header):
    for prefix in prefixes:
        allowed, _, only = prefix.partition(" in ")
        if header.startswith(allowed) and (not only or str(path).endswith(only)):
            return True
    return False


def check(path, table):
    folder = path.relative_to(ROOT / "src").parts[0]
    if folder not in table:
        return [f"{path.relative_to(ROOT)}: folder {folder} is not in the table"]
    folders, headers = table[folder]
    faults = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, name = match.groups()
        first = name.split("/")[0]
        where = f"{path.relative_to(ROOT)}:{number}"
        if kind == '"':
            if first not in folders | {folder, "base", "mailshot"}:
                faults.append(f"{where}: {folder} may not include {name}")
        elif re.split(r"[/.]", name)[0] not in SYSTEM and not third_party_ok(path, headers, name):
            faults.append(f"{where}: {folder} may not include <{name}>")
    return faults


def main():
    table = read_table()
    listed = subprocess.run(["git", "ls-files", "src/*.c", "src/*.h"], cwd=ROOT, text=True,
                            capture_output=True, check=True).stdout.split()
    faults = [fault for name in listed for fault in check(ROOT / name, table)]
    print("\n".join(faults) if faults else f"includes: {len(listed)} files follow the table")
    return 1 if faults or not table else 0


if __name__ == "__main__":
    sys.exit(main())
