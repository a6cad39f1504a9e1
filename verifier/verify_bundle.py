#!/usr/bin/env python3
"""Verifies a bundle of one randomized study without the software that made it.

    python3 verify_bundle.py BUNDLE.zip [--trust KEY]... [--checkpoint FILE]... [--study-id ID]

    --trust KEY        public key of the log (name+hash+base64), or a file that holds it, known to
                       you from elsewhere
    --checkpoint FILE  checkpoints kept elsewhere: signed notes, or receipts (a note in base64 on
                       one line)
    --study-id ID      id of the study that the bundle must be of: the UUID in the origin of its
                       receipts

Exit codes: 0 nothing wrong was found, and what that proves is printed; 1 something is wrong;
2 nothing was verified: wrong usage, no numpy, no bundle; 3 as 0, but a signature was NOT CHECKED,
because the package `cryptography` is missing.

Every random number comes from numpy's own PCG64 and Generator. The output is not for blinded eyes,
unless the bundle is.
"""

# The parts of this program follow the documents: the bundle (docs/bundle.md), the records, events
# and checkpoints (docs/event-log.md), the draw (docs/methods.md).

import argparse
import array
import base64
import collections
import datetime
import functools
import hashlib
import json
import math
import os
import re
import struct
import sys
import unicodedata
import uuid
import zlib
from dataclasses import dataclass, field
from typing import (
    IO,
    Any,
    Callable,
    Collection,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Set,
    Tuple,
)

try:
    import numpy
    import numpy.random
except ImportError as missing:
    hint = f"install it for {sys.executable}, or use another python3"
    print(f"nothing was verified without numpy: {missing} (hint: {hint})", file=sys.stderr)
    sys.exit(2)

Json = Dict[str, Any]


class Divergence(Exception):
    """A record is not what it should be."""


class NothingVerified(Exception):
    """What was given cannot be verified at all."""


def printable(text: Any) -> str:
    """Names may hold line breaks, and characters that control a terminal."""
    return "".join(character if character.isprintable() else "?" for character in str(text))


def expect(what: str, expected: Any, found: Any) -> None:
    """Compares as JSON, because in Python True equals 1."""
    if canonical(expected) == canonical(found):
        return
    raise Divergence(
        f"field {printable(what)}\n"
        f"    expected  {printable(canonical(expected))}\n"
        f"    found     {printable(canonical(found))}"
    )


def expect_that(what: str, is_so: bool) -> None:
    if not is_so:
        expect(what, True, False)


# ---- JSON ---------------------------------------------------------------------------------------


ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> str:
    """RFC 8785. Python sorts names by code point. For the names in a log that is the same order."""
    return ENCODER.encode(value)


def parse_integer(digits: str) -> Optional[int]:
    number = int(digits) if len(digits) < 18 else None
    return number if number is not None and abs(number) < 2**53 else None


def parse_canonical(what: str, data: bytes) -> Json:
    """An object in canonical JSON without floats. What can be read in two ways proves nothing."""
    value = json.loads(
        data.decode("utf-8"),
        parse_int=parse_integer,
        parse_float=lambda number: None,
        parse_constant=lambda name: None,
    )
    is_canonical = isinstance(value, dict) and canonical(value).encode("utf-8") == data
    expect_that(f"{what}: canonical JSON", is_canonical)
    return value


# ---- The bundle (docs/bundle.md) ----------------------------------------------------------------

FORMAT = "urn-bundle@2"
CONTENTS = ("full", "open", "blinded")
PIECE_BYTES = 65536
OTHER_FILES = (
    "checkpoints.txt",
    "configuration.json",
    "manifest.json",
    "public-key.txt",
    "report.html",
    "README.txt",
    "verify_bundle.py",
)


MANIFEST_BYTES = 2**20
WHOLE_BYTES = 2**26  # of any other file that is read as a whole, and of a line
CHECKPOINTS_BYTES = 2**28  # with six lines and at least 150 bytes for each that is signed, so:
CHECKPOINTS_LINES = 12_000_000
DIRECTORY_BYTES = 2**20
FILES = 1000
PARTS = 4_000_000  # lists, objects, members, lines: small texts of many parts fill the memory
NESTED = 100
NOTE_BYTES = 1_000_000


class Entry(NamedTuple):
    """A file in the archive, as the directory of the archive has it."""

    path: str
    method: int  # 0: stored, 8: deflated
    checksum: int
    packed: int  # bytes in the archive
    size: int
    offset: int
    most: int  # where it must end at the latest: there the directory begins


@dataclass
class Bundle:
    archive: IO[bytes]
    entries: List[Entry]
    content: str = ""
    study_stream: str = ""
    listed: List[Tuple[str, str]] = field(default_factory=list)  # path and SHA-256

    def streams(self) -> List[str]:
        return ["log", "access", self.study_stream]

    def paths(self) -> List[str]:
        return [each.path for each in self.entries]

    def pieces(self, path: str) -> Iterator[bytes]:
        """The bytes of a file, which may be larger than memory; none if it is missing."""
        entries = [each for each in self.entries if each.path == path]
        return unpack(self.archive, entries[-1]) if entries else iter(())

    def read(self, path: str, most: int = WHOLE_BYTES) -> bytes:
        found, size = [], 0
        for piece in self.pieces(path):
            found.append(piece)
            size += len(piece)
            if size > most:
                raise NothingVerified(f"{path} has more than {most} bytes")
        data = b"".join(found)
        refuse_many_parts(path, data)
        return data

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a file, with their line feeds."""
        begun: List[bytes] = []
        for piece in self.pieces(path):
            *ended, rest = piece.split(b"\n")
            for end in ended:
                line = b"".join([*begun, end, b"\n"])
                refuse_many_parts(f"a line of {path}", line)
                yield line
                begun = []
            begun.append(rest)
            if sum(map(len, begun)) > WHOLE_BYTES:
                raise NothingVerified(f"{path} has a line of more than {WHOLE_BYTES} bytes")
        rest = b"".join(begun)
        refuse_many_parts(f"a line of {path}", rest)
        if rest:
            yield rest


def records_file(stream: str) -> str:
    return f"records/{stream}.txt"


def refuse_many_parts(what: str, data: bytes) -> None:
    if len(data) > PARTS and sum(map(data.count, (b"[", b"{", b",", b"\n"))) > PARTS:
        raise NothingVerified(f"{what} has more than {PARTS} parts")


def expect_archive(why: str, is_so: bool) -> None:
    if not is_so:
        raise NothingVerified(f"it is not a complete zip archive: {why}")


def read_exactly(archive: IO[bytes], offset: int, size: int) -> bytes:
    archive.seek(offset)
    data = archive.read(size)
    expect_archive("it is shorter than its directory says", len(data) == size)
    return data


def read_directory(archive: IO[bytes]) -> List[Entry]:
    """An archive can be read in several ways. This reads only those that say one thing."""
    archive_size = archive.seek(0, os.SEEK_END)
    expect_archive("it is too short", archive_size >= 22)
    end = struct.unpack("<4sHHHHLLH", read_exactly(archive, archive_size - 22, 22))
    signature, disk, first_disk, count_here, count, size, offset, comment = end
    is_one_disk = disk == first_disk == 0 and count_here == count
    is_last = offset + size + 22 == archive_size and comment == 0
    is_end = signature == b"PK\x05\x06" and is_one_disk and is_last
    expect_archive("it does not end with its directory", is_end)
    expect_archive(f"it holds more than {FILES} files", count <= FILES)
    expect_archive("its directory is too long", size <= DIRECTORY_BYTES)
    directory, entries = read_exactly(archive, offset, size), []
    while len(entries) < count:
        expect_archive("its directory is damaged", directory[:4] == b"PK\x01\x02")
        expect_archive("its directory is damaged", len(directory) >= 46)
        flags, method, _, _, checksum, packed, unpacked = struct.unpack("<4H3L", directory[8:28])
        name, extra, comment = struct.unpack("<3H", directory[28:34])
        (start,) = struct.unpack("<L", directory[42:46])
        path = directory[46 : 46 + name].decode("latin-1")
        is_whole = len(directory) >= 46 + name + extra + comment
        is_name = re.fullmatch("[A-Za-z0-9._/-]+", path) is not None
        expect_archive("its directory is damaged", is_whole and is_name)
        is_large = 0xFFFFFFFF in (packed, unpacked, start)
        is_known = flags & 1 == 0 and method in (0, 8) and not is_large
        expect_archive(f"{path} is packed in a way that bundles are not", is_known)
        entries.append(Entry(path, method, checksum, packed, unpacked, start, offset))
        directory = directory[46 + name + extra + comment :]
    expect_archive("its directory has another length than it says", directory == b"")
    first = min([each.offset for each in entries], default=0)
    expect_archive("something stands before its first file", first == 0)
    return entries


def read_start(archive: IO[bytes], entry: Entry) -> int:
    """Where the bytes of a file begin, behind a header that repeats what the directory says."""
    header = read_exactly(archive, entry.offset, 30)
    name, extra = struct.unpack("<HH", header[26:30])
    path = read_exactly(archive, entry.offset + 30, name).decode("latin-1")
    start = entry.offset + 30 + name + extra
    is_header = header[:4] == b"PK\x03\x04" and path == entry.path
    is_here = is_header and start + entry.packed <= entry.most
    expect_archive(f"{entry.path} is not where its directory says", is_here)
    return start


def unpack(archive: IO[bytes], entry: Entry) -> Iterator[bytes]:
    """In small pieces, however much there is. All sizes must be those in the directory."""
    start, left = read_start(archive, entry), entry.packed
    inflate = zlib.decompressobj(-zlib.MAX_WBITS) if entry.method == 8 else None
    size = checksum = 0
    packed = b""
    while True:
        if not packed and left > 0:
            packed = read_exactly(archive, start + entry.packed - left, min(left, PIECE_BYTES))
            left -= len(packed)
        if inflate is None:
            piece, packed = packed, b""
        else:
            piece = inflate.decompress(packed, PIECE_BYTES)
            packed = inflate.unconsumed_tail
        size += len(piece)
        checksum = zlib.crc32(piece, checksum)
        expect_archive(f"{entry.path} is longer than its directory says", size <= entry.size)
        if piece:
            yield piece
        if (inflate.eof if inflate else left == 0) or not (piece or packed or left):
            break
    is_all = left == 0 and (inflate is None or (inflate.eof and not inflate.unused_data))
    is_all = is_all and size == entry.size
    expect_archive(f"the sizes of {entry.path} are not those in its directory", is_all)
    expect_archive(f"the checksum of {entry.path} differs", checksum == entry.checksum)


def once(members: List[Tuple[str, Any]]) -> Json:
    """The members of an object, none of which may be given twice."""
    if len(dict(members)) < len(members):
        raise ValueError("a member is given twice")
    return dict(members)


def parse_strictly(data: bytes) -> Any:
    """JSON that can be read in one way only: UTF-8 without a mark, no member twice."""
    text = data.decode("utf-8")
    depth = deepest = 0
    for bracket in re.findall(r'"(?:[^"\\]|\\.)*"|[][{}]', text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(bracket, 0)
        deepest = max(deepest, depth)
    if deepest > NESTED:
        raise ValueError(f"it is nested more than {NESTED} levels deep")
    return json.loads(
        text,
        object_pairs_hook=once,
        parse_int=parse_integer,
        parse_float=parse_fraction,
        parse_constant=parse_nothing,
    )


def parse_fraction(digits: str) -> Optional[int]:
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) < 2**53 else None


def parse_nothing(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def open_bundle(file: str) -> Bundle:
    archive = open(file, "rb")  # until the end of this program
    bundle = Bundle(archive, read_directory(archive))
    try:
        manifest = parse_strictly(bundle.read("manifest.json", MANIFEST_BYTES))
        if manifest["format"] == "urn-bundle@1":
            raise NothingVerified("it was written before 1.0.0: the verifier inside it reads it")
        if manifest["format"] != FORMAT:
            raise NothingVerified(f"its format is {manifest['format']!r}, and this reads {FORMAT}")
        bundle.content = manifest["content"]
        bundle.study_stream = manifest["study"]["stream"]
        bundle.listed = [(each["path"], each["sha256"]) for each in manifest["files"]]
        is_bundle = bundle.content in CONTENTS and re.fullmatch("study-[^/]+", bundle.study_stream)
    except (LookupError, TypeError, ValueError) as fault:
        raise NothingVerified(f"its manifest.json is not that of a bundle: {fault!r}") from fault
    if not is_bundle or not all(type(text) is str for each in bundle.listed for text in each):
        raise NothingVerified("its manifest.json is not that of a bundle")
    return bundle


def check_files(bundle: Bundle) -> List[str]:
    """The manifest guards against damage, not against people."""
    failures = []
    records = [records_file(stream) for stream in bundle.streams()]
    present, listed = bundle.paths(), dict(bundle.listed)
    for path in sorted({*listed, *present} - {"manifest.json"}):
        if path in present and path in listed and path not in (*OTHER_FILES, *records):
            failures.append(f"{printable(path)} does not belong in a bundle")
            continue
        digest = hashlib.sha256()
        last = b""
        if path in listed:
            for piece in bundle.pieces(path):
                digest.update(piece)
                last = piece[-1:]
        if path not in present or digest.hexdigest() != listed.get(path):
            failures.append(f"{printable(path)} is not what manifest.json lists")
        elif path in records and last not in (b"", b"\n"):
            failures.append(f"{printable(path)} does not end with a line feed")
    for path in [*records, "checkpoints.txt", "configuration.json"]:
        if path not in present and path not in listed:
            failures.append(f"{printable(path)} is missing")
    if len(set(present)) < len(present):
        failures.append("a file is in the archive twice")
    if len(listed) < len(bundle.listed):
        failures.append("manifest.json lists a file twice")
    return failures


# ---- Records (docs/event-log.md) ----------------------------------------------------------------


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def leaf_hash(record: bytes) -> bytes:
    return sha256(b"\x00" + record)


def is_withheld(stream: str, line: bytes) -> bool:
    """Whether a record is of `access`, and the bundle holds only its leaf."""
    return stream == "access" and re.fullmatch(b"[0-9a-f]{64}\t\t", line) is not None


def disclosed_sections(content: str, stream: str, seals: Json) -> List[str]:
    """Names of the sealed sections that must come with a record."""
    if not stream.startswith("study-") or content == "blinded":
        return []
    return sorted(seals) if content == "full" else sorted({"allocation"} & set(seals))


def check_line(
    line: bytes, stream: str, revision: int, log_id: Optional[str], content: str
) -> Tuple[Json, Json]:
    """What every record must be, whatever it says. Returns the record and its sealed sections."""
    leaf, text, sealed = line.split(b"\t")
    expect("leaf", leaf_hash(text).hex(), leaf.decode())
    record = parse_canonical("record", text)
    sections = parse_canonical("sealed sections", sealed)
    check_shape("record", RECORD, record)
    check_shape("actor", PERSON if "cli" in record["actor"] else KEY, record["actor"])
    expect("stream", stream, record["stream"])
    expect("revision", revision, record["revision"])
    if log_id is not None:
        expect("log", log_id, record["log"])
    check_event(record, sections)
    disclosed = disclosed_sections(content, stream, record["seals"])
    expect("names of sealed sections", disclosed, sorted(sections))
    for name, section in sections.items():
        seal = sha256(canonical(section).encode("utf-8")).hex()
        expect(f"seals.{name}", seal, record["seals"][name])
    return record, sections


def check_event(record: Json, sections: Json) -> None:
    """A record has the form of its event. Of a withheld section there is only the seal."""
    event = EVENTS.get(record["type"]) if record["version"] == 1 else None
    expect_that("type and version: an event that this program knows", event is not None)
    check_shape("data", event.data, record["data"])
    check_shape("seals", {name: SEAL for name in event.sections}, record["seals"])
    for name, section in sections.items():
        shape = event.sections.get(name, event.sections.get(f"{name}?"))
        expect_that(f"{name}: a section of this event", shape is not None)
        check_shape(name, {**shape, "salt": SALT}, section)


# ---- The shapes of events (docs/event-log.md) ---------------------------------------------------
#
# A shape is a Kind, a list of some length, one of several shapes, or an object: a dictionary of all
# the names that the object may have. A name that ends with "?" may be left out.


class Kind(NamedTuple):
    description: str
    accepts: Callable[[Any], bool]


class ListOf(NamedTuple):
    least: int
    shape: Any


class Either(NamedTuple):
    shapes: List[Json]
    # A member that only the last one has: what differs is said of that one, or else of the first.
    mark: str = ""


class Event(NamedTuple):
    data: Any
    sections: Json


def check_shape(where: str, shape: Any, value: Any) -> None:
    if isinstance(shape, Kind):
        expect_that(f"{where}: {shape.description}", shape.accepts(value))
    elif isinstance(shape, ListOf):
        is_list = isinstance(value, list) and len(value) >= shape.least
        expect_that(f"{where}: a list of at least {shape.least}", is_list)
        for place, element in enumerate(value):
            check_shape(f"{where}[{place}]", shape.shape, element)
    elif isinstance(shape, Either) and shape.mark:
        is_marked = isinstance(value, dict) and shape.mark in value
        check_shape(where, shape.shapes[-1 if is_marked else 0], value)
    elif isinstance(shape, Either):
        has_one = any(has_shape(each, value) for each in shape.shapes)
        expect_that(f"{where}: of one of its {len(shape.shapes)} shapes", has_one)
    else:
        expect_that(f"{where}: an object", isinstance(value, dict))
        shape_by_name = {name.rstrip("?"): each for name, each in shape.items()}
        needed = {name for name in shape if not name.endswith("?")}
        missing, unknown = needed - set(value), set(value) - set(shape_by_name)
        expect(f"{where}: members that are missing", [], sorted(missing))
        expect(f"{where}: members that do not belong there", [], sorted(unknown))
        for name, member in value.items():
            check_shape(f"{where}.{name}", shape_by_name[name], member)


def has_shape(shape: Any, value: Any) -> bool:
    try:
        check_shape("", shape, value)
    except Divergence:
        return False
    return True


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def matches(pattern: str) -> Callable[[Any], bool]:
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


def is_instant(value: Any) -> bool:
    if not matches(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")(value):
        return False
    try:
        return bool(milliseconds(value) or True)
    except ValueError:
        return False


def milliseconds(instant: str) -> int:
    """Since 1970, as a UUID of version 7 counts."""
    parsed = datetime.datetime.strptime(instant, "%Y-%m-%dT%H:%M:%S.%fZ")
    return (parsed - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)


def is_day(value: Any) -> bool:
    if not matches("[0-9]{4}-[0-9]{2}-[0-9]{2}")(value):
        return False
    year, month, day = (int(number) for number in value.split("-"))
    try:
        # Python has no year 0. The calendar repeats every 400 years.
        return bool(datetime.date(2000 + year % 400, month, day))
    except ValueError:
        return False


def has_begun(day: str, instant: str) -> bool:
    """Whether a day has begun anywhere on earth: some clocks are 14 hours ahead of UTC."""
    today, time = instant.split("T")
    if day <= today:
        return True
    tomorrow = datetime.datetime.strptime(today, "%Y-%m-%d") + datetime.timedelta(days=1)
    return time >= "10" and day == tomorrow.date().isoformat()


def one_of(*values: Any) -> Kind:
    texts = [canonical(value) for value in values]
    return Kind("one of " + ", ".join(texts), lambda value: canonical(value) in texts)


ANYTHING = Kind("anything", lambda value: True)
TEXT = Kind("a text", lambda value: isinstance(value, str))
NAME = Kind("a text that is not empty", lambda value: isinstance(value, str) and value != "")
COUNT = Kind("an integer, 0 or more", lambda value: is_integer(value) and value >= 0)
POSITIVE = Kind("an integer, 1 or more", lambda value: is_integer(value) and value >= 1)
RATIO = Kind("an integer, 1 to 20", lambda value: is_integer(value) and 1 <= value <= 20)
MANY = Kind("an integer, 2 to 20", lambda value: is_integer(value) and 2 <= value <= 20)
PER_SLOT = Kind("an integer, 1 to 100", lambda value: is_integer(value) and 1 <= value <= 100)
WEIGHT = Kind("0 to a million", lambda value: is_integer(value) and 0 <= value <= 1000000)
FIRST_WEIGHT = Kind("1 to a million", lambda value: is_integer(value) and 1 <= value <= 1000000)
UINT32 = Kind("an integer of 32 bits", lambda value: is_integer(value) and 0 <= value < 2**32)
DIGITS = Kind("decimal digits", matches("[0-9]+"))
DIGITS_128_BIT = Kind("at most 39 decimal digits", matches("[0-9]{1,39}"))
SALT = Kind("32 hex digits in lower case", matches("[0-9a-f]{32}"))
SEAL = Kind("64 hex digits in lower case", matches("[0-9a-f]{64}"))
ROOT = Kind("base64 of 32 bytes", matches("[A-Za-z0-9+/]{43}="))
INSTANT = Kind("an instant in UTC with milliseconds", is_instant)
DAY = Kind("a day of the calendar, YYYY-MM-DD", is_day)
FREE_TEXT = Kind(
    "1 to 2,000 characters without control characters",
    matches(r"(?:[^\x00-\x1f\x7f-\x9f]|[\n\t]){1,2000}"),
)
UUID = Kind(
    "a UUID",
    matches(
        "(?i:[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"
        "|0{8}-0{4}-0{4}-0{4}-0{12}|f{8}-f{4}-f{4}-f{4}-f{12}"
    ),
)
PACK_CODE = Kind("a code of a pack", matches("[A-Za-z0-9._/-]{1,64}"))
VISIT = Kind(
    "1 to 20 of A-Z a-z 0-9 . _ - and spaces, the first a letter or digit, the last no space",
    matches("[A-Za-z0-9]([A-Za-z0-9._ -]{0,18}[A-Za-z0-9._-])?"),
)
LOG_NAME = Kind(
    "1 to 64 characters without white space, control characters and +",
    lambda value: NAME.accepts(value)
    and len(value) <= 64
    and not re.search(r"[\s\x00-\x1f\x7f-\x9f+]", value),
)

PERSON = {"cli": one_of(True), "user": TEXT}
KEY = {"keyId": TEXT, "user": TEXT, "accessRevision": COUNT, "onBehalfOf?": TEXT}
RECORD = {
    "actor": ANYTHING,
    "at": INSTANT,
    "data": ANYTHING,
    "id": UUID,
    "log": UUID,
    "revision": COUNT,
    "seals": ANYTHING,
    "stream": TEXT,
    "type": TEXT,
    "version": POSITIVE,
}

SIGNED = {"recovery": COUNT, "size": POSITIVE, "root": ROOT}
LEVEL = {"factor": NAME, "level": NAME}
STATE = {
    "bit_generator": one_of("PCG64"),
    "has_uint32": one_of(0, 1),
    "state": {"inc": DIGITS_128_BIT, "state": DIGITS_128_BIT},
    "uinteger": UINT32,
}
MEASURE = one_of("range", "variance", "chisquare")
PROTOCOL = {"version": NAME, "date?": DAY}
LIMITS = {"total?": POSITIVE, "levels?": ListOf(1, {**LEVEL, "max": POSITIVE})}
CONFIGURATION = {  # of every study, whatever its method
    "name": NAME,
    "mode": one_of("test", "live"),
    "treatments": ListOf(2, NAME),
    "factors": ListOf(1, {"name": NAME, "levels": ListOf(1, NAME)}),
    "idPattern?": TEXT,
    "targetEnrollment?": COUNT,
    "blinding?": one_of("blinded"),
    "start?": one_of("paused"),
    "limits?": LIMITS,
    "policies?": {
        "stopAtLimit?": one_of(True),
        "levelCounts?": one_of("as-randomized", "as-corrected"),
        "voidCounts?": one_of("removed"),
        "forcedCounts?": one_of("not-counted"),
    },
    "protocol?": PROTOCOL,
    "ratio?": ListOf(2, RATIO),
    "visits?": ListOf(1, VISIT),
}
OF_URNS = {
    "D": MEASURE,
    "urnSelection": one_of("method1"),
    "w": POSITIVE,
    "alpha": COUNT,
    "beta": COUNT,
}
METHOD = Either(
    [
        {"name": one_of("complete")},
        {"name": one_of("blocks"), "by": ListOf(0, NAME)},
        {"name": one_of("minimization")},
        {"name": one_of("list"), "by": ListOf(0, NAME)},
    ]
)
POLICY = {"kind": one_of("policy")}
CHANGE = Either(
    [
        {"kind": one_of("level-added", "level-closed", "level-reopened"), **LEVEL},
        {"kind": one_of("level-renamed"), **LEVEL, "to": NAME, "alias?": one_of(True)},
        {"kind": one_of("arm-closed", "arm-reopened"), "treatment": NAME},
        {"kind": one_of("arm-added"), "treatment": NAME, "ratio?": MANY},
        {
            "kind": one_of("urn"),
            "w?": FIRST_WEIGHT,
            "alpha?": WEIGHT,
            "beta?": WEIGHT,
            "D?": MEASURE,
        },
        {"kind": one_of("ratio"), "value": ListOf(2, RATIO)},
        {"kind": one_of("factor-retired"), "factor": NAME},
        {"kind": one_of("limits"), "value?": LIMITS},
        {"kind": one_of("id-pattern"), "value?": TEXT},
        {"kind": one_of("target"), "value?": COUNT},
        {"kind": one_of("blinding"), "value": one_of("open", "blinded")},
        {**POLICY, "name": one_of("stopAtLimit"), "value": one_of(True, False)},
        {**POLICY, "name": one_of("levelCounts"), "value": one_of("as-randomized", "as-corrected")},
        {**POLICY, "name": one_of("voidCounts"), "value": one_of("kept", "removed")},
        {**POLICY, "name": one_of("forcedCounts"), "value": one_of("counted", "not-counted")},
        {"kind": one_of("visits"), "value": ListOf(0, VISIT)},
        {"kind": one_of("arm-stopped"), "treatment": NAME},
    ]
)
# What draws, by method. A list is followed, and nothing is drawn.
ALGORITHMS = {
    "urn": "wei-urn-method1-pcg64",
    "complete": "complete-pcg64",
    "blocks": "permuted-blocks-pcg64",
    "minimization": "minimization-pcg64",
    "list": "list",
}
MINIMIZATION = {
    "measure": one_of("range", "variance"),
    "pThousandths": Kind("550 to 950", lambda value: is_integer(value) and 550 <= value <= 950),
    "weights?": ListOf(1, PER_SLOT),
}
REGISTRATION = {
    "studyId": UUID,
    "configuration": Either(
        [{**CONFIGURATION, **OF_URNS}, {**CONFIGURATION, "method": METHOD}], "method"
    ),
    "seedSource": one_of("configured", "drawn"),
    "seedWeak": one_of(True, False),
    "algorithm": {"name": one_of(*ALGORITHMS.values()), "version": one_of(1, 2)},
}
SCOPES = (
    *("blinded", "read", "randomize", "audit"),
    *("correct", "force", "unblind", "supply", "manage"),
)
GRANT = {
    "keyId": NAME,
    "user": NAME,
    "scopes": ListOf(1, one_of(*SCOPES)),
    "studies?": ListOf(1, NAME),
    "where?": ListOf(1, {"factor": NAME, "levels": ListOf(1, NAME)}),
    "expiresAt?": INSTANT,
    "allowPrediction?": one_of(True),
}
APPROVAL = {"name": NAME, "role": NAME, "on": DAY, "reference?": NAME}
REQUEST = {"request?": {"idempotencyKey": NAME}}
GROUNDS = {"grounds": {"reason": FREE_TEXT, "requestedBy?": NAME}}
NOTE = {"note": {"text": FREE_TEXT}}
DRAW = {
    "bgStateBefore": STATE,
    "bgStateAfter": STATE,
    "candidates": ListOf(1, NAME),
    "selectedFactor": NAME,
    "counts": ListOf(2, COUNT),
    "balls": ListOf(2, COUNT),
    "uniform53": COUNT,
    "slot?": COUNT,
}
PICK = {
    "bgStateBefore": STATE,
    "bgStateAfter": STATE,
    "weights": ListOf(2, COUNT),
    "uniform53": COUNT,
    "slot?": COUNT,
    "block?": {"number": POSITIVE, "perSlot": PER_SLOT},
    "counts?": ListOf(1, ListOf(2, COUNT)),
    "scores?": ListOf(2, COUNT),
}
ENTRY = {"list": POSITIVE, "entry": POSITIVE}
ALLOCATION = {"treatment": NAME, "slot?": COUNT}
PARTICIPANT = {"participantId": NAME, "randomizedAt": COUNT}  # and its record of enrolment
STRATUM = {"levels?": ListOf(1, NAME)}

# By type; the version of each is 1.
EVENTS = {
    # log
    "LogCreated": Event(
        {"format": one_of("urn-log@1"), "logId": UUID, "logName": LOG_NAME, "publicKey": NAME}, {}
    ),
    "SigningKeyRotated": Event({"publicKey": NAME, "endorsement": NAME, "reason": NAME}, {}),
    "LogRecovered": Event(
        {
            "recovery": POSITIVE,
            "reason": NAME,
            "streams": ListOf(1, {"stream": NAME, "kept": COUNT, "signed?": SIGNED}),
        },
        {"studies": {}},
    ),
    "LogMoved": Event({"move": UUID, "to": NAME, "reason?": NAME}, {}),
    "LogArrived": Event({"move": UUID, "from": NAME}, {}),
    # access
    "ApiKeyIssued": Event(GRANT, {"credential": {}}),
    "ApiKeyRevoked": Event({"keyId": NAME, "reason?": NAME}, {}),
    # a study
    "StudyRegistered": Event(
        REGISTRATION,
        {
            "generator": {"seed": DIGITS, "bgState": STATE},
            "blocks?": {"perSlot": ListOf(1, PER_SLOT)},
            "minimization?": MINIMIZATION,
        },
    ),
    "ParticipantRandomized": Event(
        {"participantId": NAME, "levels": ListOf(1, LEVEL), "code?": PACK_CODE},
        {
            "allocation": {"treatment": NAME},
            "draw?": DRAW,
            "pick?": PICK,
            "entry?": ENTRY,
            **REQUEST,
        },
    ),
    "StudyPaused": Event({"reason": NAME}, REQUEST),
    "StudyResumed": Event({"reason": NAME}, REQUEST),
    "StudyClosed": Event(
        {
            "approvals?": ListOf(1, APPROVAL),
            "cause": one_of("target", "sponsor", "safety", "regulator", "end", "other"),
            "reason": NAME,
        },
        REQUEST,
    ),
    "StudyReopened": Event(
        {
            "approvals": ListOf(0, APPROVAL),
            "protocol?": PROTOCOL,
            "reason": NAME,
        },
        REQUEST,
    ),
    "StudyAmended": Event(
        {
            "amendment": POSITIVE,
            "approvals": ListOf(0, APPROVAL),
            "changes": ListOf(0, CHANGE),
            "history?": one_of("keep", "restart"),
            "protocol?": PROTOCOL,
            "reason": NAME,
        },
        REQUEST,
    ),
    "AllocationForced": Event(
        {
            "cause": one_of("outage", "elsewhere", "protocol", "other"),
            "code?": PACK_CODE,
            "counted": one_of(True, False),
            "levels": ListOf(1, LEVEL),
            "occurredAt": INSTANT,
            "participantId": NAME,
            "replaces?": COUNT,
        },
        {"allocation": ALLOCATION, **NOTE, **REQUEST},
    ),
    "LevelsCorrected": Event(
        {
            **PARTICIPANT,
            "cause": one_of("entry", "source", "definition", "transfer", "other"),
            "changes": ListOf(1, {"factor": NAME, "from": NAME, "to": NAME}),
            "counts": one_of("as-randomized", "as-corrected"),
        },
        {**NOTE, **REQUEST},
    ),
    "AllocationVoided": Event(
        {
            **PARTICIPANT,
            "analysis": one_of("keep", "exclude"),
            "cause": one_of("ineligible", "duplicate", "never-enrolled", "entry", "other"),
            "counts": one_of("kept", "removed"),
            "duplicateOf?": NAME,
        },
        {**NOTE, **REQUEST},
    ),
    "AllocationReinstated": Event({**PARTICIPANT, "voidedAt": COUNT}, {**NOTE, **REQUEST}),
    "ParticipantIdCorrected": Event(
        {
            **PARTICIPANT,
            "cause": one_of("entry", "pattern", "other"),
            "from": NAME,
            "to": NAME,
        },
        REQUEST,
    ),
    "ListRegistered": Event(
        {"approvals": ListOf(0, APPROVAL), "count": POSITIVE, "list": POSITIVE},
        {
            "list": {
                "entries": ListOf(1, {**STRATUM, "treatment": NAME}),
                "file": SEAL,
                "first": POSITIVE,
            }
        },
    ),
    "EntriesSkipped": Event(
        {"reason": NAME, "skipped": ListOf(0, {**STRATUM, "count": POSITIVE})},
        {},
    ),
    "CodesRegistered": Event(
        {"count": POSITIVE, "list": POSITIVE, "where?": LEVEL},
        {
            "codes": {
                "entries": ListOf(1, {"code": PACK_CODE, "treatment": NAME}),
                "key": SALT,
                "closedArms?": one_of(True),
            }
        },
    ),
    "CodeReplaced": Event(
        {
            **PARTICIPANT,
            "by": PACK_CODE,
            "cause": one_of("damaged", "lost", "expired", "other"),
            "code": PACK_CODE,
        },
        REQUEST,
    ),
    "PackDispensed": Event({**PARTICIPANT, "code": PACK_CODE, "visit": VISIT}, REQUEST),
    "DispensationCorrected": Event(
        {
            **PARTICIPANT,
            "cause": one_of("entry", "not-handed-out", "other"),
            "code": PACK_CODE,
            "from?": VISIT,
            "to?": VISIT,
        },
        {**NOTE, **REQUEST},
    ),
    "CodesWithdrawn": Event(
        {"count": POSITIVE},
        {"withdrawn": {"codes": ListOf(1, PACK_CODE), "reason": FREE_TEXT}, **REQUEST},
    ),
    "AllocationRevealed": Event(
        {
            "category": one_of(
                "emergency", "safety-report", "monitoring", "planned", "end", "other"
            ),
            "code?": PACK_CODE,
            "participantId?": NAME,
            "randomizedAt?": COUNT,
            "reveal": UUID,
            "shownAt?": INSTANT,
        },
        {**GROUNDS, **REQUEST},
    ),
    "UnblindingReported": Event(
        {
            **PARTICIPANT,
            "how": one_of("envelope", "label", "clinical", "disclosure", "other"),
            "inadvertent?": one_of(True),
            "occurredAt": INSTANT,
            "revealedAt?": COUNT,
        },
        {**GROUNDS, **REQUEST},
    ),
    "HistoryImported": Event(
        {
            "approvals": ListOf(0, APPROVAL),
            "generator": one_of("fresh", "continued"),
            "import": UUID,
            "proof": {"redrawn": COUNT, "unproven": COUNT},
            "seedKnown?": one_of(True),
            "source": {"format": one_of("reference", "csv"), "rows": POSITIVE},
        },
        {
            "source": {
                "sha256": SEAL,
                "treatmentMap?": ListOf(1, {"from": NAME, "to": NAME, "slot?": COUNT}),
            },
            "generator": {"bgState": STATE, "seed?": DIGITS},
        },
    ),
    "ParticipantImported": Event(
        {
            "cause?": one_of("first", "no-state", "override", "differs", "other-system"),
            "import": UUID,
            "levels": ListOf(1, LEVEL),
            "original": {"datetime": NAME, "user": NAME},
            "participantId": NAME,
            "redrawn": one_of(True, False),
            "row": POSITIVE,
        },
        {"allocation": ALLOCATION, "draw?": DRAW, "state?": {"bgState": STATE}},
    ),
    "HistoryImportEnded": Event(
        Either(
            [
                {"import": UUID, "rows": POSITIVE},
                {"aborted": one_of(True), "import": UUID, "reason": NAME},
            ]
        ),
        {},
    ),
    "StudyRecovered": Event(
        {"recovery": POSITIVE, "kept": COUNT, "signed?": SIGNED},
        {"generator": {"seed": DIGITS, "bgState": STATE}},
    ),
}

# ---- The tree (docs/event-log.md; RFC 6962 section 2.1) -----------------------------------------


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right)


@dataclass
class Tree:
    """It is kept as the roots of its complete subtrees, the largest first."""

    size: int = 0
    peaks: List[bytes] = field(default_factory=list)

    def append(self, leaf: bytes) -> None:
        # As 1 is added to a binary number: every 1 at its end is carried.
        carried = self.size
        while carried % 2 == 1:
            leaf = node_hash(self.peaks.pop(), leaf)
            carried //= 2
        self.peaks.append(leaf)
        self.size += 1

    def root(self) -> str:
        if not self.peaks:
            return base64.b64encode(sha256(b"")).decode()
        whole = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            whole = node_hash(peak, whole)
        return base64.b64encode(whole).decode()


# ---- Keys and checkpoints (docs/event-log.md; C2SP signed-note and tlog-checkpoint) -------------


class VerifierKey(NamedTuple):
    name: str
    key_id: str
    public_key: bytes
    text: str


class Signature(NamedTuple):
    key_name: str
    key_id: str
    signature: bytes


class Checkpoint(NamedTuple):
    where: str
    is_kept: bool  # elsewhere: it did not come with the bundle
    origin: str
    size: int
    root: str
    body: bytes  # what is signed
    signatures: List[Signature]


def decode_base64(text: str) -> Optional[bytes]:
    """Accepts one text for each sequence of bytes. Python's own decoder accepts several."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return decoded if base64.b64encode(decoded).decode() == text else None


def parse_key(text: str) -> Optional[VerifierKey]:
    """A verifier key: <name>+<key id>+<base64 of 0x01 (Ed25519) and 32 bytes>."""
    parts = re.fullmatch(r"([^+\s]+)\+([0-9a-f]{8})\+(.+)", text)
    typed = decode_base64(parts[3]) if parts else None
    if parts is None or typed is None or len(typed) != 33 or typed[0] != 1:
        return None
    if sha256(f"{parts[1]}\n".encode("utf-8") + typed)[:4].hex() != parts[2]:
        return None
    return VerifierKey(parts[1], parts[2], typed[1:], text)


def read_trusted_key(given: str) -> VerifierKey:
    """From the command line: a verifier key, or a file that holds one."""
    text = given
    if os.path.exists(given):
        with open(given, encoding="utf-8") as file:
            text = file.read().strip()
    key = parse_key(text)
    if key is None:
        raise NothingVerified("--trust is neither a verifier key nor a file that holds one")
    return key


def split_notes(lines: Iterable[bytes], file: str) -> Iterator[str]:
    """Signed notes, separated by empty lines, or each as a line of base64."""
    note: List[str] = []
    signatures = size = begun = 0
    is_text, data = True, b""
    for number, data in enumerate(lines, 1):
        line = data.decode("utf-8")
        line = line[:-1] if line.endswith("\n") else line
        if not note:
            decoded = decode_base64(line)
            if decoded is not None and "\n\n— ".encode("utf-8") in decoded:
                yield decoded.decode("utf-8")
                continue
            if line == "":
                continue
            is_text, signatures, size, begun = True, 0, 0, number
        elif is_text:
            is_text = line != ""
        elif line == "" and signatures > 0:
            yield "\n".join(note) + "\n"
            note = []
            continue
        else:
            signatures += 1
            expect_note(f"{file}:{begun}", line.startswith("— "))
        note.append(line)
        size += len(line) + 1
        expect_note(f"{file}:{begun}", size <= NOTE_BYTES)
    if note:  # the line feed at the end of the file makes an empty line
        expect_note(f"{file}:{begun}", signatures > 0 and data.endswith(b"\n"))
        yield "\n".join(note) + "\n"


def expect_note(where: str, is_note: bool) -> None:
    if not is_note:
        raise NothingVerified(f"{where}: no signed note begins here")


def parse_signature(line: str) -> Optional[Signature]:
    parts = re.fullmatch("— ([^ ]+) ([^ ]+)", line)
    decoded = decode_base64(parts[2]) if parts else None
    if parts is None or decoded is None or len(decoded) <= 4:
        return None
    return Signature(parts[1], decoded[:4].hex(), decoded[4:])


def parse_note(note: str) -> Optional[Tuple[str, List[Signature]]]:
    """The text that is signed, and its signatures."""
    text, separator, rest = note.rpartition("\n\n")
    if not separator or not rest.endswith("\n") or re.search(r"[\x00-\x09\x0b-\x1f]", note):
        return None
    signatures = [parse_signature(line) for line in rest[:-1].split("\n")]
    known = [each for each in signatures if each is not None]
    return (text + "\n", known) if len(known) == len(signatures) else None


def read_checkpoints(lines: Iterable[bytes], file: str, is_kept: bool) -> List[Checkpoint]:
    """All checkpoints in a file: one that is left out would look as if it had been compared."""
    checkpoints = []
    known: Set[bytes] = set()
    for number, note in enumerate(split_notes(lines, file), 1):
        digest = sha256(note.encode("utf-8"))
        if digest in known:
            continue
        known.add(digest)
        parsed = parse_note(note)
        said = parsed[0].split("\n")[:-1] if parsed else []
        is_checkpoint = (
            len(said) >= 3
            and "" not in said
            and re.fullmatch("0|[1-9][0-9]{0,15}", said[1]) is not None
            and int(said[1]) < 2**53
            and len(decode_base64(said[2]) or b"") == 32
        )
        if parsed is None or not is_checkpoint:
            raise NothingVerified(f"{file}: note number {number} is not a checkpoint")
        where = printable(f"{file} number {number}, {said[0]}")
        body, signatures = parsed[0].encode("utf-8"), parsed[1]
        checkpoints.append(
            Checkpoint(where, is_kept, said[0], int(said[1]), said[2], body, signatures)
        )
    if not checkpoints:
        raise NothingVerified(f"{file} holds no checkpoint")
    return checkpoints


def read_bundled_checkpoints(bundle: Bundle) -> List[Checkpoint]:
    path = "checkpoints.txt"
    size = sum(each.size for each in bundle.entries if each.path == path)
    if size > CHECKPOINTS_BYTES:
        raise NothingVerified(f"{path} has more than {CHECKPOINTS_BYTES} bytes")

    def lines() -> Iterator[bytes]:
        for number, line in enumerate(bundle.lines(path), 1):
            if number > CHECKPOINTS_LINES:
                raise NothingVerified(f"{path} has more than {CHECKPOINTS_LINES} lines")
            yield line

    return read_checkpoints(lines(), path, False) if size > 0 else []


def parse_origin(log_name: str, origin: str) -> Tuple[Optional[str], int]:
    """The stream that an origin names (None: of another log), and the recovery of the log."""
    place = re.fullmatch(re.escape(log_name) + "/([^/]+)(?:/([1-9][0-9]{0,14}))?", origin)
    return (place[1], int(place[2] or 0)) if place else (None, 0)


def check_signature(body: bytes, signatures: List[Signature], keys: List[VerifierKey]) -> str:
    """Ed25519: good, NOT SIGNED BY A TRUSTED KEY, FORGED in the name of one, or NOT CHECKED."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return "NOT CHECKED"
    is_signed = False
    for key_name, key_id, signature in signatures:
        for key in keys:
            if (key.name, key.key_id) != (key_name, key_id):
                continue
            is_signed = True
            try:
                Ed25519PublicKey.from_public_bytes(key.public_key).verify(signature, body)
            except (InvalidSignature, ValueError):
                return "FORGED"
    return "good" if is_signed else "NOT SIGNED BY A TRUSTED KEY"


# ---- What the records have said so far ----------------------------------------------------------


class Repetitions:
    """Sixteen bytes of each of many values, to find the first one that repeats an earlier one.
    Including what sorting needs, each takes 40 bytes of memory."""

    def __init__(self) -> None:
        self.values = bytearray()
        self.revisions = array.array("L" if array.array("I").itemsize < 4 else "I")

    def add(self, value: bytes, revision: int) -> None:
        self.values += value[:16]
        self.revisions.append(revision)

    def first(self) -> Optional[int]:
        """The revision of the first value that equals an earlier one."""
        if len(self.revisions) < 2:
            return None
        values = numpy.frombuffer(self.values, dtype="S16")
        in_order = numpy.sort(values)
        if not (in_order[1:] == in_order[:-1]).any():
            return None
        order = numpy.argsort(values, kind="stable")
        repeats = order[1:][values[order[1:]] == values[order[:-1]]]
        return self.revisions[int(repeats.min())]


Levels = Tuple[str, ...]  # of a participant, in the order of the factors, by their present names
NONE = ""  # of a factor that had been retired before


class Voided(NamedTuple):
    revision: int  # of the event that voided the participant
    cause: str
    is_removed: bool  # whether the urns no longer count the participant
    duplicate_of: Optional[str]  # the same person's other id, as randomized


class Corrected(NamedTuple):
    """What is known of a participant now."""

    id: str
    levels: Levels
    counted_levels: Levels  # at which the urns count the participant, or did until the removal
    voided: Optional[Voided]


class Dispensed(NamedTuple):
    """A pack of a visit."""

    code: str
    visit: Optional[str]  # None: the pack is void, since the participant never got it


class Enrolled(NamedTuple):
    """A participant, as randomized, and as corrected since."""

    id: str
    levels: Levels
    revision: int
    at: Optional[int]  # milliseconds since 1970; None: the service did not allocate
    slot: int  # place in the urns; -1 if it is withheld
    arm: Optional[str]  # as allocated; None if it is withheld
    is_forced: bool = False  # entered by hand
    is_counted: bool = True  # by the urns, unless a void removes the participant
    corrected: Optional[Corrected] = None  # None: everything is as randomized
    code: Optional[str] = None  # of the pack of the enrolment
    replacements: int = 0  # how many of their packs were replaced
    dispensed: Tuple[Dispensed, ...] = ()  # of visits, in the order of their dispensation

    def now(self) -> Corrected:
        return self.corrected or Corrected(self.id, self.levels, self.levels, None)

    def counted_levels(self) -> Optional[Levels]:
        """The levels at which the urns count a participant of their epoch. None: they do not."""
        voided = self.now().voided
        is_removed = voided is not None and voided.is_removed
        return self.now().counted_levels if self.is_counted and not is_removed else None

    def fills_place(self) -> bool:
        """A limit does not count a person who was never enrolled, or one twice."""
        voided = self.now().voided
        return voided is None or voided.cause not in ("duplicate", "never-enrolled")

    def lives(self) -> bool:
        """Nobody else gets packs at visits."""
        voided = self.now().voided
        return voided is None or voided.cause not in ("duplicate", "never-enrolled", "entry")

    def visits(self) -> List[str]:
        """Those for which the participant has a pack."""
        return [each.visit for each in self.dispensed if each.visit is not None]

    def has_pack_for(self, visit: str) -> bool:
        return folded(visit) in map(folded, self.visits())

    def codes(self) -> List[str]:
        """Of all packs that the participant has."""
        of_visits = [each.code for each in self.dispensed if each.visit is not None]
        return of_visits if self.code is None else [self.code, *of_visits]

    def further_packs(self) -> int:
        """How many packs there were besides one for the enrolment and for each visit."""
        return self.replacements + sum(each.visit is None for each in self.dispensed)


class Pack(NamedTuple):
    """A pack of medication on a list."""

    code: str
    arm: str
    where: Optional[Json]  # a factor, and the level of it that participants must have
    key: bytes  # of the list


class Block(NamedTuple):
    """The latest block of a stratum."""

    number: int  # in the stratum, from 1
    per_slot: int  # places that each slot had at the beginning
    left: List[int]  # places of each open slot; none: the next participant begins another block


class ListEntry(NamedTuple):
    """An entry of a list of allocations that was made elsewhere."""

    list: int
    entry: int  # place on the list, from 1
    arm: str


Stratum = Tuple[int, ...]  # indexes of levels: a renaming changes nothing

# By factor and level, in the order of the design: participants by slot.
Counts = Dict[str, Dict[str, List[int]]]


@dataclass
class Design:
    """What amendments can change, as now in force."""

    # By arm, in order: from which instant on it was open, or closed. The first is the empty text.
    openings: Dict[str, List[Tuple[str, bool]]]
    slots: List[str]  # the arm of each place in the urns; without a ratio, each arm has one
    levels: Dict[str, List[str]]  # by factor, in order, by their present names
    names: Dict[str, Dict[str, str]]  # by factor, each name of a level, past ones too: its present
    settings: Json  # under the names that amendments use; None: there is none
    closed: Set[Tuple[str, str]] = field(default_factory=set)  # factors and levels
    retired: Set[str] = field(default_factory=set)  # factors
    # Closed arms: nobody on them gets packs any more.
    stopped: Set[str] = field(default_factory=set)
    amendment: int = 0  # number of the last one
    epoch_began: int = 0  # revision from which on the urns count participants

    def has_ratio(self) -> bool:
        return len(self.slots) > len(self.openings)

    def was_open(self, arm: str, instant: str) -> bool:
        return [is_open for since, is_open in self.openings[arm] if since <= instant][-1]

    def is_open(self, arm: str) -> bool:
        return self.openings[arm][-1][1]

    def open_slots(self) -> List[int]:
        return [slot for slot, arm in enumerate(self.slots) if self.is_open(arm)]

    def slots_of(self, arm: str) -> List[int]:
        return [slot for slot, of in enumerate(self.slots) if of == arm]

    def active_factors(self) -> List[str]:
        return [factor for factor in self.levels if factor not in self.retired]


class Step(NamedTuple):
    """What is known after a row of an import, or before the first."""

    bg_state: Optional[Json]  # of the generator; None: unknown
    counts: Counts


@dataclass
class Import:
    """An import that is under way."""

    begun: Json  # the data of its HistoryImported
    treatment_map: List[Json]  # empty if it is withheld
    state_before: str  # of the study
    rows: Set[int] = field(default_factory=set)  # numbers of those that are in
    last: Tuple[float, int] = (-math.inf, 0)  # instant and number of the last row
    rows_since_state: float = math.inf  # since the last one with a known state of the generator
    # Of the row with the latest instant; of several such rows, the first.
    latest_has_state: bool = False
    latest_state: Optional[Json] = None
    generator: Any = None  # numpy.random.Generator, with which the study will go on
    is_recovered: bool = False  # whether a recovery has begun the study's generator anew since
    beginning: Optional[Step] = None
    steps: List[Step] = field(default_factory=list)  # after each of the last rows


@dataclass
class History:
    """What the records have said so far. A record that is right is taken into it."""

    content: str
    # log
    log_name: str = ""
    log_keys: List[VerifierKey] = field(default_factory=list)
    unchecked_endorsements: int = 0
    # By stream: what each recovery says was kept of it.
    recoveries: Dict[str, List[Json]] = field(default_factory=lambda: {"log": []})
    moves: List[str] = field(default_factory=list)  # of the log to another store
    is_moved: bool = False  # LogMoved is the last record
    # access. None: it diverges, so nobody can be judged by it.
    api_keys: Optional[Dict[str, Json]] = field(default_factory=dict)
    # When each record was written; for one that is withheld, the last known time before it.
    access_times: List[int] = field(default_factory=list)
    # The study.
    acting_keys: Set[str] = field(default_factory=set)
    configuration: Optional[Json] = None  # as registered
    design: Optional[Design] = None
    method: str = "urn"
    by: List[str] = field(default_factory=list)  # the factors whose levels make a stratum
    # Permuted blocks: the places of each slot in a block of each size (empty if they are withheld),
    # and by stratum the latest block.
    per_slot: List[int] = field(default_factory=list)
    blocks: Dict[Stratum, Block] = field(default_factory=dict)
    # Lists of allocations made elsewhere: how many there are, how many entries are left in all,
    # whether some must be skipped first, and, unless they are withheld, by stratum the entries that
    # are left, and by digest of a file how many of its rows are on lists.
    entry_lists: int = 0
    entries_left: int = 0
    is_skip_owed: bool = False
    entries: Dict[Stratum, List[ListEntry]] = field(default_factory=dict)
    rows_listed: Dict[str, int] = field(default_factory=collections.Counter)
    # Minimization: its parameters, unless they are withheld, with a weight for each factor.
    minimization: Json = field(default_factory=dict)
    registered_at: int = 0  # milliseconds since 1970
    latest_at: str = ""  # of all its records
    closed_at: int = 0  # when it was last closed
    state: str = "unregistered"
    enrolled: Dict[str, Enrolled] = field(default_factory=dict)  # by the id as randomized
    # Ids that participants were given later, with those as randomized.
    renamed: Dict[str, str] = field(default_factory=dict)
    # Ids that differ from the form that they share with their look-alikes, by that form.
    look_alikes: Dict[str, str] = field(default_factory=dict)
    # How many participants limits count: by factor and level, and under None in all.
    filled: Dict[Optional[Tuple[str, str]], int] = field(default_factory=collections.Counter)
    # The combinations of levels, each kept once.
    combinations: Dict[Levels, Levels] = field(default_factory=dict)
    idempotency_keys: Set[Tuple[str, str]] = field(default_factory=set)  # with the user
    # Code-breaks: their UUIDs, and by revision the participant; None: a pack that nobody had.
    reveals: Set[str] = field(default_factory=set)
    revealed: Dict[int, Optional[str]] = field(default_factory=dict)
    # How many: code-breaks by category, those recorded late, reported unblindings.
    code_breaks: Dict[str, int] = field(default_factory=dict)
    recorded_late: int = 0
    unblindings_reported: int = 0
    unblinded: Set[str] = field(default_factory=set)  # participants whose arm somebody learned
    forced: Dict[str, int] = field(default_factory=collections.Counter)  # by cause
    # Corrections: of levels, of ids, who is voided now by cause, changes after a closing by type.
    levels_corrected: int = 0
    ids_corrected: int = 0
    voided: Dict[str, int] = field(default_factory=collections.Counter)
    changed_after_closing: Dict[str, int] = field(default_factory=collections.Counter)
    # Packs: how many lists there are, and how many packs were registered, replaced and withdrawn.
    lists: int = 0
    packs_registered: int = 0
    packs_replaced: int = 0
    packs_withdrawn: int = 0
    # Packs of visits: how many were given out, and how often that was corrected.
    packs_dispensed: int = 0
    packs_corrected: int = 0
    # By code, for all that were given out: the id as randomized. None: it was of a wrong entry, or
    # the participant never got it.
    given: Dict[str, Optional[str]] = field(default_factory=dict)
    # By code, all on the lists; by arm and code, those that can be given out. Empty if the lists
    # are withheld.
    packs: Dict[str, Pack] = field(default_factory=dict)
    free: Dict[str, Dict[str, Pack]] = field(default_factory=lambda: collections.defaultdict(dict))
    # Imports: the one that is under way, and how many rows were, and were not, drawn again.
    importing: Optional[Import] = None
    redrawn: int = 0
    unproven: int = 0
    counts: Counts = field(default_factory=dict)
    generator: Any = None  # numpy.random.Generator; None: its states are withheld
    registered_state: Optional[Json] = None  # of the generator
    drawn: int = 0
    certain: int = 0  # of these, by another method than the urn: with one possible arm
    # By stream and kind: the revision and text of the first, and how many there are.
    warnings: Dict[Tuple[str, str], Tuple[str, int]] = field(default_factory=dict)

    def warn(self, record: Json, kind: str, text: str) -> None:
        first = f"{printable(record['stream'])}, revision {record['revision']}: {text}"
        known, count = self.warnings.get((record["stream"], kind), (first, 0))
        self.warnings[record["stream"], kind] = (known, count + 1)


# ---- log (docs/event-log.md) --------------------------------------------------------------------


def expect_person(record: Json) -> None:
    expect_that("actor: a person at the command line", "cli" in record["actor"])


def take_log_record(history: History, record: Json, _: Json) -> None:
    kind, data = record["type"], record["data"]
    expect_person(record)
    if record["revision"] == 0:
        expect("type", "LogCreated", kind)
        expect("data.logId", record["log"], data["logId"])
        history.log_name = data["logName"]
        history.log_keys.append(key_of_log(history, data))
        return
    may_follow = kind in ("LogArrived", "LogRecovered") or not history.is_moved
    expect_that("type: LogArrived or LogRecovered, after LogMoved", may_follow)
    if kind == "SigningKeyRotated":
        take_rotation(history, record)
    elif kind == "LogRecovered":
        take_log_recovery(history, record)
    elif kind == "LogMoved":
        expect_that("data.move: new", data["move"] not in history.moves)
        history.moves.append(data["move"])
    else:
        expect_that("type: LogArrived after LogMoved", kind == "LogArrived" and history.is_moved)
        expect("data.move", history.moves[-1], data["move"])
    history.is_moved = kind == "LogMoved"


def key_of_log(history: History, data: Json) -> VerifierKey:
    key = parse_key(data["publicKey"])
    is_of_log = key is not None and key.name == history.log_name
    expect_that("data.publicKey: a verifier key that bears the name of the log", is_of_log)
    return key


def take_rotation(history: History, record: Json) -> None:
    """From here on another key signs, which the one before has endorsed."""
    data = record["data"]
    expect_person(record)
    key = key_of_log(history, data)
    expect_that("data.publicKey: new", key not in history.log_keys)
    text = f"{history.log_name}/signing-key\n{record['log']}\n{key.text}\n"
    note = parse_note(data["endorsement"])
    expect("data.endorsement: its text", text, note[0] if note else None)
    signature = check_signature(text.encode("utf-8"), note[1], history.log_keys[-1:])
    if signature == "NOT CHECKED":
        history.unchecked_endorsements += 1
    else:
        expect("data.endorsement: signed by the key before", "good", signature)
    history.log_keys.append(key)


def take_log_recovery(history: History, record: Json) -> None:
    """Records were lost. What it says of studies is sealed, and StudyRecovered repeats it."""
    data = record["data"]
    expect_person(record)
    last = max([0] + [each["recovery"] for each in history.recoveries["log"]])
    expect_that(f"data.recovery: above {last}", data["recovery"] > last)
    names = [each["stream"] for each in data["streams"]]
    expect_that("data.streams: each once", len(set(names)) == len(names))
    expect_that("data.streams: no study", not any(name.startswith("study-") for name in names))
    kept = [each["kept"] for each in data["streams"] if each["stream"] == "log"]
    expect("data.streams: kept of log", [record["revision"]], kept)
    for each in data["streams"]:
        signed = each.get("signed", {"recovery": 0})["recovery"]
        expect_that(f"data.recovery: above {signed}, what was signed", data["recovery"] > signed)
        of_stream = history.recoveries.setdefault(each["stream"], [])
        of_stream.append({**each, "recovery": data["recovery"]})


# ---- access (docs/event-log.md) -----------------------------------------------------------------

CLOCKS_DIFFER_MS = 1000  # between two instances
ID_AND_TIME_DIFFER_MS = 5000  # of one record: both are read from one clock
REQUEST_MS = 15000  # how long a request may wait between its key's acceptance and its record
LATE_MS = 7 * 24 * 3600 * 1000  # a warning points out an allocation that was entered later


def take_access_record(history: History, record: Json, _: Json) -> None:
    kind, data = record["type"], record["data"]
    expect_person(record)
    if kind == "ApiKeyIssued":
        expect_that("data.keyId: new", data["keyId"] not in history.api_keys)
        check_grant(data)
        history.api_keys[data["keyId"]] = {**data, "issued": record["revision"], "revoked": None}
    else:
        expect("type", "ApiKeyRevoked", kind)
        key = history.api_keys.get(data["keyId"])
        expect_that("data.keyId: issued, and not revoked", bool(key) and key["revoked"] is None)
        key["revoked"] = record["revision"]


def check_grant(data: Json) -> None:
    """Whoever sees generator states sees arms, and could choose the next one."""
    scopes = set(data["scopes"])
    for scope in scopes & {"audit", "manage"}:
        expect_that(f"data.where: none with the scope {scope}", "where" not in data)
    for scope in scopes & {"audit", "force", "supply"}:
        expect_that(f"data.scopes: {scope} without blinded", "blinded" not in scopes)
    can_steer = "audit" in scopes and scopes & {"randomize", "correct", "force", "manage"}
    can_choose = "randomize" in scopes and scopes & {"force", "manage"}
    may_act = "allowPrediction" in data or not (can_steer or can_choose)
    expect_that("data.allowPrediction: with scopes that can steer the next arm", may_act)


class Stake(NamedTuple):
    """Levels to which the limits of a key apply: all of them, or any, must be within the limits."""

    need: Callable[[List[bool]], bool]  # all or any
    of: List[Levels]


def check_key(history: History, record: Json, scopes: List[str], stake: Stake, at: int) -> None:
    """Whether the actor's key could do this at that time, as far as the `access` records show."""
    actor, revision = record["actor"], record["actor"]["accessRevision"]
    expect_that(
        "actor.accessRevision: below the size of access", revision < len(history.access_times)
    )
    key = history.api_keys.get(actor["keyId"])
    expect_that("actor.keyId: issued, as far as access shows", key is not None)
    expect("actor.user", key["user"], actor["user"])
    is_valid = key["issued"] <= revision and (key["revoked"] is None or revision < key["revoked"])
    has_scope = any(scope in key["scopes"] for scope in scopes)
    expect_that(f"actor.keyId: valid then, and may {' or '.join(scopes)}", is_valid and has_scope)
    is_for_study = history.configuration["name"] in key.get(
        "studies", [history.configuration["name"]]
    )
    expect_that("actor.keyId: for this study", is_for_study)
    if "where" in key:
        within = [is_within(history, key["where"], levels) for levels in stake.of]
        factors = ", ".join(limit["factor"] for limit in key["where"])
        expect_that(f"actor.keyId: for this level of {factors}", stake.need(within))
    if "expiresAt" in key:
        is_in_time = at <= milliseconds(key["expiresAt"]) + REQUEST_MS
        expect_that(f"at: before the key expired, {key['expiresAt']}", is_in_time)
    if at < history.access_times[revision] - CLOCKS_DIFFER_MS:
        history.warn(
            record,
            "older than access",
            "it is older than the record of access that it names, by the clocks of those who wrote "
            "the two: was it dated back?",
        )


def is_within(history: History, limits: List[Json], levels: Levels) -> bool:
    """Whether each factor that a key limits has one of its levels, under any name it has had."""
    level_of = dict(zip(history.design.levels, levels))
    for limit in limits:
        names = history.design.names.get(limit["factor"], {})
        listed = [names.get(level, level) for level in limit["levels"]]
        if level_of.get(limit["factor"]) not in listed:
            return False
    return True


def check_id(history: History, record: Json) -> None:
    """A UUID of version 7 begins with the milliseconds since 1970 (RFC 9562 section 5.7)."""
    made = uuid.UUID(record["id"])
    difference = abs(milliseconds(record["at"]) - (made.int >> 80))
    if made.version != 7 or difference > ID_AND_TIME_DIFFER_MS:
        history.warn(
            record,
            "id of another time",
            f"it says {record['at']}, and its id does not: was it dated back?",
        )


def warn_of_texts(history: History, record: Json, sections: Json) -> None:
    """What a record may hold and the service never writes, or takes from no request."""
    if record["id"] != record["id"].lower():
        history.warn(record, "id in upper case", "its id is in upper case, which is never written")
    texts = [
        sections.get("grounds", {}).get("requestedBy", ""),
        sections.get("request", {}).get("idempotencyKey", ""),
    ]
    if any(len(text) > 2000 or re.search(f"[{CONTROL}]", text) for text in texts):
        history.warn(
            record,
            "text refused by HTTP",
            "a sealed text has control characters or more than 2,000 characters, which no request "
            "may have",
        )


# ---- The study (docs/event-log.md) --------------------------------------------------------------

# White space as ECMAScript defines it, and Unicode's category Cc.
WHITE_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
CONTROL = "\x00-\x1f\x7f-\x9f"


class Act(NamedTuple):
    cli: bool  # whether somebody at the command line may do it
    scopes: List[str]  # an API key needs one of them; empty: no key may do it
    states: List[str]  # the states of the study in which it is possible


SETTLED = ["open", "paused", "closed"]  # between imports
EVERY_STATE = [*SETTLED, "importing"]
# Who may write which event, and when.
ACTS = {
    "StudyRegistered": Act(True, [], []),
    "ParticipantRandomized": Act(False, ["randomize"], ["open"]),
    "StudyPaused": Act(True, ["manage"], ["open"]),
    "StudyResumed": Act(True, ["manage"], ["paused"]),
    "StudyClosed": Act(True, ["manage"], ["open", "paused"]),
    "StudyReopened": Act(True, ["manage"], ["closed"]),
    "StudyAmended": Act(True, ["manage"], SETTLED),
    "AllocationForced": Act(True, ["force"], SETTLED),
    "LevelsCorrected": Act(True, ["correct"], SETTLED),
    "AllocationVoided": Act(True, ["correct"], SETTLED),
    "AllocationReinstated": Act(True, ["correct"], SETTLED),
    "ParticipantIdCorrected": Act(True, ["correct"], SETTLED),
    "ListRegistered": Act(True, [], SETTLED),
    "EntriesSkipped": Act(True, [], SETTLED),
    "CodesRegistered": Act(True, [], SETTLED),
    "CodeReplaced": Act(True, ["randomize", "supply"], SETTLED),
    "PackDispensed": Act(True, ["randomize", "supply"], SETTLED),
    "DispensationCorrected": Act(True, ["correct", "supply"], SETTLED),
    "CodesWithdrawn": Act(True, ["supply"], SETTLED),
    "AllocationRevealed": Act(True, ["unblind"], EVERY_STATE),
    "UnblindingReported": Act(True, ["unblind", "correct"], EVERY_STATE),
    "HistoryImported": Act(True, [], ["open", "paused"]),
    "ParticipantImported": Act(True, [], ["importing"]),
    "HistoryImportEnded": Act(True, [], ["importing"]),
    "StudyRecovered": Act(True, [], EVERY_STATE),
}
STATE_AFTER = {
    "StudyPaused": "paused",
    "StudyResumed": "open",
    "StudyClosed": "closed",
    "StudyReopened": "open",
    "HistoryImported": "importing",
}


def take_study_record(history: History, record: Json, sections: Json) -> None:
    kind, before = record["type"], None
    expect_that("type: an event of a study", kind in ACTS)
    history.latest_at = max(history.latest_at, record["at"])
    if history.state == "unregistered":
        expect("type", "StudyRegistered", kind)
    else:
        is_possible = history.state in ACTS[kind].states
        expect_that(f"type: possible while the study is {history.state}", is_possible)
    if kind == "StudyRegistered":
        take_registration(history, record, sections)
    elif kind == "ParticipantRandomized":
        take_participant(history, record, sections)
    elif kind == "AllocationForced":
        take_forced(history, record, sections)
    elif kind == "HistoryImported":
        begin_import(history, record, sections)
    elif kind == "ParticipantImported":
        take_imported(history, record, sections)
    elif kind == "HistoryImportEnded":
        end_import(history, record)
    elif kind == "StudyRecovered":
        take_study_recovery(history, record, sections)
    elif kind == "StudyClosed":
        check_approvals(history, record)
        history.closed_at = milliseconds(record["at"])
        warn_of_approvals(history, record)
    elif kind == "StudyReopened":
        check_approvals(history, record)
        warn_of_approvals(history, record)
    elif kind == "StudyAmended":
        take_amendment(history, record)
    elif kind == "ListRegistered":
        take_entry_list(history, record, sections)
    elif kind == "EntriesSkipped":
        skip_entries(history, record)
    elif kind == "CodesRegistered":
        take_list(history, record, sections)
    elif kind == "CodesWithdrawn":
        take_withdrawal(history, record, sections)
    elif kind == "AllocationRevealed":
        before = check_revealed(history, record)
        take_code_break(history, record, before)
    elif "participantId" in record["data"]:
        before = check_enrolled(history, record)
        if kind == "UnblindingReported":
            take_report(history, record)
        elif kind == "CodeReplaced":
            take_replacement(history, record, before)
        elif kind == "PackDispensed":
            take_dispensation(history, record, before)
        elif kind == "DispensationCorrected":
            take_corrected_dispensation(history, record, before)
        else:
            take_correction(history, record, before)
    check_request(history, record, sections)
    check_actor(history, record, sections, before)
    if kind == "StudyRegistered":
        history.state = history.configuration.get("start", "open")
    else:
        history.state = STATE_AFTER.get(kind, history.state)


def check_request(history: History, record: Json, sections: Json) -> None:
    """One user gives an Idempotency-Key once in a study, whatever it is for."""
    if "request" in sections:
        request = (record["actor"]["user"], sections["request"]["idempotencyKey"])
        is_new = request not in history.idempotency_keys
        expect_that("request.idempotencyKey: new for this user", is_new)
        history.idempotency_keys.add(request)


def check_approvals(history: History, record: Json) -> None:
    approvals = record["data"].get("approvals", [])
    is_free = history.configuration["mode"] == "test" or record["type"] == "StudyClosed"
    expect_that("data.approvals: at least one, since the study is live", approvals != [] or is_free)
    for place, approval in enumerate(approvals):
        is_given = has_begun(approval["on"], record["at"])
        expect_that(f"data.approvals[{place}].on: not in the future", is_given)


def warn_of_approvals(history: History, record: Json) -> None:
    if record["data"].get("approvals"):
        history.warn(
            record,
            "approval asserted",
            "the approval is only asserted by the writer; ask for the document",
        )


def check_actor(history: History, record: Json, sections: Json, before: Optional[Enrolled]) -> None:
    """`before` is the participant that an event is about, as they were before it."""
    data, actor, act = record["data"], record["actor"], ACTS[record["type"]]
    if "cli" in actor:
        expect_that("actor: an API key", act.cli)
        return
    expect_that("actor: a person at the command line", act.scopes != [])
    if history.api_keys is None:
        return
    shown_at = data.get("shownAt", record["at"])
    stake = stake_of(history, record, before)
    check_key(history, record, act.scopes, stake, milliseconds(shown_at))
    if record["type"] == "CodesWithdrawn":
        check_key_for_packs(history, record, sections.get("withdrawn", {}).get("codes", []))
    elif record["type"] == "AllocationRevealed" and before is None:
        check_key_for_packs(history, record, [data["code"]])


def stake_of(history: History, record: Json, before: Optional[Enrolled]) -> Stake:
    """A key with limits may act on participants and packs only."""
    kind, data = record["type"], record["data"]
    if kind in ("ParticipantRandomized", "AllocationForced"):
        return Stake(all, [history.enrolled[data["participantId"]].levels])
    if before is None and kind in ("AllocationRevealed", "CodesWithdrawn"):
        return Stake(all, [])  # it is about packs
    if before is None:
        return Stake(all, [()])
    if kind in ("AllocationRevealed", "UnblindingReported"):
        # A correction must not lock out an emergency.
        return Stake(any, [before.levels, before.now().levels])
    if kind == "LevelsCorrected":
        # Either site may record a transfer. Nobody else moves participants across their limits.
        after = history.enrolled[before.id]
        need = any if data["cause"] == "transfer" else all
        return Stake(need, [before.now().levels, after.now().levels])
    return Stake(all, [before.now().levels])


def take_study_recovery(history: History, record: Json, sections: Json) -> None:
    """The log lost records, so the generator begins anew."""
    data, stream = record["data"], record["stream"]
    expect("revision, after the records that were kept", max(data["kept"], 1), record["revision"])
    of_log = [each["recovery"] for each in history.recoveries["log"]]
    of_study = [each["recovery"] for each in history.recoveries.get(stream, [])]
    is_new = data["recovery"] in of_log and data["recovery"] > max([0] + of_study)
    expect_that("data.recovery: in log, and above the one before", is_new)
    history.recoveries.setdefault(stream, []).append(data)
    begin_generator(history, sections, is_drawn=True)
    # Participants who were lost used entries.
    history.is_skip_owed = history.method == "list"
    if history.importing:
        history.importing.is_recovered = True


def take_registration(history: History, record: Json, sections: Json) -> None:
    data = record["data"]
    configuration = data["configuration"]
    study_id = uuid.uuid5(uuid.UUID(record["log"]), configuration["name"])
    expect("stream, which follows from the study's name", f"study-{study_id}", record["stream"])
    expect("data.studyId", str(study_id), data["studyId"])
    arms = configuration["treatments"]
    check_distinct("data.configuration.treatments", arms)
    factors = configuration["factors"]
    check_distinct("data.configuration.factors", [factor["name"] for factor in factors])
    for factor in factors:
        check_distinct(f"data.configuration: levels of {factor['name']}", factor["levels"])
    levels = {factor["name"]: factor["levels"] for factor in factors}
    check_policies(configuration)
    check_limits("data.configuration.limits", configuration.get("limits"), levels)
    if "ratio" in configuration:
        check_ratio("data.configuration.ratio", configuration["ratio"], arms)
        is_equal = set(configuration["ratio"]) == {1}
        expect_that("data.configuration.ratio: left out if all arms are equal", not is_equal)
    take_method(history, record, sections)
    history.registered_at = milliseconds(record["at"])
    history.configuration = configuration
    history.design = registered_design(configuration, levels)
    check_visits("data.configuration.visits", history.design.settings["visits"], arms)
    history.counts = no_counts(history.design)
    begin_generator(history, sections, is_drawn=data["seedSource"] == "drawn")
    if history.content == "full":
        history.registered_state = sections["generator"]["bgState"]
        is_weak = int(sections["generator"]["seed"]) < 2**96
        expect("data.seedWeak", is_weak, data["seedWeak"])


def take_method(history: History, record: Json, sections: Json) -> None:
    """What draws. A method has its own parameters, which are sealed, and no others."""
    configuration = record["data"]["configuration"]
    method = configuration.get("method", {"name": "urn"})
    history.method, history.by = method["name"], method.get("by", [])
    version = 2 if history.method == "urn" and "ratio" in configuration else 1
    algorithm = {"name": ALGORITHMS[history.method], "version": version}
    expect("data.algorithm", algorithm, record["data"]["algorithm"])
    factors = [factor["name"] for factor in configuration["factors"]]
    in_order = [factor for factor in factors if factor in history.by]
    expect("data.configuration.method.by: in the order of the factors", in_order, history.by)
    if history.method == "list":
        expect_that(
            "data.configuration.ratio: none, since a list holds its own",
            "ratio" not in configuration,
        )
        expect("data.seedSource", "drawn", record["data"]["seedSource"])
    has_blocks = history.method == "blocks"
    expect("seals.blocks: there, since it has blocks", has_blocks, "blocks" in record["seals"])
    if "blocks" in sections:
        history.per_slot = sizes = sections["blocks"]["perSlot"]
        expect("blocks.perSlot: each once, ascending", sorted(set(sizes)), sizes)
        expect_that("blocks.perSlot: at most 8", len(sizes) <= 8)
    is_minimized = history.method == "minimization"
    is_there = "minimization" in record["seals"]
    expect("seals.minimization: there, since it minimizes", is_minimized, is_there)
    if "minimization" in sections:
        weights = sections["minimization"].get("weights")
        if weights is not None:
            expect("minimization.weights: one for each factor", len(factors), len(weights))
            expect_that("minimization.weights: left out if equal", len(set(weights)) > 1)
            expect(
                "minimization.weights: their common divisor", 1, functools.reduce(math.gcd, weights)
            )
        history.minimization = {
            **sections["minimization"],
            "weights": dict(zip(factors, weights or [1] * len(factors))),
        }


def no_counts(design: Design) -> Counts:
    size = len(design.slots)
    return {factor: {each: [0] * size for each in of} for factor, of in design.levels.items()}


def registered_design(configuration: Json, levels: Dict[str, List[str]]) -> Design:
    """With its defaults written out."""
    arms = configuration["treatments"]
    settings = {
        **{name: configuration.get(name) for name in URN},
        "limits": configuration.get("limits"),
        "id-pattern": configuration.get("idPattern"),
        "target": configuration.get("targetEnrollment"),
        "blinding": configuration.get("blinding", "open"),
        "visits": configuration.get("visits", []),
        "stopAtLimit": False,
        "levelCounts": default_level_counts(configuration),
        "voidCounts": "kept",
        "forcedCounts": "counted",
        **configuration.get("policies", {}),
    }
    names = {factor: {each: each for each in of} for factor, of in levels.items()}
    openings = {arm: [("", True)] for arm in arms}
    slots = slots_by_ratio(arms, configuration.get("ratio", [1] * len(arms)))
    return Design(openings, slots, dict(levels), names, settings)


URN = ("w", "alpha", "beta", "D")


def slots_by_ratio(arms: Iterable[str], ratio: List[int]) -> List[str]:
    return [arm for arm, number in zip(arms, ratio) for _ in range(number)]


def check_ratio(what: str, ratio: List[int], arms: Collection[str]) -> None:
    expect(f"{what}: a number for each arm", len(arms), len(ratio))
    expect(f"{what}: the divisor of all", 1, functools.reduce(math.gcd, ratio))
    check_slots(what, sum(ratio))


def check_slots(what: str, slots: int) -> None:
    expect_that(f"{what}: at most 40 slots", slots <= 40)


def default_level_counts(configuration: Json) -> str:
    return "as-corrected" if "blinding" in configuration else "as-randomized"


def check_policies(configuration: Json) -> None:
    """A default is left out, so that one configuration has one form."""
    policies = configuration.get("policies")
    expect_that("data.configuration.policies: left out if there are none", policies != {})
    is_default = (policies or {}).get("levelCounts") == default_level_counts(configuration)
    expect_that("data.configuration.policies.levelCounts: not the default", not is_default)


def check_limits(what: str, limits: Optional[Json], levels: Dict[str, Any]) -> None:
    """Each limit is of a level of the study, once, in the order of the study."""
    expect_that(f"{what}: left out if there are none", limits != {})
    in_order = [(factor, level) for factor, of in levels.items() for level in of]
    limited = [(each["factor"], each["level"]) for each in (limits or {}).get("levels", [])]
    expected = [each for each in in_order if each in limited]
    expect_that(f"{what}.levels: levels of the study, in its order", limited == expected)


def check_room(history: History, levels: Dict[str, str]) -> None:
    """Limits keep participants out only if a policy says so."""
    limits = history.design.settings["limits"] or {}
    if not history.design.settings["stopAtLimit"]:
        return
    is_full = history.filled[None] >= limits.get("total", math.inf)
    expect_that("data.participantId: within the limit of the study", not is_full)
    for each in limits.get("levels", []):
        if levels.get(each["factor"]) == each["level"]:
            has_room = history.filled[each["factor"], each["level"]] < each["max"]
            expect_that(f"data.levels: within the limit of {each['level']}", has_room)


def fill_place(history: History, participant: Enrolled, by: int) -> None:
    """Limits count participants at their present levels."""
    if participant.fills_place():
        for place in [None, *zip(history.design.levels, participant.now().levels)]:
            history.filled[place] += by


def check_distinct(what: str, names: List[str]) -> None:
    expect_that(f"{what}: no name twice", len(set(names)) == len(names))


def take_participant(history: History, record: Json, sections: Json) -> None:
    levels = check_new_participant(history, record)
    check_open(history, levels)
    check_room(history, levels)
    evidence = {"urn": "draw", "list": "entry"}.get(history.method, "pick")
    shown = sorted({"draw", "entry", "pick"} & set(record["seals"]))
    expect("seals, of a draw or an entry", [evidence], shown)
    if history.method == "list":
        use_entry(history)
    slot = -1
    if history.content == "full":
        slot = check_draw(history, levels, sections)
    elif history.content == "open":
        is_open = history.design.is_open(arm_of(history, sections))
        expect_that("allocation.treatment: an arm that is open", is_open)
    check_given_pack(history, record, levels, sections)
    enrol(history, record, sections, levels, slot, milliseconds(record["at"]))


def take_forced(history: History, record: Json, sections: Json) -> None:
    """An allocation that was made outside the service. Nothing is drawn, and nobody is kept out."""
    data = record["data"]
    levels = check_new_participant(history, record)
    check_open(history, levels)
    is_counted = history.design.settings["forcedCounts"] == "counted"
    expect("data.counted", is_counted, data["counted"])
    occurred_at = milliseconds(data["occurredAt"])
    check_not_later(record, "occurredAt")
    is_later = occurred_at >= history.registered_at
    expect_that("data.occurredAt: not before the registration", is_later)
    is_in_time = history.state != "closed" or occurred_at < history.closed_at
    expect_that("data.occurredAt: before the closing, since the study is closed", is_in_time)
    slot = -1
    if "allocation" in sections:
        arm = arm_of(history, sections)
        was_open = history.design.was_open(arm, data["occurredAt"])
        expect_that("allocation.treatment: an arm that was open then", was_open)
        slot = check_slot(history, arm, sections["allocation"].get("slot"))
    if "code" in data:
        check_entered_pack(history, data, levels, sections)
    if "replaces" in data:
        wrong = history.enrolled[data["participantId"]]
        fill_place(history, wrong, -1)
        history.voided["entry"] -= 1
        # Its packs remain used, but nobody knows who has them.
        for code, holder in history.given.items():
            history.given[code] = None if holder == wrong.id else holder
    enrol(history, record, sections, levels, slot, None)
    history.forced[data["cause"]] += 1
    how = "an allocation made outside the service was entered by hand"
    history.warn(record, "forced", f"{how}: {data['cause']}")
    if milliseconds(record["at"]) - occurred_at > LATE_MS:
        how = "an allocation was entered more than seven days after it was made"
        history.warn(record, "entered late", how)


def check_open(history: History, levels: Dict[str, str]) -> None:
    is_open = history.design.closed.isdisjoint(levels.items())
    expect_that("data.levels: none that is closed", is_open)


def check_new_participant(history: History, record: Json) -> Dict[str, str]:
    """Returns the participant's levels by factor."""
    data, participant_id = record["data"], record["data"]["participantId"]
    levels = {each["factor"]: each["level"] for each in data["levels"]}
    factors = [each["factor"] for each in data["levels"]]
    expect("data.levels, factors", history.design.active_factors(), factors)
    for factor, level in levels.items():
        expect_that("data.levels: of the design", level in history.design.levels[factor])
    check_participant_id("data.participantId", participant_id)
    holder = holder_of(history, participant_id)
    if "replaces" in data:
        check_replaced(data, holder)
    else:
        expect_that("data.participantId: nobody has, or had, this id", holder is None)
    return levels


def check_replaced(data: Json, holder: Optional[Enrolled]) -> None:
    """A voided wrong entry gives way to another entry with its id."""
    is_theirs = holder is not None and holder.id == data["participantId"]
    expect_that("data.participantId: of an entry before", is_theirs)
    expect("data.replaces", holder.revision, data["replaces"])
    voided = holder.now().voided
    is_wrong = voided is not None and voided.cause == "entry"
    expect_that("data.replaces: voided as a wrong entry", is_wrong)


def arm_of(history: History, sections: Json) -> str:
    arm = sections["allocation"]["treatment"]
    expect_that("allocation.treatment: of the design", arm in history.design.openings)
    return arm


def check_slot(
    history: History, arm: str, slot: Optional[int], choices: Optional[List[int]] = None
) -> int:
    """The slot of an allocation that was not drawn. It is recorded only where it does not follow
    from the arm: of several choices, it is the one where the urns count the fewest participants."""
    choices = choices or history.design.slots_of(arm)
    if not history.design.has_ratio():
        expect("allocation.slot", None, slot)
        return choices[0]
    expect_that("allocation.slot: of the treatment", slot in choices)
    if history.content == "full":
        # Everybody has a level of each active factor.
        rows = history.counts[history.design.active_factors()[0]].values()
        totals = [sum(column) for column in zip(*rows)]
        expect("allocation.slot", min(choices, key=lambda each: totals[each]), slot)
    return slot


def enrol(
    history: History,
    record: Json,
    sections: Json,
    levels: Dict[str, str],
    slot: int,
    at: Optional[int],
) -> None:
    participant_id = record["data"]["participantId"]
    of_all_factors = tuple(levels.get(factor, NONE) for factor in history.design.levels)
    combination = kept_once(history, of_all_factors)
    enrolled = Enrolled(
        participant_id,
        combination,
        record["revision"],
        at,
        slot,
        sections.get("allocation", {}).get("treatment"),
        is_forced=record["type"] == "AllocationForced",
        is_counted=record["data"].get("counted", True),
        code=record["data"].get("code"),
    )
    if enrolled.code is not None:
        give_out(history, enrolled.code, participant_id)
    warn_of_look_alike(history, record, participant_id, participant_id)
    history.enrolled[participant_id] = enrolled
    fill_place(history, enrolled, 1)
    count_in_urns(history, enrolled, 1)


def kept_once(history: History, levels: Levels) -> Levels:
    return history.combinations.setdefault(levels, levels)


def check_participant_id(what: str, participant_id: str) -> None:
    expect_that(f"{what}: at most 128 characters", len(participant_id) <= 128)
    has_control = re.search(f"[{CONTROL}]", participant_id) is not None
    expect_that(f"{what}: no control character", not has_control)
    has_space = re.search(f"^[{WHITE_SPACE}]|[{WHITE_SPACE}]\\Z", participant_id) is not None
    expect_that(f"{what}: no white space at either end", not has_space)


def holder_of(history: History, participant_id: str) -> Optional[Enrolled]:
    """The participant who has, or had, this id."""
    return history.enrolled.get(history.renamed.get(participant_id, participant_id))


# Invisible, besides the characters of category Cf: Unicode's Default_Ignorable_Code_Point.
IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
# Invisible, private, unassigned, or half a character.
UNFIT_CATEGORIES = ("Cf", "Co", "Cn", "Cs", "Zl", "Zp")


def is_unfit(character: str) -> bool:
    category = unicodedata.category(character)
    is_space = category == "Zs" and character != " "
    is_ignorable = IGNORABLE.match(character) is not None
    return category in UNFIT_CATEGORIES or is_space or is_ignorable or character in "\u2800\ufffd"


def look_alike_form(text: str) -> str:
    """Ids that have the same form look alike."""
    if text.isascii():
        return text
    normal = unicodedata.normalize("NFKC", text)
    # Once the characters between a letter and its accent are gone, the two can combine.
    seen = "".join(character for character in normal if not is_unfit(character))
    return unicodedata.normalize("NFKC", seen)


def warn_of_look_alike(history: History, record: Json, new_id: str, of: str) -> None:
    """`of` is the id, as randomized, of the participant who gets the new id."""
    form = look_alike_form(new_id)
    known = [history.look_alikes.get(form)] + ([form] if form != new_id else [])
    for earlier in known:
        holder = holder_of(history, earlier) if earlier is not None else None
        if holder is not None and holder.id != of:
            history.warn(
                record,
                "look-alike ids",
                f"participant {printable(json.dumps(new_id, ensure_ascii=False))} looks like "
                f"participant {printable(json.dumps(earlier, ensure_ascii=False))}: it may be one "
                "person who was randomized twice",
            )
            break
    if form != new_id:
        history.look_alikes[form] = new_id


def check_enrolled(history: History, record: Json) -> Enrolled:
    """An event about a participant names the id, and the revision that enrolled its holder."""
    data = record["data"]
    enrolled = history.enrolled.get(data["participantId"])
    expect_that("data.participantId: randomized before", enrolled is not None)
    expect("data.randomizedAt", enrolled.revision, data.get("randomizedAt"))
    return enrolled


def check_not_later(record: Json, name: str) -> None:
    latest = milliseconds(record["at"]) + CLOCKS_DIFFER_MS
    is_past = milliseconds(record["data"].get(name, record["at"])) <= latest
    expect_that(f"data.{name}: not later than the record itself", is_past)


def check_revealed(history: History, record: Json) -> Optional[Enrolled]:
    """The participant whose code is broken. None: the code is of a pack that nobody had."""
    data = record["data"]
    if "code" in data:
        holder = history.given.get(data["code"])
        what = "data.participantId: of who has, or had, the pack"
        expect(what, holder, data.get("participantId"))
        is_known = data["code"] in history.packs or history.content != "full"
        expect_that("data.code: on a list", is_known and history.lists > 0)
        if holder is None:
            expect("data.randomizedAt", None, data.get("randomizedAt"))
            return None
    expect_that("data: of a participant, or of a pack", "participantId" in data)
    return check_enrolled(history, record)


def take_code_break(history: History, record: Json, participant: Optional[Enrolled]) -> None:
    data = record["data"]
    is_emergency = data["category"] == "emergency"
    expect_that("data.shownAt: only of an emergency", is_emergency or "shownAt" not in data)
    check_not_later(record, "shownAt")
    if "shownAt" in data and participant is not None and participant.at is not None:
        is_drawn = milliseconds(data["shownAt"]) >= participant.at - CLOCKS_DIFFER_MS
        expect_that("data.shownAt: not before the randomization", is_drawn)
    expect_that("data.reveal: new", data["reveal"] not in history.reveals)
    history.reveals.add(data["reveal"])
    history.revealed[record["revision"]] = data.get("participantId")
    count = history.code_breaks.get(data["category"], 0)
    history.code_breaks[data["category"]] = count + 1
    if participant is not None:
        history.unblinded.add(participant.id)
    if is_emergency:
        how = "a participant's code was broken in an emergency"
        history.warn(record, "revealed in emergency", how)
    else:
        how = "a participant's code was broken, not in an emergency"
        history.warn(record, "revealed", how)
    if "shownAt" in data:
        history.recorded_late += 1
        history.warn(
            record,
            "recorded late",
            f"the arm was shown at {data['shownAt']} and recorded later, because the log could not "
            "be written then",
        )


def take_report(history: History, record: Json) -> None:
    """Somebody was unblinded without the service, or a code-break was a mistake."""
    data = record["data"]
    check_not_later(record, "occurredAt")
    if "revealedAt" in data:
        is_theirs = history.revealed.get(data["revealedAt"]) == data["participantId"]
        expect_that("data.revealedAt: a code-break of this participant", is_theirs)
    history.unblindings_reported += 1
    history.unblinded.add(data["participantId"])
    history.warn(
        record,
        "unblinding reported",
        "an unblinding outside the service was reported afterwards",
    )


# ---- Lists of allocations made elsewhere (docs/event-log.md) ------------------------------------
#
# Only the content `full` says what is on a list, and which entry a participant got.

MOST_ENTRIES = 4000  # of one list
MOST_BYTES = 200000  # of the entries of one list


def take_entry_list(history: History, record: Json, sections: Json) -> None:
    data = record["data"]
    expect_that("type: of a study with lists", history.method == "list")
    expect("data.list", history.entry_lists + 1, data["list"])
    expect_that(f"data.count: at most {MOST_ENTRIES}", data["count"] <= MOST_ENTRIES)
    check_approvals(history, record)
    history.entry_lists += 1
    history.entries_left += data["count"]
    if "list" in sections:
        take_entries(history, data, sections["list"])
    how = "nothing in the log shows how the list was made: only that it was followed"
    history.warn(record, "list origin unknown", how)
    warn_of_approvals(history, record)


def take_entries(history: History, data: Json, section: Json) -> None:
    """They are used behind those of the lists before."""
    entries, file = section["entries"], section["file"]
    expect("data.count: that of the entries", len(entries), data["count"])
    size = len(canonical(entries).encode("utf-8"))
    expect_that(f"list.entries: at most {MOST_BYTES} bytes", size <= MOST_BYTES)
    expect("list.first", history.rows_listed[file] + 1, section["first"])
    history.rows_listed[file] += len(entries)
    for place, entry in enumerate(entries):
        what, arm = f"list.entries[{place}]", entry["treatment"]
        is_open = arm in history.design.openings and history.design.is_open(arm)
        expect_that(f"{what}.treatment: an arm that is open", is_open)
        stratum = named_stratum(history, what, entry)
        left = history.entries.setdefault(stratum, [])
        left.append(ListEntry(data["list"], place + 1, arm))


def named_stratum(history: History, what: str, named: Json) -> Stratum:
    """Levels have their names of now. Closed ones have strata, too."""
    levels = named.get("levels", [])
    is_by = len(levels) == len(history.by) and ("levels" in named) == (history.by != [])
    expect_that(f"{what}.levels: one of each of the factors that make strata", is_by)
    for factor, level in zip(history.by, levels):
        expect_that(f"{what}.levels: of the design", level in history.design.levels[factor])
    return stratum_of(history, dict(zip(history.by, levels)))


def skip_entries(history: History, record: Json) -> None:
    """Nobody of this log gets the next entries of these strata."""
    expect_that("type: possible while a skip is owed", history.is_skip_owed)
    history.is_skip_owed = False
    strata = set()
    for place, skipped in enumerate(record["data"]["skipped"]):
        what, count = f"data.skipped[{place}]", skipped["count"]
        stratum = named_stratum(history, what, skipped)
        expect_that(f"{what}.levels: each once", stratum not in strata)
        strata.add(stratum)
        history.entries_left -= count
        if history.content == "full":
            left = history.entries.get(stratum, [])
            expect_that(f"{what}.count: at most those that are left", count <= len(left))
            del left[:count]
    expect_that("data.skipped: at most those that are left in all", history.entries_left >= 0)


def use_entry(history: History) -> None:
    """What the clear numbers show."""
    expect_that("type: possible while no skip is owed", not history.is_skip_owed)
    expect_that("type: possible while entries are left", history.entries_left > 0)
    history.entries_left -= 1


def look_up(history: History, levels: Dict[str, str]) -> "Draw":
    """The first entry of the stratum that is left, by list, then by place."""
    left = history.entries.get(stratum_of(history, levels), [])
    expect_that("data.levels: of a stratum with entries", left != [])
    used = left.pop(0)
    return Draw({"list": used.list, "entry": used.entry}, history.design.slots_of(used.arm)[0])


# ---- Packs of medication (docs/event-log.md) ----------------------------------------------------
#
# Only the content `full` says which treatment a pack holds.

MOST_CODES = 4000  # of one list
FURTHER = 3  # packs of one participant, by those who do not see which treatment packs hold
MARGIN = 3  # packs of every arm that must be free, for those
TELLING = 4  # characters: shorter names of arms occur in codes by chance


def take_list(history: History, record: Json, sections: Json) -> None:
    data, design = record["data"], history.design
    expect("data.list", history.lists + 1, data["list"])
    expect_that(f"data.count: at most {MOST_CODES}", data["count"] <= MOST_CODES)
    if "where" in data:
        factor, level = data["where"]["factor"], data["where"]["level"]
        is_active = factor in design.active_factors()
        expect_that("data.where.factor: of the study, and not retired", is_active)
        expect_that("data.where.level: of the design", level in design.levels[factor])
    history.lists += 1
    history.packs_registered += data["count"]
    if "codes" not in sections:
        return
    entries, key = sections["codes"]["entries"], bytes.fromhex(sections["codes"]["key"])
    has_closed = "closedArms" in sections["codes"]
    expect("data.count: that of the entries", len(entries), data["count"])
    size = len(canonical(entries).encode("utf-8"))
    expect_that(f"codes.entries: at most {MOST_BYTES} bytes", size <= MOST_BYTES)
    for place, entry in enumerate(entries):
        what, code, arm = f"codes.entries[{place}]", entry["code"], entry["treatment"]
        is_arm = arm in design.openings and arm not in design.stopped
        expect_that(f"{what}.treatment: an arm that is not stopped", is_arm)
        may_be = has_closed or design.is_open(arm)
        expect_that(f"{what}.treatment: open, unless closedArms is there", may_be)
        expect_that(f"{what}.code: new", code not in history.packs)
        expect_that(f"{what}.code: it names no arm", not tells_arm(design.openings, code))
        history.packs[code] = Pack(code, arm, data.get("where"), key)
        history.free[arm][code] = history.packs[code]
    is_closed = any(not design.is_open(entry["treatment"]) for entry in entries)
    expect_that("codes.closedArms: there only if an arm is closed", is_closed or not has_closed)


def tells_arm(arms: Iterable[str], text: str) -> bool:
    """Whether a code or a visit is, or contains, the name of an arm."""
    text, names = text.lower(), [arm.lower() for arm in arms]
    return any(text == arm or (len(arm) >= TELLING and arm in text) for arm in names)


def take_withdrawal(history: History, record: Json, sections: Json) -> None:
    data = record["data"]
    history.packs_withdrawn += data["count"]
    if "withdrawn" not in sections:
        return
    codes = sections["withdrawn"]["codes"]
    expect("data.count: that of the codes", len(codes), data["count"])
    for code in codes:
        # A code that is listed here twice is not free the second time.
        is_free = code in history.packs and code in history.free[history.packs[code].arm]
        expect_that(f"withdrawn.codes, {code}: free", is_free)
        del history.free[history.packs[code].arm][code]


def give_out(history: History, code: str, participant_id: str) -> None:
    history.given[code] = participant_id
    if code in history.packs:
        history.free[history.packs[code].arm].pop(code, None)


def is_for(history: History, pack: Pack, levels: Dict[str, str]) -> bool:
    """Whether a participant with these levels, by factor, may get the pack."""
    if pack.where is None:
        return True
    factor, level = pack.where["factor"], pack.where["level"]
    return levels.get(factor) == history.design.names[factor][level]


def free_packs(history: History, arm: str, levels: Dict[str, str]) -> List[Pack]:
    return [pack for pack in history.free[arm].values() if is_for(history, pack, levels)]


def check_choice(
    history: History,
    what: str,
    code: str,
    arm: str,
    levels: Dict[str, str],
    participant_id: str,
    stocked: Iterable[str],
    least: int = 1,
) -> None:
    """Each of the arms `stocked` has so many packs for the participant. The code is that of the
    pack of their arm with the smallest hash."""
    for each in stocked:
        has_packs = len(free_packs(history, each, levels)) >= least
        expect_that(f"{what}: in stock, as for every arm that may come", has_packs)
    packs = free_packs(history, arm, levels)
    expect_that(f"{what}: of a free pack", packs != [])
    rest = b"\x00" + participant_id.encode("utf-8") + b"\x00"
    chosen = min(packs, key=lambda pack: sha256(pack.key + rest + pack.code.encode("ascii")))
    expect(what, chosen.code, code)


def check_given_pack(
    history: History, record: Json, levels: Dict[str, str], sections: Json
) -> None:
    """Once there is a list, everybody who is randomized gets a pack."""
    data, design = record["data"], history.design
    expect("data.code: there, since the study has packs", history.lists > 0, "code" in data)
    if "code" not in data:
        return
    expect_that("data.code: never given out before", data["code"] not in history.given)
    if history.content == "full":
        arm, participant_id = sections["allocation"]["treatment"], data["participantId"]
        stocked = [each for each in design.openings if design.is_open(each)]
        check_choice(history, "data.code", data["code"], arm, levels, participant_id, stocked)


def check_entered_pack(
    history: History, data: Json, levels: Dict[str, str], sections: Json
) -> None:
    """The pack of an allocation made outside. An entry may have that of the one it replaces."""
    code = data["code"]
    is_own = "replaces" in data and history.enrolled[data["participantId"]].code == code
    is_new = history.lists > 0 and code not in history.given
    expect_that("data.code: never given out before", is_own or is_new)
    if history.content == "full":
        pack = history.packs.get(code)
        expect_that("data.code: on a list", pack is not None)
        expect_that("data.code: free", is_own or code in history.free[pack.arm])
        expect_that("data.code: for these levels", is_for(history, pack, levels))
        expect("data.code: of the arm", sections["allocation"]["treatment"], pack.arm)


def take_replacement(history: History, record: Json, before: Enrolled) -> None:
    """The participant gets another pack of the same arm, in the place of one that they have."""
    data, code, by = record["data"], record["data"]["code"], record["data"]["by"]
    expect_that("data.code: of a pack that the participant has", code in before.codes())
    expect_that("data.participantId: of somebody who gets packs", before.lives())
    is_supply = may_see_packs(history, record)
    is_in_time = is_supply or before.further_packs() < FURTHER
    expect_that(f"data.code: at most {FURTHER} further packs, with this one", is_in_time)
    expect_that("data.by: never given out before", by not in history.given)
    check_further_pack(history, "data.by", by, before, 0 if is_supply else MARGIN)
    if before.code == code:
        after = before._replace(code=by)
    else:
        after = with_dispensed(before, code, Dispensed(by, visit_of(before, code)))
    after = after._replace(replacements=before.replacements + 1)
    history.enrolled[before.id] = after
    give_out(history, by, before.id)
    history.packs_replaced += 1


def check_further_pack(
    history: History, what: str, code: str, participant: Enrolled, least: int
) -> None:
    """It is for the present levels, and of the arm as allocated. Every arm, closed ones too, has
    at least so many packs. Otherwise sites could take packs until they learn whose arm runs out."""
    design, arm = history.design, participant.arm
    expect_that(f"{what}: of an arm that is not stopped", arm not in design.stopped)
    if history.content == "full":
        stocked = [each for each in design.openings if each not in design.stopped]
        levels = dict(zip(design.levels, participant.now().levels))
        check_choice(history, what, code, arm, levels, participant.id, stocked, least)


def check_key_for_packs(history: History, record: Json, codes: List[str]) -> None:
    """A key with limits may act on packs for all levels and on packs for its own."""
    limits = history.api_keys[record["actor"]["keyId"]].get("where", [])
    for pack in [history.packs[code] for code in codes if code in history.packs]:
        for limit in limits:
            if pack.where is not None and pack.where["factor"] == limit["factor"]:
                names = history.design.names[limit["factor"]]
                listed = [names.get(level, level) for level in limit["levels"]]
                is_listed = names[pack.where["level"]] in listed
                expect_that(f"actor.keyId: for the level of the pack {pack.code}", is_listed)


def may_see_packs(history: History, record: Json) -> bool:
    """Whether whoever wrote a record may know which treatment packs hold."""
    actor = record["actor"]
    if "cli" in actor or history.api_keys is None:
        return True
    return "supply" in history.api_keys.get(actor["keyId"], {}).get("scopes", [])


# ---- Packs at visits (docs/event-log.md) --------------------------------------------------------
#
# After the enrolment participants get further packs of their arm, one at each visit. Visits come in
# any order. The pack of the enrolment has no visit.

MOST_VISITS = 100


def folded(visit: Optional[str]) -> Optional[str]:
    """Visits that differ in the case of letters alone are the same."""
    return visit.lower() if visit is not None else None


def declared_visit(design: Design, visit: str) -> Optional[str]:
    """The visit, as it is declared."""
    same = [each for each in design.settings["visits"] if folded(each) == folded(visit)]
    return same[0] if same else None


def check_visits(what: str, visits: List[str], arms: Iterable[str]) -> None:
    """Those at which sites give out packs."""
    expect_that(f"{what}: at most {MOST_VISITS}", len(visits) <= MOST_VISITS)
    check_distinct(what, [visit.lower() for visit in visits])
    for place, visit in enumerate(visits):
        expect_that(f"{what}[{place}]: it names no arm", not tells_arm(arms, visit))


def check_visit(history: History, record: Json, what: str, visit: str) -> None:
    """It is declared, and spelled so. With supply it may be another one."""
    declared = declared_visit(history.design, visit)
    if declared is not None:
        expect(f"{what}: as it is declared", declared, visit)
        return
    is_supply = may_see_packs(history, record)
    expect_that(f"{what}: declared, since it is without supply", is_supply)
    expect_that(f"{what}: it names no arm", not tells_arm(history.design.openings, visit))


def take_dispensation(history: History, record: Json, before: Enrolled) -> None:
    """The participant gets a pack of their arm at a visit."""
    data, code, visit = record["data"], record["data"]["code"], record["data"]["visit"]
    is_first = not before.has_pack_for(visit)
    expect_that("data.visit: one for which the participant has no pack", is_first)
    check_visit(history, record, "data.visit", visit)
    expect_that("data.participantId: of somebody who gets packs", before.lives())
    is_supply = may_see_packs(history, record)
    is_in_time = is_supply or before.further_packs() <= FURTHER
    expect_that(f"data.participantId: at most {FURTHER} further packs before", is_in_time)
    expect_that("data.code: of a study with packs", history.lists > 0)
    expect_that("data.code: never given out before", code not in history.given)
    check_further_pack(history, "data.code", code, before, 0 if is_supply else MARGIN)
    after = before._replace(dispensed=(*before.dispensed, Dispensed(code, visit)))
    history.enrolled[before.id] = after
    give_out(history, code, before.id)
    history.packs_dispensed += 1
    if before.id in history.unblinded:
        how = "a participant got a pack after somebody had learned the arm"
        history.warn(record, "dispensed after reveal", how)
    if declared_visit(history.design, visit) is None:
        how = "a pack was given out at a visit that the study does not have"
        history.warn(record, "undeclared visit", how)


def visit_of(participant: Enrolled, code: str) -> Optional[str]:
    return {each.code: each.visit for each in participant.dispensed}[code]


def with_dispensed(participant: Enrolled, code: str, instead: Dispensed) -> Enrolled:
    """With another pack, or another visit, in the place of a pack of a visit."""
    dispensed = [instead if each.code == code else each for each in participant.dispensed]
    return participant._replace(dispensed=tuple(dispensed))


def take_corrected_dispensation(history: History, record: Json, before: Enrolled) -> None:
    """The pack was for another visit than recorded, or the participant never got it, or did."""
    data, code, to = record["data"], record["data"]["code"], record["data"].get("to")
    is_theirs = code in [each.code for each in before.dispensed]
    expect_that("data.code: of a pack of a visit of this participant", is_theirs)
    visit = visit_of(before, code)
    expect("data.from: the visit until here", visit, data.get("from"))
    expect_that("data.to: not as it is already", folded(to) != folded(visit))
    if to is not None:
        is_first = not before.has_pack_for(to)
        expect_that("data.to: one for which the participant has no pack", is_first)
        check_visit(history, record, "data.to", to)
    history.enrolled[before.id] = with_dispensed(before, code, Dispensed(code, to))
    # Nobody else ever gets the pack: that would show that the two are on one arm.
    history.given[code] = before.id if to is not None else None
    history.packs_corrected += 1
    warn_of_correction(history, record)


# ---- Amendments (docs/event-log.md) -------------------------------------------------------------
#
# From here on another design is in force. What has been drawn stays.


def take_amendment(history: History, record: Json) -> None:
    """Each change is judged by the design that results from the changes before it."""
    data, changes = record["data"], record["data"]["changes"]
    expect("data.amendment", history.design.amendment + 1, data["amendment"])
    check_approvals(history, record)
    is_amendment = changes != [] or "protocol" in data
    expect_that("data.changes: at least one, or else a protocol", is_amendment)
    check_history(history, data)
    for place, change in enumerate(changes):
        kind, what = change["kind"], f"data.changes[{place}]"
        if kind.startswith("level-"):
            change_level(history, what, change)
        elif kind.startswith("arm-"):
            change_arm(history, what, change)
        elif kind == "factor-retired":
            check_active(history, what, change["factor"])
            is_of_stratum = change["factor"] in history.by
            expect_that(f"{what}.factor: not one that makes strata", not is_of_stratum)
            history.design.retired.add(change["factor"])
        else:
            change_setting(history, what, change)
    check_what_is_left(history.design, changes)
    history.design.amendment += 1
    if data.get("history") == "restart":
        history.design.epoch_began = record["revision"]
        for stratum, block in history.blocks.items():
            history.blocks[stratum] = block._replace(left=[])
        history.entries_left = 0
        history.entries.clear()
        history.rows_listed.clear()
    if any(change["kind"] == "level-renamed" for change in changes):
        rename_levels_of_participants(history)
    count_anew(history)
    warn_of_approvals(history, record)


def check_history(history: History, data: Json) -> None:
    """What the urns count from here on: everybody as before, or only those who come later. Open
    blocks and entries of lists go on, or are dropped."""
    kinds = [change["kind"] for change in data["changes"]]
    touches_urns = any(re.match("level-|arm-(?!stopped)|factor-|urn|ratio", kind) for kind in kinds)
    possible: List[Optional[str]] = ["keep", "restart"] if touches_urns else [None]
    has_other_arms = not {"arm-added", "arm-closed", "arm-reopened"}.isdisjoint(kinds)
    if "ratio" in kinds:
        possible = ["restart"]  # nobody has one of the new slots
    elif history.method in ("blocks", "list") and has_other_arms:
        possible = ["restart"]  # they have places for the arms that were open
    expect_that(f"data.history: one of {possible}", data.get("history") in possible)


def check_what_is_left(design: Design, changes: List[Json]) -> None:
    """A study needs two arms, a factor, and a level of each. At fault is the last change that takes
    one away."""

    def expect_left(is_left: bool, kind: str, member: str, factor: Optional[str] = None) -> None:
        places = [
            place
            for place, change in enumerate(changes)
            if change["kind"] == kind and factor in (None, change.get("factor"))
        ]
        expect_that(f"data.changes[{(places or [-1])[-1]}].{member}: not one of the last", is_left)

    arms = [arm for arm in design.openings if design.is_open(arm)]
    factors = design.active_factors()
    expect_left(len(arms) >= 2, "arm-closed", "treatment")
    expect_left(factors != [], "factor-retired", "factor")
    for factor in factors:
        is_open = any((factor, level) not in design.closed for level in design.levels[factor])
        expect_left(is_open, "level-closed", "level", factor)


def count_anew(history: History) -> None:
    """In the urns and for the limits, by the design that is now in force."""
    history.counts = no_counts(history.design)
    history.filled.clear()
    for participant in history.enrolled.values():
        fill_place(history, participant, 1)
        count_in_urns(history, participant, 1)


def change_setting(history: History, what: str, change: Json) -> None:
    design, kind = history.design, change["kind"]
    if kind == "urn":
        expect_that(f"{what}.kind: of a study with urns", history.method == "urn")
        values = {name: value for name, value in change.items() if name != "kind"}
        expect_that(f"{what}.kind: of at least one number or measure", values != {})
    elif kind == "ratio":
        expect_that(f"{what}.kind: of a study without lists", history.method != "list")
        check_ratio(f"{what}.value", change["value"], design.openings)
        ratio = [len(design.slots_of(arm)) for arm in design.openings]
        expect_that(f"{what}.kind: not what is in force already", change["value"] != ratio)
        design.slots = slots_by_ratio(design.openings, change["value"])
        return
    else:
        values = {change.get("name", kind): change.get("value")}  # a policy has a name of its own
    for name, value in values.items():
        where = name if kind == "urn" else "kind"
        is_new = value != design.settings[name]
        expect_that(f"{what}.{where}: not what is in force already", is_new)
    if kind == "limits":
        check_limits(f"{what}.value", change.get("value"), design.levels)
    elif kind == "visits":
        check_visits(f"{what}.value", change["value"], design.openings)
        check_used_visits(history, f"{what}.value", change["value"])
    design.settings.update(values)


def check_used_visits(history: History, what: str, visits: List[str]) -> None:
    """A visit for which anybody has a pack stays, or can be declared, as it was recorded."""
    used = {visit for each in history.enrolled.values() for visit in each.visits()}
    now = {folded(visit): visit for visit in visits}
    for visit in sorted(used):
        may_be_left_out = declared_visit(history.design, visit) is None
        spelled = now.get(folded(visit), visit if may_be_left_out else None)
        expect(f"{what}: the spelling of a visit with packs", visit, spelled)


def change_arm(history: History, what: str, change: Json) -> None:
    design, kind, arm = history.design, change["kind"], change["treatment"]
    if kind == "arm-added":
        expect_that(f"{what}.treatment: a name that no arm has", arm not in design.openings)
        may_have_ratio = history.method != "list" or "ratio" not in change
        expect_that(f"{what}.ratio: none, since a list holds its own", may_have_ratio)
        design.slots += [arm] * change.get("ratio", 1)
        check_slots(f"{what}.ratio", len(design.slots))
        is_told = any(tells_arm([arm], visit) for visit in design.settings["visits"])
        expect_that(f"{what}.treatment: a name that no visit tells", not is_told)
        design.openings[arm] = [("", False), (history.latest_at, True)]
        return
    expect_that(f"{what}.treatment: of the design", arm in design.openings)
    if kind == "arm-stopped":
        is_closed = not design.is_open(arm) and arm not in design.stopped
        expect_that(f"{what}.treatment: closed, and not stopped", is_closed)
        design.stopped.add(arm)
        return
    is_closing = kind == "arm-closed"
    expect_that(f"{what}.treatment: not so already", design.is_open(arm) == is_closing)
    design.openings[arm].append((history.latest_at, not is_closing))
    design.stopped.discard(arm)


def check_active(history: History, what: str, factor: str) -> None:
    """A retired factor does not change any more."""
    is_active = factor in history.design.active_factors()
    expect_that(f"{what}.factor: of the study, and not retired", is_active)


def change_level(history: History, what: str, change: Json) -> None:
    kind, factor, level = change["kind"], change["factor"], change["level"]
    check_active(history, what, factor)
    closed, levels = history.design.closed, history.design.levels[factor]
    if kind == "level-added":
        names = history.design.names[factor]
        expect_that(f"{what}.level: a name that no level has, or had", level not in names)
        names[level] = level
        history.design.levels[factor] = [*levels, level]
        return
    expect_that(f"{what}.level: of the design", level in levels)
    if kind == "level-closed":
        expect_that(f"{what}.level: open", (factor, level) not in closed)
        closed.add((factor, level))
    elif kind == "level-reopened":
        expect_that(f"{what}.level: closed", (factor, level) in closed)
        closed.remove((factor, level))
    else:
        rename_level(history.design, what, factor, level, change["to"])


def rename_level(design: Design, what: str, factor: str, level: str, to: str) -> None:
    """It is the same urn under another name. A name belongs to its level for ever."""
    names = design.names[factor]
    is_free = to != level and names.get(to, level) == level
    expect_that(f"{what}.to: another name, that no other level has, or had", is_free)
    for name, now in list(names.items()):
        names[name] = to if now == level else now
    names[to] = to
    design.levels[factor] = [names[each] for each in design.levels[factor]]
    design.closed = {(of, design.names[of][each]) for of, each in design.closed}
    limits = design.settings["limits"] or {}
    if "levels" in limits:
        renamed = [
            {**each, "level": design.names[each["factor"]][each["level"]]}
            for each in limits["levels"]
        ]
        design.settings["limits"] = {**limits, "levels": renamed}


def rename_levels_of_participants(history: History) -> None:
    for participant_id, participant in history.enrolled.items():
        levels = by_names_of_now(history, participant.levels)
        corrected = participant.corrected
        if corrected is not None:
            corrected = corrected._replace(
                levels=by_names_of_now(history, corrected.levels),
                counted_levels=by_names_of_now(history, corrected.counted_levels),
            )
        history.enrolled[participant_id] = participant._replace(levels=levels, corrected=corrected)


def by_names_of_now(history: History, levels: Levels) -> Levels:
    names_of = history.design.names.values()
    now = tuple(names.get(level, NONE) for names, level in zip(names_of, levels))
    return kept_once(history, now)


# ---- Corrections (docs/event-log.md) ------------------------------------------------------------
#
# Nothing is drawn again: a correction changes what is known of a participant, and may move them in
# the urns for the draws after it.


def take_correction(history: History, record: Json, before: Enrolled) -> None:
    kind, data, now = record["type"], record["data"], before.now()
    if kind == "LevelsCorrected":
        now = corrected_levels(history, data, now)
        history.levels_corrected += 1
    elif kind == "AllocationVoided":
        check_void(history, data, before)
        is_removed = data["counts"] == "removed"
        voided = Voided(record["revision"], data["cause"], is_removed, data.get("duplicateOf"))
        now = now._replace(voided=voided)
        history.voided[data["cause"]] += 1
    elif kind == "AllocationReinstated":
        expect_that("type: possible while the participant is voided", now.voided is not None)
        expect("data.voidedAt", now.voided.revision, data["voidedAt"])
        history.voided[now.voided.cause] -= 1
        now = now._replace(voided=None)
    else:
        check_new_id(history, data, before)
        warn_of_look_alike(history, record, data["to"], before.id)
        history.renamed[data["to"]] = before.id
        now = now._replace(id=data["to"])
        history.ids_corrected += 1
    after = before._replace(corrected=now)
    history.enrolled[before.id] = after
    fill_place(history, before, -1)
    fill_place(history, after, 1)
    count_in_urns(history, before, -1)
    count_in_urns(history, after, 1)
    warn_of_correction(history, record)


def corrected_levels(history: History, data: Json, now: Corrected) -> Corrected:
    # Those who are transferred were randomized where they were before.
    is_transfer = data["cause"] == "transfer"
    counts = "as-randomized" if is_transfer else history.design.settings["levelCounts"]
    expect("data.counts", counts, data["counts"])
    factors = list(history.design.levels)
    changed = [change["factor"] for change in data["changes"]]
    in_order = [factor for factor in factors if factor in changed]
    expect("data.changes, factors: each once, in the order of the study", in_order, changed)
    levels, counted_levels = list(now.levels), list(now.counted_levels)
    for change in data["changes"]:
        place = factors.index(change["factor"])
        expect(f"data.changes, from: of {change['factor']}", levels[place], change["from"])
        is_active = change["factor"] not in history.design.retired
        expect_that("data.changes, factors: none that is retired", is_active)
        is_level = change["to"] in history.design.levels[change["factor"]]
        is_another = is_level and change["to"] != change["from"]
        expect_that(f"data.changes, to: another level of {change['factor']}", is_another)
        levels[place] = change["to"]
        if counts == "as-corrected":
            counted_levels[place] = change["to"]
    return now._replace(levels=tuple(levels), counted_levels=tuple(counted_levels))


def check_void(history: History, data: Json, before: Enrolled) -> None:
    cause, duplicate_of = data["cause"], data.get("duplicateOf")
    may_be_wrong = cause != "entry" or before.is_forced
    expect_that("data.cause: entry only of what was entered by hand", may_be_wrong)
    expect_that("type: possible while the participant is not voided", before.now().voided is None)
    # The ineligible were randomized, and are analysed.
    is_nobody = cause in ("duplicate", "never-enrolled")
    policy = history.design.settings["voidCounts"] if is_nobody else "kept"
    expect("data.counts", "removed" if cause == "entry" else policy, data["counts"])
    if duplicate_of is None:
        return
    expect_that("data.duplicateOf: only of a duplicate", cause == "duplicate")
    expect_that("data.duplicateOf: randomized before", duplicate_of in history.enrolled)
    # The other one may be a duplicate of a third, and so on: this must not lead back.
    other: Optional[str] = duplicate_of
    while other is not None:
        what = "data.duplicateOf: not this participant, nor a duplicate of theirs"
        expect_that(what, other != before.id)
        voided = history.enrolled[other].now().voided
        other = voided.duplicate_of if voided else None


def check_new_id(history: History, data: Json, before: Enrolled) -> None:
    """Nobody else has, or had, the new id. One's own former id is free."""
    expect("data.from", before.now().id, data["from"])
    check_participant_id("data.to", data["to"])
    expect_that("data.to: not the id in use", data["to"] != data["from"])
    holder = holder_of(history, data["to"])
    is_free = holder is None or holder.id == before.id
    expect_that("data.to: nobody else has, or had, this id", is_free)


def count_in_urns(history: History, participant: Enrolled, by: int) -> None:
    """Urns count the slot as allocated. They are needed only to repeat draws."""
    levels = participant.counted_levels()
    is_of_epoch = participant.revision >= history.design.epoch_began
    if history.content == "full" and levels is not None and is_of_epoch:
        for by_level, level in zip(history.counts.values(), levels):
            if level != NONE:
                by_level[level][participant.slot] += by


def warn_of_correction(history: History, record: Json) -> None:
    kind, data = record["type"], record["data"]
    if kind == "AllocationVoided":
        history.warn(record, "voided", f"an allocation was voided: {data['cause']}")
        if data["counts"] == "removed" and history.method in ("urn", "minimization"):
            history.warn(
                record,
                "counts removed",
                "the urns no longer count a participant who was voided, so a voiding steers the "
                "allocations after it",
            )
    if data["participantId"] in history.unblinded:
        history.warn(
            record,
            "corrected after reveal",
            "a participant was corrected or voided after somebody had learned the arm",
        )
    if history.state == "closed":
        history.changed_after_closing[kind] += 1
        history.warn(
            record,
            "changed after closing",
            "a participant was corrected or voided while the study was closed",
        )


# ---- The method (docs/methods.md) ----------------------------------------------------------------


def add_up(terms: List[float]) -> float:
    """From left to right, rounding after each term. Since Python 3.12, sum() compensates."""
    total = 0.0
    for term in terms:
        total = total + term
    return total


def imbalance(measure: str, balls: List[int]) -> float:
    """The order of operations is part of the method: urns tie only if equal to the last bit."""
    if measure == "range":
        return (max(balls) - min(balls)) / sum(balls)
    shares = [number / sum(balls) for number in balls]
    mean = add_up(shares) / len(shares)
    squares = [(share - mean) * (share - mean) for share in shares]
    if measure == "chisquare":
        return add_up([square / mean for square in squares])
    return add_up(squares) / (len(shares) - 1)


def generator_state(generator: Any) -> Json:
    """As records hold it: numpy's own, with its 128-bit integers as decimal strings."""
    state = generator.bit_generator.state
    numbers = {name: str(number) for name, number in state["state"].items()}
    return {**state, "state": numbers}


def begin_generator(history: History, sections: Json, is_drawn: bool) -> None:
    """The generator begins in this state, and runs on from one allocation to the next."""
    if history.content == "full":
        history.generator = seeded_generator(sections["generator"], is_drawn)


def seeded_generator(recorded: Json, is_drawn: bool) -> Any:
    seed = int(recorded["seed"])
    expect("generator.seed", str(seed), recorded["seed"])
    expect_that("generator.seed: 128 bits, since it was drawn", not is_drawn or seed < 2**128)
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    expect("generator.bgState", generator_state(generator), recorded["bgState"])
    return generator


def restored_generator(state: Json) -> Any:
    """A generator in a recorded state. There may be no such state."""
    generator = numpy.random.Generator(numpy.random.PCG64(0))
    numbers = {name: int(digits) for name, digits in state["state"].items()}
    expect_that("state of the generator: its increment is odd", numbers["inc"] % 2 == 1)
    generator.bit_generator.state = {**state, "state": numbers}
    expect("state of the generator", generator_state(generator), state)
    return generator


class Draw(NamedTuple):
    evidence: Json  # as the section `draw`, `pick` or `entry` holds it
    slot: int


def draw_place(generator: Any, weights: List[int]) -> Tuple[int, int]:
    """As numpy's own `choice`: the first place whose cumulative probability is above a uniform
    number. Returns it, and that number as a multiple of 2^-53."""
    uniform = generator.random()
    total = sum(weights)
    sums = [
        add_up([weight / total for weight in weights[: last + 1]]) for last in range(len(weights))
    ]
    place = next(k for k, bound in enumerate(sums) if bound / sums[-1] > uniform)
    return place, int(uniform * 2**53)


def stratum_of(history: History, levels: Dict[str, str]) -> Stratum:
    return tuple(history.design.levels[factor].index(levels[factor]) for factor in history.by)


def draw_again(history: History, levels: Dict[str, str]) -> Draw:
    """Draws a participant's slot by another method than the urn; the generator moves on."""
    design, generator = history.design, history.generator
    state_before = generator_state(generator)
    slots = design.open_slots()
    weights, block, more = [1] * len(slots), None, {}
    if history.method == "blocks":
        stratum = stratum_of(history, levels)
        block = history.blocks.get(stratum, Block(0, 0, []))
        if sum(block.left) == 0:
            # Another one, of a size by lot. Of one size, this draws nothing.
            per_slot = history.per_slot[int(generator.integers(len(history.per_slot)))]
            block = Block(block.number + 1, per_slot, [per_slot] * len(slots))
        weights = block.left
    if history.method == "minimization":
        weights, more = minimize(history, levels)
    place, uniform53 = draw_place(generator, weights)
    if block is not None:
        left = [places - (each == place) for each, places in enumerate(weights)]
        history.blocks[stratum] = block._replace(left=left)

    evidence = {
        "bgStateBefore": state_before,
        "block": {"number": block.number, "perSlot": block.per_slot} if block else None,
        "weights": weights,
        "uniform53": uniform53,
        "slot": slots[place] if design.has_ratio() else None,
        "bgStateAfter": generator_state(generator),
        "counts": more.get("counts"),
        "scores": more.get("scores"),
    }
    return Draw(evidence, slots[place])


def minimize(history: History, levels: Dict[str, str]) -> Tuple[List[int], Json]:
    """The weight of each open slot, and the counts and scores that it follows from."""
    design, parameters = history.design, history.minimization
    slots, rows, scores = design.open_slots(), [], []
    for factor in design.active_factors():
        counts = history.counts[factor][levels[factor]]
        rows.append([counts[slot] for slot in slots])
    weights = [parameters["weights"][factor] for factor in design.active_factors()]
    for slot in range(len(slots)):
        score = 0
        for weight, row in zip(weights, rows):
            after = [count + (each == slot) for each, count in enumerate(row)]
            by_range = max(after) - min(after)
            score += weight * (by_range if parameters["measure"] == "range" else row[slot])
        scores.append(score)
    # One of the best slots, at random, has p, and all others share the rest: the mean over that.
    p, best = parameters["pThousandths"], scores.count(min(scores))
    of_best = p * (len(slots) - 1) + (best - 1) * (1000 - p)
    of_others = best * (1000 - p)
    chances = [of_best if score == min(scores) else of_others for score in scores]
    return chances, {"counts": rows, "scores": scores}


def draw_from_urn(
    design: Design, counts: Counts, levels: Dict[str, str], generator: Any, is_other: bool = False
) -> Draw:
    """Draws a participant's slot. `counts` is only read; the generator moves on. Another system had
    no ratio, so it treated slots as arms."""
    w, alpha, beta, measure = (design.settings[name] for name in URN)
    state_before = generator_state(generator)

    # 1. An urn for each of the participant's levels, with the slots of the open arms, filled from
    # the participants before.
    slots = design.open_slots()
    rows = {
        factor: [counts[factor][level][slot] for slot in slots] for factor, level in levels.items()
    }
    urns = {
        factor: [w + alpha * count + beta * (sum(row) - count) for count in row]
        for factor, row in rows.items()
    }
    # 2. and 3. The most imbalanced of them. With a ratio, the order of the slots does not matter.
    is_sorted = design.has_ratio() and not is_other
    imbalances = {
        factor: imbalance(measure, sorted(urn) if is_sorted else urn)
        for factor, urn in urns.items()
    }
    largest = max(imbalances.values())
    candidates = sorted(factor for factor, value in imbalances.items() if value == largest)
    # 4. If several are, one of them by lot.
    place = int(generator.integers(len(candidates))) if len(candidates) > 1 else 0
    selected = candidates[place]
    # 5. A ball from it.
    balls = urns[selected]
    drawn_place, uniform53 = draw_place(generator, balls)
    drawn = slots[drawn_place]

    evidence = {
        "bgStateBefore": state_before,
        "candidates": candidates,
        "selectedFactor": selected,
        "balls": balls,
        "counts": rows[selected],
        "uniform53": uniform53,
        "slot": drawn if design.has_ratio() else None,
        "bgStateAfter": generator_state(generator),
    }
    return Draw(evidence, drawn)


def check_draw(history: History, levels: Dict[str, str], sections: Json) -> int:
    """Draws the participant's slot again, or looks it up."""
    if history.method == "urn":
        draw = draw_from_urn(history.design, history.counts, levels, history.generator)
        expect_evidence("draw", draw, sections)
    elif history.method == "list":
        draw = look_up(history, levels)
        expect_evidence("entry", draw, sections)
    else:
        draw = draw_again(history, levels)
        expect_evidence("pick", draw, sections)
        history.certain += is_certain(history.design, draw)
    arm = history.design.slots[draw.slot]
    expect("allocation.treatment", arm, sections["allocation"]["treatment"])
    history.drawn += 1
    return draw.slot


def is_certain(design: Design, draw: Draw) -> bool:
    """Whether one arm alone was possible."""
    weights = zip(design.open_slots(), draw.evidence["weights"])
    return len({design.slots[slot] for slot, weight in weights if weight > 0}) == 1


def expect_evidence(section: str, draw: Draw, sections: Json) -> None:
    for name, value in draw.evidence.items():
        expect(f"{section}.{name}", value, sections[section].get(name))


# ---- The import of a history (docs/event-log.md) ------------------------------------------------
#
# Another system made these allocations. A row counts as drawn again if a draw gives its arm and the
# state of the generator after it.

ROWS_BACK = 32  # how many rows ago the state may be from which a row was drawn


def begin_import(history: History, record: Json, sections: Json) -> None:
    data = record["data"]
    is_empty = not history.enrolled
    expect_that("type: possible while the study has no participants", is_empty)
    check_approvals(history, record)
    of_all = data["proof"]["redrawn"] + data["proof"]["unproven"]
    expect("data.proof: of all rows", data["source"]["rows"], of_all)
    treatment_map = sections.get("source", {}).get("treatmentMap", [])
    importing = history.importing = Import(data, treatment_map, history.state)
    is_fresh = data["generator"] == "fresh"
    design = history.design
    may_continue = is_fresh or not design.has_ratio()
    expect_that("data.generator: fresh, since the other system knew no ratio", may_continue)
    is_csv = data["source"]["format"] == "csv" and is_fresh and "seedKnown" not in data
    may_take = is_csv or history.method == "urn"
    expect_that("data.source: csv, with a fresh generator, since the study has no urns", may_take)
    for each in treatment_map:
        if "slot" in each:
            is_slot = design.has_ratio() and each["slot"] in design.slots_of(each["to"])
            expect_that("data.source: slots of the treatment", is_slot)
    if history.content == "full":
        has_seed = "seed" in sections["generator"]
        expect("generator.seed: if and only if the generator is fresh", is_fresh, has_seed)
        importing.generator = (
            seeded_generator(sections["generator"], is_drawn=True)
            if is_fresh
            else restored_generator(sections["generator"]["bgState"])
        )
        seed_state = history.registered_state if "seedKnown" in data else None
        importing.beginning = Step(seed_state, copied_counts(history))
    warn_of_approvals(history, record)
    if not is_fresh:
        history.warn(
            record,
            "generator known elsewhere",
            "the generator goes on where another system stopped: whoever has a copy of that system "
            "can compute every later arm",
        )


def copied_counts(history: History) -> Counts:
    return {
        factor: {level: list(row) for level, row in by_level.items()}
        for factor, by_level in history.counts.items()
    }


def take_imported(history: History, record: Json, sections: Json) -> None:
    data, importing = record["data"], history.importing
    expect("data.import", importing.begun["import"], data["import"])
    levels = check_new_participant(history, record)
    instant = check_row(importing, data)
    check_cause(importing, record)
    slot, state = -1, None
    if "allocation" in sections:
        arm = arm_of(history, sections)
        slot = sections["draw" if "draw" in sections else "allocation"].get("slot")
        choices = slots_of_row(history, arm, slot)
        if history.content == "full":
            state = recorded_state(sections)
            check_row_drawn_again(history, levels, choices, state, record, sections)
        if data["redrawn"]:
            expect("allocation.slot", None, sections["allocation"].get("slot"))
            slot = choices[0] if slot is None else slot
        else:
            slot = check_slot(history, arm, slot, choices)
    enrol(history, record, sections, levels, slot, None)
    if instant > importing.last[0]:
        importing.latest_has_state, importing.latest_state = has_state(record), state
    importing.last = (instant, data["row"])
    importing.rows.add(data["row"])
    importing.rows_since_state = 0 if has_state(record) else importing.rows_since_state + 1
    if history.content == "full":
        steps = [*importing.steps, Step(state, copied_counts(history))]
        importing.steps = steps[-ROWS_BACK:]
    history.redrawn += data["redrawn"]
    history.unproven += not data["redrawn"]
    if not data["redrawn"]:
        history.warn(
            record,
            "imported unproven",
            f"an imported participant could not be drawn again ({data['cause']})",
        )


def slots_of_row(history: History, arm: str, slot: Optional[int]) -> List[int]:
    """The slots of the arm, or the one that the file names."""
    named = [each for each in history.importing.treatment_map if each["to"] == arm]
    slots = [each["slot"] for each in named if "slot" in each]
    if not slots:
        return history.design.slots_of(arm)
    expect_that("allocation.slot: one that the file names", slot in slots)
    return [slot]


def check_row(importing: Import, data: Json) -> float:
    """Rows come in the order of their instants, then of their numbers. Returns the instant."""
    row, instant = data["row"], microseconds(data["original"]["datetime"])
    is_row = row <= importing.begun["source"]["rows"] and row not in importing.rows
    expect_that("data.row: one of the source, and new", is_row)
    expect_that("data.original.datetime: an instant", instant is not None)
    is_in_order = (instant, row) > importing.last
    expect_that("data.row: in the order of the instants, then of the numbers", is_in_order)
    return instant


OTHER_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?(?:\.([0-9]{1,6}))?)?"
    r"(?:Z|([+-])([0-9]{2}):?([0-9]{2}))?"
)


def microseconds(text: str) -> Optional[float]:
    """Since 1970. Other systems write instants in many ways; without an offset they are in UTC."""
    parts = OTHER_INSTANT.fullmatch(text)
    if parts is None or not is_day(parts[1]):
        return None
    year, month, day = (int(number) for number in parts[1].split("-"))
    hours, minutes, seconds = (int(parts[group] or 0) for group in (2, 3, 4))
    offset_hours, offset_minutes = int(parts[7] or 0), int(parts[8] or 0)
    # 24:00 is the end of a day.
    is_time = (hours, minutes, seconds) <= (24, 0, 0) and minutes < 60 and seconds < 60
    if not is_time or offset_hours > 23 or offset_minutes > 59:
        return None
    # Python has no year 0. The calendar repeats every 400 years, which have 146,097 days.
    date = datetime.date(2000 + year % 400, month, day) - datetime.date(1970, 1, 1)
    days = date.days + (year // 400 - 5) * 146097
    offset = (offset_hours * 60 + offset_minutes) * (-1 if parts[6] == "-" else 1)
    in_seconds = ((days * 24 + hours) * 60 + minutes - offset) * 60 + seconds
    # As the service does, in doubles, which round from the year 2255 on.
    return in_seconds * 1e6 + int((parts[5] or "").ljust(6, "0"))


def has_state(record: Json) -> bool:
    """Whether the generator's state after a row is recorded, though it may be withheld."""
    return "draw" in record["seals"] or "state" in record["seals"]


def recorded_state(sections: Json) -> Optional[Json]:
    if "draw" in sections:
        return sections["draw"]["bgStateAfter"]
    return sections["state"]["bgState"] if "state" in sections else None


def check_cause(importing: Import, record: Json) -> None:
    """What the names of a row's sections show: which of them it must have, and which cause."""
    data = record["data"]
    is_known = "seedKnown" in importing.begun or importing.rows_since_state < ROWS_BACK
    if importing.begun["source"]["format"] == "csv":
        causes, section = ["other-system"], []
    elif not has_state(record):
        causes, section = ["no-state"], []
    elif data["redrawn"]:
        causes, section = ([None] if is_known else ["first"]), ["draw"]
    else:
        causes, section = (["override", "differs"] if is_known else ["first"]), ["state"]
    expect_that(f"data.cause: one of {causes}", data.get("cause") in causes)
    expect("data.redrawn", data.get("cause") is None, data["redrawn"])
    expect("seals", sorted(["allocation", *section]), sorted(record["seals"]))


def check_row_drawn_again(
    history: History,
    levels: Dict[str, str],
    slots: List[int],
    state: Optional[Json],
    record: Json,
    sections: Json,
) -> None:
    """Whether the row records the draw, or the cause, that a search for its draw gives."""
    if state is None:
        return
    restored_generator(state)
    draw, cause = find_draw(history, levels, slots, state)
    expect("data.cause", cause, record["data"].get("cause"))
    if draw is not None:
        expect_evidence("draw", draw, sections)


def find_draw(
    history: History, levels: Dict[str, str], slots: List[int], state: Json
) -> Tuple[Optional[Draw], Optional[str]]:
    """The first draw that gives the arm and the state, or the cause why there is none.

    Usually the row before left the state that a row was drawn from. If two requests came at once,
    both read that state. So earlier rows are tried, too, back to the beginning: each with the
    counts that went with it, and then with later ones."""
    importing = history.importing
    steps = [importing.beginning, *importing.steps]
    cause = "first"
    for place in reversed(range(len(steps))):
        if steps[place].bg_state is None:
            continue
        if cause == "first":
            cause = "differs"
        for step in steps[place:]:
            generator = restored_generator(steps[place].bg_state)
            draw = draw_from_urn(history.design, step.counts, levels, generator, is_other=True)
            if draw.evidence["bgStateAfter"] != state:
                continue
            if draw.slot in slots:
                return draw, None
            cause = "override"
    return None, cause


def end_import(history: History, record: Json) -> None:
    data, importing = record["data"], history.importing
    begun = importing.begun
    expect("data.import", begun["import"], data["import"])
    if "aborted" in data:
        # Only its records are left of it.
        history.enrolled.clear()
        history.unblinded.clear()
        history.filled.clear()
        history.counts = no_counts(history.design)
        history.redrawn = history.unproven = 0
    else:
        # The other system used entries.
        history.is_skip_owed = history.method == "list"
        expect("data.rows", begun["source"]["rows"], data["rows"])
        expect("data.rows: of which are in", begun["source"]["rows"], len(importing.rows))
        expect("rows that were drawn again", begun["proof"]["redrawn"], history.redrawn)
        if begun["generator"] == "continued":
            continue_generator(importing)
        # Otherwise arms that were lost would be drawn again.
        if not importing.is_recovered:
            history.generator = importing.generator
    history.state = importing.state_before
    history.importing = None


def continue_generator(importing: Import) -> None:
    """The other system would go on from the row of the latest instant; of several, the first."""
    what = "data.generator: of the row with the largest instant, whose state is recorded"
    expect_that(what, importing.latest_has_state)
    if importing.generator is not None:
        expect(what, importing.latest_state, generator_state(importing.generator))


# ---- The streams, and the checkpoints that are compared with them -------------------------------

Taker = Callable[[History, Json, Json], None]


@dataclass
class Stream:
    name: str
    size: int = 0
    withheld: int = 0
    divergence: Optional[str] = None
    roots: Dict[int, str] = field(default_factory=dict)  # by size
    kept_size: int = 0  # the largest of a checkpoint that matches and was kept elsewhere
    signed_size: int = 0  # of any that matches


def read_stream(
    bundle: Bundle, name: str, log_id: Optional[str], sizes: Set[int], history: History, take: Taker
) -> Stream:
    """Checks a stream up to its first divergence, and computes its roots at these sizes."""
    stream, tree = Stream(name), Tree()
    repetitions = {"id": Repetitions(), "salt": Repetitions(), "seal": Repetitions()}
    stream.roots[0] = tree.root()
    for revision, line in enumerate(bundle.lines(records_file(name))):
        line = line[:-1] if line.endswith(b"\n") else line
        fields = line.split(b"\t")
        written_at = None
        if is_withheld(name, line):
            stream.withheld += 1
            tree.append(bytes.fromhex(fields[0].decode()))
        else:
            tree.append(leaf_hash(fields[1] if len(fields) > 1 else b""))
            # After a divergence only the tree is computed: it still shows whether this is what was
            # signed.
            if stream.divergence is None:
                try:
                    record, sections = check_line(line, name, revision, log_id, bundle.content)
                    note_repetitions(repetitions, record, sections)
                    take(history, record, sections)
                    check_id(history, record)
                    warn_of_texts(history, record, sections)
                    if name == bundle.study_stream and "keyId" in record["actor"]:
                        history.acting_keys.add(record["actor"]["keyId"])
                    written_at = record["at"]
                except Exception as fault:  # a Divergence, or whatever a malformed record causes
                    stream.divergence = describe_fault(name, revision, fault)
        if name == "access":
            note_access_time(history, written_at)
        stream.size = tree.size
        if tree.size in sizes:
            stream.roots[tree.size] = tree.root()
    if stream.size == 0 and name != "access":
        stream.divergence = describe_fault(
            name, 0, Divergence("field revision: there is no record")
        )
    # A repetition comes before the divergence, if there is one: after it nothing was noted.
    repeated = [(values.first(), what) for what, values in repetitions.items()]
    for revision, what in sorted(each for each in repeated if each[0] is not None)[:1]:
        fault = Divergence(f"field {what}: an earlier record or section has the same")
        stream.divergence = describe_fault(name, revision, fault)
    return stream


def describe_fault(stream: str, revision: int, fault: Exception) -> str:
    why = fault if isinstance(fault, Divergence) else printable(fault)
    return f"{printable(stream)}, revision {revision}: {type(fault).__name__} in {why}"


def note_repetitions(repetitions: Dict[str, Repetitions], record: Json, sections: Json) -> None:
    """With the same salt, equal sections would have equal seals, which blinded eyes can see."""
    revision = record["revision"]
    repetitions["id"].add(uuid.UUID(record["id"]).bytes, revision)
    for name, seal in record["seals"].items():
        if name in sections:
            repetitions["salt"].add(bytes.fromhex(sections[name]["salt"]), revision)
        else:
            repetitions["seal"].add(bytes.fromhex(seal), revision)


def note_access_time(history: History, written_at: Optional[str]) -> None:
    """For a withheld record, the time of the last known one before it: it is no older."""
    before = history.access_times[-1] if history.access_times else 0
    history.access_times.append(milliseconds(written_at) if written_at else before)


def loss_of(stream: str, recovery: int, checkpoint: Checkpoint, history: History) -> Optional[str]:
    """Which recovery of the log lost the records that a checkpoint covers."""
    for each in history.recoveries.get(stream, []):
        if recovery >= each["recovery"] or checkpoint.size <= each["kept"]:
            continue
        signed = each.get("signed", {"recovery": 0, "size": 0, "root": ""})
        here, most = (recovery, checkpoint.size), (signed["recovery"], signed["size"])
        is_declared = here < most or (here == most and checkpoint.root == signed["root"])
        loss = "DECLARED LOSS" if is_declared else "UNDECLARED LOSS"
        return f"{loss}: recovery {each['recovery']} kept {each['kept']} records"
    return None


@dataclass
class Comparison:
    """What the checkpoints say."""

    failures: List[str] = field(default_factory=list)
    unchecked: int = 0  # signatures
    left_out: List[str] = field(default_factory=list)  # origins of kept ones of other streams
    is_of_study: bool = False  # whether a kept one is of the study


def compare_all(
    checkpoints: List[Checkpoint],
    log_name: str,
    streams: Dict[str, Stream],
    history: History,
    keys: List[VerifierKey],
) -> Comparison:
    result = Comparison()
    for checkpoint in sorted(checkpoints, key=lambda each: each.size):
        stream_name, recovery = parse_origin(log_name, checkpoint.origin)
        signature = check_signature(checkpoint.body, checkpoint.signatures, keys)
        is_good = signature == "good"
        result.unchecked += signature == "NOT CHECKED"
        wrong = None
        if stream_name is None:
            wrong = "NOT OF THIS LOG"
        elif not is_good and signature != "NOT CHECKED":
            wrong = signature
        elif stream_name not in streams:  # it proves nothing about this study
            if checkpoint.is_kept:
                result.left_out.append(checkpoint.origin)
        else:
            if checkpoint.is_kept and stream_name.startswith("study-"):
                result.is_of_study = True
            stream = streams[stream_name]
            wrong = compare(checkpoint, recovery, stream, is_good, history)
        if wrong:
            result.failures.append(f"{checkpoint.where}, size {checkpoint.size}: {wrong}")
    return result


def compare(
    checkpoint: Checkpoint, recovery: int, stream: Stream, is_good: bool, history: History
) -> Optional[str]:
    """What is wrong with a stream, or a checkpoint of it; called in ascending order of size."""
    last_recovery = max([0] + [each["recovery"] for each in history.recoveries["log"]])
    if recovery > last_recovery:
        return "OF A RECOVERY that this log does not record"
    loss = loss_of(stream.name, recovery, checkpoint, history)
    if loss:
        return loss
    if stream.roots.get(checkpoint.size) != checkpoint.root:
        is_there = checkpoint.size in stream.roots
        here = "other records" if is_there else f"only {stream.size} records"
        return (
            f"{checkpoint.size} records were signed, but here are {here}: the two histories part "
            f"between revisions {stream.signed_size} and {checkpoint.size - 1}"
        )
    if is_good:
        stream.signed_size = checkpoint.size
        if checkpoint.is_kept:
            stream.kept_size = checkpoint.size
    return None


# ---- The report ---------------------------------------------------------------------------------


def describe_stream(stream: Stream, history: History, is_trusting: bool) -> None:
    parts = [
        f"  {printable(stream.name)}: {stream.size} records",
        f"{stream.withheld} withheld",
        ("sound up to the divergence, and not checked after it" if stream.divergence else "sound"),
    ]
    for each in history.recoveries.get(stream.name, []):
        parts.append(f"RECOVERED from a backup after the first {each['kept']}")
    print(", ".join(parts))
    kept, signed = (stream.kept_size, stream.signed_size) if is_trusting else (0, 0)
    for since, until, what in (
        (0, kept, "as signed: by checkpoints that were kept elsewhere"),
        (kept, signed, "signed, but nothing kept elsewhere shows that they always were so"),
        (signed, stream.size, "covered by no checkpoint under a trusted key"),
    ):
        if since < until:
            print(f"    revisions {since} to {until - 1}: {what}")


def list_counts(counts: Dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()) if count > 0)


def describe_life(history: History) -> str:
    """What happened in the study besides its allocations."""
    broken, voided = list_counts(history.code_breaks), list_counts(history.voided)
    parts = [f"The study is {history.state}"]
    if history.method != "urn":
        parts.append(f"method: {history.method}")
    if history.certain:
        plural = "" if history.certain == 1 else "s"
        parts.append(f"certain: {history.certain} draw{plural} with one possible arm")
    if history.redrawn + history.unproven:
        imported = f"{history.redrawn} drawn again, {history.unproven} unproven"
        parts.append(f"imported: {imported}")
    if history.forced:
        parts.append(f"entered by hand: {list_counts(history.forced)}")
    if history.design and history.design.amendment:
        parts.append(f"amendments: {history.design.amendment}")
    if history.lists:
        packs = (
            f"packs: {history.packs_registered} registered, {history.packs_replaced} replaced, "
            f"{history.packs_withdrawn} withdrawn"
        )
        if history.packs_dispensed:
            packs += f", {history.packs_dispensed} dispensed, {history.packs_corrected} corrected"
        parts.append(packs)
    if history.levels_corrected:
        parts.append(f"levels corrected: {history.levels_corrected}")
    if history.ids_corrected:
        parts.append(f"ids corrected: {history.ids_corrected}")
    if voided:
        parts.append(f"voided: {voided}")
    if history.changed_after_closing:
        parts.append(f"changed after a closing: {list_counts(history.changed_after_closing)}")
    parts.append(f"code-breaks: {broken}" if broken else "no code was broken")
    if history.recorded_late:
        parts.append(f"{history.recorded_late} of them recorded after the arm was shown")
    if history.unblindings_reported:
        parts.append(f"unblinded without the service, as reported: {history.unblindings_reported}")
    if history.unblinded:
        parts.append(f"people unblinded: {len(history.unblinded)}")
    return "; ".join(parts)


def count_origins(origins: List[str]) -> str:
    counted = collections.Counter(origins).most_common()
    listed = [f"{printable(origin)} ({count})" for origin, count in counted[:5]]
    return ", ".join(listed + ([f"{len(counted) - 5} more"] if len(counted) > 5 else []))


def read_log_identity(bundle: Bundle) -> Tuple[Optional[str], str]:
    """Id and name of the log, as its first record says. They are not checked here."""
    try:
        first_line = next(iter(bundle.lines(records_file("log"))))
        data = json.loads(first_line.split(b"\t")[1])["data"]
        return str(data["logId"]), str(data["logName"])
    except Exception:  # the stream diverges then
        return None, ""


def trusted_keys(trusted: List[VerifierKey], log_keys: List[VerifierKey]) -> List[VerifierKey]:
    """Those that were given, and later ones of the log: each was endorsed by the one before."""
    if not trusted:
        return log_keys
    known = [place for place, key in enumerate(log_keys) if key in trusted]
    return trusted + (log_keys[known[0] :] if known else [])


def check_configuration(bundle: Bundle, history: History) -> List[str]:
    registered = canonical(history.configuration or {})
    data, shown = bundle.read("configuration.json"), ""
    # Indenting makes it at most four times as long. What is longer may be too large to be parsed.
    if len(data) <= 8 * len(registered.encode("utf-8")) + 1024:
        try:
            shown = canonical(parse_strictly(data))
        except ValueError:
            pass
    if history.configuration is None or shown != registered:
        return ["configuration.json does not say what the study's first record says"]
    return []


def check_disclosed_keys(bundle: Bundle, history: History) -> List[str]:
    """Other keys are withheld: they would tell of other studies."""
    idle = sorted(set(history.api_keys or {}) - history.acting_keys)
    path = records_file("access")
    return [
        f"{path} shows the key {printable(key)}, which did nothing in this study" for key in idle
    ]


def check_public_key(bundle: Bundle, history: History) -> List[str]:
    shown = bundle.read("public-key.txt")
    keys = [f"{key.text}\n".encode("utf-8") for key in history.log_keys]
    if keys and "public-key.txt" in bundle.paths() and shown not in keys:
        return ["public-key.txt is not a key of this log"]
    return []


def check_identity(
    bundle: Bundle, study_id: Optional[str], history: History, trusted: List[VerifierKey]
) -> List[str]:
    """Whether this is the log, and the study, that somebody knows from elsewhere."""
    failures = []
    if study_id is not None and bundle.study_stream != f"study-{study_id}":
        failures.append(f"the study {study_id} was expected, and this is {bundle.study_stream}")
    if trusted and not any(key in trusted for key in history.log_keys):
        own = ", ".join(key.text for key in history.log_keys[:1])
        failures.append(f"the log's key is not trusted: {own}")
    return [printable(failure) for failure in failures]


def verify(options: argparse.Namespace) -> int:
    bundle = open_bundle(options.bundle)
    trusted = [read_trusted_key(given) for given in options.trust]
    checkpoints = read_bundled_checkpoints(bundle)
    for file in options.checkpoint:
        with open(file, "rb") as opened:
            checkpoints += read_checkpoints(opened, file, True)

    log_id, log_name = read_log_identity(bundle)
    # A log that was replaced may bear any name. The receipts are of the log that is trusted.
    log_name = trusted[0].name if trusted else log_name
    history = History(bundle.content)
    failures = check_files(bundle)
    streams = {}
    takers = (take_log_record, take_access_record, take_study_record)
    for name, take in zip(bundle.streams(), takers):
        sizes = {
            each.size for each in checkpoints if parse_origin(log_name, each.origin)[0] == name
        }
        stream = read_stream(bundle, name, log_id, sizes, history, take)
        streams[name] = stream
        if stream.divergence:
            failures.append(stream.divergence)
            if name == "access":
                history.api_keys = None

    keys = trusted_keys(trusted, history.log_keys)
    compared = compare_all(checkpoints, log_name, streams, history, keys)
    failures += check_identity(bundle, options.study_id, history, trusted)
    failures += check_configuration(bundle, history)
    failures += check_public_key(bundle, history)
    if not streams[bundle.study_stream].divergence:  # behind one, nobody knows who acted
        failures += check_disclosed_keys(bundle, history)
    failures += compared.failures
    if compared.left_out and not compared.is_of_study:
        failures.append(
            f"none of the given checkpoints is of this study, {printable(bundle.study_stream)}; "
            f"they are of {count_origins(compared.left_out)}"
        )
    unchecked = compared.unchecked + history.unchecked_endorsements
    report(bundle, log_name, streams, history, compared, failures, unchecked, bool(trusted))
    if failures:
        return 1
    return 3 if unchecked else 0


def report(
    bundle: Bundle,
    log_name: str,
    streams: Dict[str, Stream],
    history: History,
    compared: Comparison,
    failures: List[str],
    unchecked: int,
    is_trusting: bool,
) -> None:
    study_name = history.configuration["name"] if history.configuration else "?"
    print(printable(f"Study {study_name}, content {bundle.content}, log {log_name}"))
    print(printable(f"  id {bundle.study_stream[len('study-'):]}"))
    for stream in streams.values():
        describe_stream(stream, history, is_trusting)
    has_lists = history.method == "list"
    if bundle.content == "full":
        again = f"drawn again with numpy {numpy.__version__}"
        how = "looked up again in the lists" if has_lists else again
        print(f"  {history.drawn} allocations, {how}, are as recorded")
    else:
        what, needed = ("allocations", "the lists") if has_lists else ("draws", "generator states")
        print(
            f"  The {what} were NOT REPLAYED: that needs {needed}, which this bundle does not hold"
        )
    print(f"  {describe_life(history)}")
    if compared.left_out:
        print(
            f"  {len(compared.left_out)} of the given checkpoints were left out, which are of "
            f"{count_origins(compared.left_out)}"
        )
    for first, count in history.warnings.values():
        more = f" (and {count - 1} times more)" if count > 1 else ""
        print(f"WARNING  {first}{more}")
    for failure in failures:
        print(f"FAILED  {failure}")
    if unchecked:
        print(f"NOT CHECKED  {unchecked} signatures, without the package `cryptography`")
    if not is_trusting:
        print("SELF-CONSISTENT ONLY  no --trust KEY was given: a rewritten history looks the same")
    elif not any(stream.kept_size for stream in streams.values()):
        print(
            "SELF-CONSISTENT ONLY  no checkpoint that was kept elsewhere covers anything: whoever "
            "has the log's key can have rewritten it"
        )
    print("RESULT  " + ("something is wrong" if failures else "nothing wrong was found"))


def study_id(given: str) -> str:
    """From the command line, also as `study-<id>`."""
    return str(uuid.UUID(re.sub("^study-", "", given)))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle")
    parser.add_argument("--trust", action="append", default=[])
    parser.add_argument("--checkpoint", action="append", default=[])
    parser.add_argument("--study-id", type=study_id)
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # a seed may have any number of digits
    try:
        return verify(options)
    except Exception as fault:
        why = fault if isinstance(fault, NothingVerified) else repr(fault)
        print(f"nothing was verified: {printable(why)}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
