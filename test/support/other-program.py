"""Another program that looks into the database, with an SQLite of its own: other-program.py <file>

Prints how many records it sees, and whether somebody holds SQLite's lock on the file.
"""
import fcntl
import json
import sqlite3
import sys

# The bytes of a shared lock: https://www.sqlite.org/src/file/src/os.h, PENDING_BYTE and SHARED_FIRST.
SHARED_FIRST = 0x40000000 + 2
SHARED_SIZE = 510

file = sys.argv[1]
# Before the connection is made: closing a file drops all locks that this process has on it.
with open(file, "r+b") as handle:
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_SIZE, SHARED_FIRST)
        locked = False
    except OSError:
        locked = True
connection = sqlite3.connect(file)
records = connection.execute("SELECT count(*) FROM readable").fetchone()[0]
connection.close()
print(json.dumps({"records": records, "locked": locked}))
