"""Check signed messages with dkimpy, a library that shares nothing with ours.

Usage: dkim_check.py FOLDER
For each NAME.eml in the folder, NAME.dns holds the key record. Every message must verify, must
stop verifying when its last body line changes, and there must be at least one.
"""

import pathlib
import sys

import dkim


def verifies(message: bytes, record: bytes) -> bool:
    return dkim.verify(message, dnsfunc=lambda name, timeout=5: record)


def main() -> int:
    messages = sorted(pathlib.Path(sys.argv[1]).glob("*.eml"))
    failures = 0
    for path in messages:
        message = path.read_bytes()
        record = path.with_suffix(".dns").read_bytes()
        changed = message[:-2] + b"x\r\n"
        ok = verifies(message, record) and not verifies(changed, record)
        print("ok" if ok else "FAILED", path.name)
        failures += not ok
    return 0 if messages and not failures else 1


if __name__ == "__main__":
    sys.exit(main())
