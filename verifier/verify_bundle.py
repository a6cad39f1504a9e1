#!/usr/bin/env python3
"""Verifies a bundle of one randomized study without the software that made it.

    python3 verify_bundle.py BUNDLE.zip [--trust KEY]... [--checkpoint FILE]...

    --trust KEY        public key of the log (name+hash+base64), known to you from elsewhere
    --checkpoint FILE  checkpoints kept elsewhere: signed notes, or receipts (a note in base64 on
                       one line)

Exit codes: 0 nothing wrong was found, and what that proves is printed; 1 something is wrong;
2 nothing was verified: wrong usage, no numpy, no bundle; 3 as 0, but a signature was NOT CHECKED,
because the package `cryptography` is missing.

Every random number comes from numpy's own PCG64 and Generator. The output is not for blinded eyes,
unless the bundle is.
"""

# The parts of this program follow the documents: the bundle and its records (docs/bundle.md), the
# events and checkpoints (docs/event-log.md), the draw (docs/method.md).

import argparse
import base64
import hashlib
import json
import re
import sys
import uuid
import zipfile
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

try:
    import numpy
    import numpy.random
except ImportError as missing:
    print(f"nothing was verified: {missing!r}", file=sys.stderr)
    sys.exit(2)

FORMAT = "urn-bundle@1"


class Divergence(Exception):
    """A record is not what it should be."""


def printable(text: Any) -> str:
    """A name may hold line breaks, or what a terminal obeys."""
    return "".join(character if character.isprintable() else "?" for character in str(text))


def expect(what: str, expected: Any, found: Any) -> None:
    """Compares as JSON, because Python takes True for 1."""
    if canonical(expected) == canonical(found):
        return
    raise Divergence(
        f"field {what}\n"
        f"    expected  {printable(canonical(expected))}\n"
        f"    found     {printable(canonical(found))}"
    )


def expect_that(what: str, is_so: bool) -> None:
    expect(what, True, is_so)


# ---- JSON ---------------------------------------------------------------------------------------


def canonical(value: Any) -> str:
    """RFC 8785. Python sorts names by code point; for the names that a log uses, that is the same."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def parse_integer(digits: str) -> Optional[int]:
    number = int(digits) if len(digits) < 18 else None
    return number if number is not None and abs(number) < 2**53 else None


def parse_canonical(what: str, data: bytes) -> Dict[str, Any]:
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


# ---- The bundle and its records (docs/bundle.md) ------------------------------------------------


@dataclass
class Bundle:
    archive: zipfile.ZipFile
    content: str  # full, open or blinded
    study_stream: str
    sha256_by_path: Dict[str, str]  # as manifest.json lists them

    def read(self, path: str) -> bytes:
        return self.archive.read(path)


def open_bundle(file: str) -> Bundle:
    archive = zipfile.ZipFile(file)
    manifest = json.loads(archive.read("manifest.json"))
    if manifest["format"] != FORMAT:
        raise ValueError(f"the format is {manifest['format']!r}, and this program reads {FORMAT}")
    if manifest["content"] not in ("full", "open", "blinded"):
        raise ValueError(f"there is no content {manifest['content']!r}")
    return Bundle(
        archive=archive,
        content=manifest["content"],
        study_stream=manifest["study"]["stream"],
        sha256_by_path={each["path"]: each["sha256"] for each in manifest["files"]},
    )


def check_files(bundle: Bundle) -> List[str]:
    """The manifest guards against damage, not against people."""
    failures = []
    present = bundle.archive.namelist()
    for path in sorted({*bundle.sha256_by_path, *present} - {"manifest.json"}):
        digest = hashlib.sha256()
        if path in present:
            for piece in bundle.archive.open(path):
                digest.update(piece)
        if digest.hexdigest() != bundle.sha256_by_path.get(path):
            failures.append(f"{printable(path)} is not what manifest.json lists")
    if len(set(present)) < len(present):
        failures.append("a file stands twice in the archive")
    return failures


def disclosed_sections(content: str, stream: str, seals: Dict[str, str]) -> List[str]:
    """Names of the sealed sections that a record must have with it."""
    if not stream.startswith("study-"):
        return []
    if content == "full":
        return sorted(seals)
    return [name for name in ("allocation",) if content == "open" and name in seals]


def check_line(
    line: bytes, stream: str, revision: int, log_id: str, content: str
) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """What every record must be, whatever it says. Returns the record and its sealed sections."""
    leaf, text, sealed = line[:-1].split(b"\t")
    expect("leaf", leaf_hash(text).hex(), leaf.decode())
    record = parse_canonical("record", text)
    sections = parse_canonical("sealed sections", sealed)
    expect("stream", stream, record["stream"])
    expect("revision", revision, record["revision"])
    expect("version", 1, record["version"])
    expect("log", log_id, record["log"])
    expect_that("seals: an object", isinstance(record["seals"], dict))
    disclosed = disclosed_sections(content, stream, record["seals"])
    expect("names of sealed sections", disclosed, sorted(sections))
    for name, section in sections.items():
        seal = sha256(canonical(section).encode("utf-8")).hex()
        expect(f"seals.{name}", seal, record["seals"][name])
    return record, sections


# ---- The tree (docs/event-log.md; RFC 6962 section 2.1) -----------------------------------------


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def leaf_hash(record: bytes) -> bytes:
    return sha256(b"\x00" + record)


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right)


@dataclass
class Tree:
    """Kept as the roots of its complete subtrees, the largest first."""

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


# ---- Checkpoints (docs/event-log.md; C2SP tlog-checkpoint and signed-note) ----------------------

RECEIPT = re.compile("^[A-Za-z0-9+/]{120,}={0,2}$", re.MULTILINE)
NOTE = re.compile(
    r"([^\n\r]+\n(?:0|[1-9][0-9]{0,15})\n(?:[^\n\r]+\n)+)"  # origin, size, root
    r"\n((?:— [^ \n\r]+ [^ \n\r]+\n)+)"  # an empty line, and the signatures
)


@dataclass
class VerifierKey:
    name: str
    key_id: str
    public_key: bytes
    text: str


def parse_key(text: str) -> VerifierKey:
    name, key_id, encoded = text.strip().split("+", 2)
    # 0x01 for Ed25519, then 32 bytes
    return VerifierKey(name, key_id, base64.b64decode(encoded)[1:], text.strip())


@dataclass
class Checkpoint:
    where: str
    is_kept: bool  # it did not come with the bundle
    stream: Optional[str]  # None: of another log
    recovery: int
    size: int
    root: str
    body: bytes  # what is signed
    signatures: List[Tuple[str, str, bytes]]  # name and id of the key, signature


def parse_signature(line: str) -> Tuple[str, str, bytes]:
    _, name, encoded = line.split(" ")
    decoded = base64.b64decode(encoded)
    return name, decoded[:4].hex(), decoded[4:]


def read_checkpoints(data: bytes, file: str, is_kept: bool, log_name: str) -> List[Checkpoint]:
    text = RECEIPT.sub(lambda line: base64.b64decode(line[0]).decode("utf-8"), data.decode("utf-8"))
    expect(f"{file}, besides signed checkpoints", "", NOTE.sub("", text).strip())
    checkpoints = []
    for number, (body, signatures) in enumerate(NOTE.findall(text), 1):
        origin, size, root = body.split("\n")[:3]
        place = re.fullmatch(re.escape(log_name) + "/([^/]+)(?:/([1-9][0-9]*))?", origin)
        checkpoints.append(
            Checkpoint(
                where=printable(f"{file} number {number}, {origin}"),
                is_kept=is_kept,
                stream=place[1] if place else None,
                recovery=int(place[2] or 0) if place else 0,
                size=int(size),
                root=root,
                body=body.encode("utf-8"),
                signatures=[parse_signature(line) for line in signatures.splitlines()],
            )
        )
    return checkpoints


def check_signature(checkpoint: Checkpoint, keys: List[VerifierKey]) -> str:
    """Ed25519 over the text of the note: good, NOT SIGNED BY A TRUSTED KEY, FORGED, NOT CHECKED."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return "NOT CHECKED"
    is_signed = False
    for name, key_id, signature in checkpoint.signatures:
        for key in keys:
            if (key.name, key.key_id) != (name, key_id):
                continue
            is_signed = True
            try:
                public_key = Ed25519PublicKey.from_public_bytes(key.public_key)
                public_key.verify(signature, checkpoint.body)
            except (InvalidSignature, ValueError):
                return "FORGED"
    return "good" if is_signed else "NOT SIGNED BY A TRUSTED KEY"


# ---- The events (docs/event-log.md) -------------------------------------------------------------


@dataclass
class History:
    """What the records said so far. A record that follows from it is taken into it."""

    content: str
    # log
    log_keys: List[VerifierKey] = field(default_factory=list)
    # By stream: what was kept of it, as each recovery says.
    recoveries: Dict[str, List[Dict[str, Any]]] = field(default_factory=lambda: {"log": []})
    # Stream, type and move of each event of a move of the log.
    moves: Set[Tuple[str, str, str]] = field(default_factory=set)
    # By stream: the move that closed it, or GIVEN_UP.
    closed_by: Dict[str, str] = field(default_factory=dict)
    # access. None: it diverges, so that nobody can be judged.
    api_keys: Optional[Dict[str, Dict[str, Any]]] = field(default_factory=dict)
    # The study.
    configuration: Optional[Dict[str, Any]] = None
    next_types: Tuple[str, ...] = ("StudyRegistered",)
    participant_ids: Set[str] = field(default_factory=set)
    # By factor and level: participants by treatment.
    counts: Dict[str, Dict[str, List[int]]] = field(default_factory=dict)
    generator: Any = None  # numpy.random.Generator; None: its states are withheld
    drawn: int = 0


GIVEN_UP = "given up"
MOVE_TYPES = ("LogMoved", "LogReopened", "LogArrived", "CopyAborted")


def take_move(history: History, record: Dict[str, Any]) -> bool:
    """Whether a record is of a move of the log: behind LogMoved nothing may follow but its end."""
    stream, kind, move = record["stream"], record["type"], record["data"].get("move")
    closed_by = history.closed_by.get(stream)
    if closed_by is None and kind not in MOVE_TYPES:
        return False
    if closed_by == GIVEN_UP:
        allowed: Tuple[str, ...] = ()
    elif closed_by is not None:
        allowed = ("LogReopened", "LogArrived") + (("CopyAborted",) if stream == "log" else ())
    else:
        # No stream begins with it but `access`.
        allowed = ("LogMoved",) if record["revision"] > 0 or stream == "access" else ()
    expect_that(f"type: one of {allowed}", kind in allowed)
    expect("data.move", closed_by or move, move)
    is_of_log = stream == "log" or ("log", kind, move) in history.moves
    is_new = (stream, kind, move) not in history.moves
    expect_that("data.move: new, and in log as here", is_of_log and is_new)
    history.moves.add((stream, kind, move))
    if kind == "LogMoved":
        history.closed_by[stream] = move
    elif kind == "CopyAborted":
        history.closed_by[stream] = GIVEN_UP
    else:
        del history.closed_by[stream]
    return True


def take_log_record(history: History, record: Dict[str, Any], _: Dict[str, Any]) -> None:
    kind, data = record["type"], record["data"]
    if record["revision"] == 0:
        expect("type", "LogCreated", kind)
    elif kind not in ("LogRecovered", "SigningKeyRotated"):
        expect("type", "LogRecovered or SigningKeyRotated", kind)
    if kind != "LogRecovered":
        history.log_keys.append(parse_key(data["publicKey"]))
        return
    # No study: what is said of those is sealed, and StudyRecovered repeats it.
    for each in data["streams"]:
        of_stream = history.recoveries.setdefault(each["stream"], [])
        of_stream.append({**each, "recovery": data["recovery"]})


def take_access_record(history: History, record: Dict[str, Any], _: Dict[str, Any]) -> None:
    kind, data = record["type"], record["data"]
    if kind == "ApiKeyIssued":
        history.api_keys[data["keyId"]] = {**data, "issued": record["revision"], "revoked": None}
    else:
        expect("type", "ApiKeyRevoked", kind)
        history.api_keys[data["keyId"]]["revoked"] = record["revision"]


def take_study_record(history: History, record: Dict[str, Any], sections: Dict[str, Any]) -> None:
    kind = record["type"]
    if kind == "StudyRecovered" and history.configuration:
        take_recovery(history, record, sections)
        return
    allowed = history.next_types
    expect(f"type: one of {list(allowed)}", kind if kind in allowed else allowed[0], kind)
    if kind == "StudyRegistered":
        take_registration(history, record, sections)
    if kind == "ParticipantRandomized":
        take_participant(history, record, sections)
    is_paused = kind == "StudyPaused"
    history.next_types = (
        ("StudyResumed",) if is_paused else ("ParticipantRandomized", "StudyPaused")
    )


def take_recovery(history: History, record: Dict[str, Any], sections: Dict[str, Any]) -> None:
    """The log lost records, so the generator begins anew."""
    data, stream = record["data"], record["stream"]
    expect("revision, behind the records that were kept", max(data["kept"], 1), record["revision"])
    of_log = {each["recovery"] for each in history.recoveries["log"]}
    of_study = {each["recovery"] for each in history.recoveries.get(stream, [])}
    expect_that("data.recovery: in log, and once", data["recovery"] in of_log - of_study)
    history.recoveries.setdefault(stream, []).append(data)
    begin_generator(history, sections)


def take_registration(history: History, record: Dict[str, Any], sections: Dict[str, Any]) -> None:
    configuration = record["data"]["configuration"]
    study_id = uuid.uuid5(uuid.UUID(record["log"]), configuration["name"])
    history.configuration = configuration
    expect("stream, which follows from the study's name", f"study-{study_id}", record["stream"])
    algorithm = {"name": "wei-urn-method1-pcg64", "version": 1}
    expect("data.algorithm", algorithm, record["data"]["algorithm"])
    for factor in configuration["factors"]:
        history.counts[factor["name"]] = {
            level: [0] * len(configuration["treatments"]) for level in factor["levels"]
        }
    begin_generator(history, sections)


def take_participant(history: History, record: Dict[str, Any], sections: Dict[str, Any]) -> None:
    data = record["data"]
    levels = {each["factor"]: each["level"] for each in data["levels"]}
    factors = [each["factor"] for each in data["levels"]]
    expect("data.levels, factors", list(history.counts), factors)
    for factor, level in levels.items():
        expect_that("data.levels: configured", level in history.counts[factor])
    expect_that("data.participantId: new", data["participantId"] not in history.participant_ids)
    history.participant_ids.add(data["participantId"])
    if history.api_keys is not None:
        check_actor(record["actor"], history.api_keys)
    if history.content == "full":
        check_draw(history, levels, sections)


def check_actor(actor: Dict[str, Any], api_keys: Dict[str, Dict[str, Any]]) -> None:
    """Whether the actor's key could randomize, as far as the `access` records tell."""
    key = api_keys.get(actor["keyId"], {})
    expect("actor.user", key.get("user"), actor["user"])
    revision, revoked = actor["accessRevision"], key["revoked"]
    is_valid = key["issued"] <= revision and (revoked is None or revision < revoked)
    may_randomize = "randomize" in key["scopes"]
    expect_that("actor.keyId: valid then, and may randomize", is_valid and may_randomize)


# ---- The method (docs/method.md) ----------------------------------------------------------------


def add_up(terms: List[float]) -> float:
    """From left to right, rounding after each term: sum() compensates since Python 3.12."""
    total = 0.0
    for term in terms:
        total = total + term
    return total


def imbalance(measure: str, balls: List[int]) -> float:
    """The order of operations is part of the method: urns tie if equal to the last bit."""
    if measure == "range":
        return (max(balls) - min(balls)) / sum(balls)
    shares = [number / sum(balls) for number in balls]
    mean = add_up(shares) / len(shares)
    squares = [(share - mean) * (share - mean) for share in shares]
    if measure == "chisquare":
        return add_up([square / mean for square in squares])
    return add_up(squares) / (len(shares) - 1)


def generator_state(generator: Any) -> Dict[str, Any]:
    """As records hold it: numpy's own, with its 128-bit integers as decimal strings."""
    state = generator.bit_generator.state
    numbers = {name: str(number) for name, number in state["state"].items()}
    return {**state, "state": numbers}


def begin_generator(history: History, sections: Dict[str, Any]) -> None:
    """The generator begins with this state, and runs on from one allocation to the next."""
    if history.content != "full":
        return
    recorded = sections["generator"]
    history.generator = numpy.random.Generator(numpy.random.PCG64(int(recorded["seed"])))
    expect("generator.bgState", generator_state(history.generator), recorded["bgState"])


def check_draw(history: History, levels: Dict[str, str], sections: Dict[str, Any]) -> None:
    """Draws the participant's treatment again, and takes it in."""
    configuration, generator = history.configuration, history.generator
    treatments = configuration["treatments"]
    w, alpha, beta = configuration["w"], configuration["alpha"], configuration["beta"]
    state_before = generator_state(generator)

    # 1. An urn for each of the participant's levels, filled from the participants before.
    counts = {factor: history.counts[factor][level] for factor, level in levels.items()}
    urns = {
        factor: [w + alpha * count + beta * (sum(row) - count) for count in row]
        for factor, row in counts.items()
    }
    # 2. and 3. The most imbalanced of them.
    imbalances = {factor: imbalance(configuration["D"], urn) for factor, urn in urns.items()}
    largest = max(imbalances.values())
    candidates = sorted(factor for factor, value in imbalances.items() if value == largest)
    # 4. One of those, by lot if there are several.
    place = int(generator.integers(len(candidates))) if len(candidates) > 1 else 0
    selected = candidates[place]
    # 5. A ball from it: the first treatment whose cumulative probability is above the number.
    balls = urns[selected]
    uniform = generator.random()
    sums = [
        add_up([number / sum(balls) for number in balls[: last + 1]]) for last in range(len(balls))
    ]
    drawn = next(k for k, bound in enumerate(sums) if bound / sums[-1] > uniform)

    draw = sections["draw"]
    expect("draw.bgStateBefore", state_before, draw["bgStateBefore"])
    expect("draw.candidates", candidates, draw["candidates"])
    expect("draw.selectedFactor", selected, draw["selectedFactor"])
    expect("draw.balls", balls, draw["balls"])
    expect("draw.counts", counts[selected], draw["counts"])
    expect("draw.uniform53", int(uniform * 2**53), draw["uniform53"])
    expect("draw.bgStateAfter", generator_state(generator), draw["bgStateAfter"])
    expect("allocation.treatment", treatments[drawn], sections["allocation"]["treatment"])
    for row in counts.values():
        row[drawn] += 1
    history.drawn += 1


# ---- The streams, and the checkpoints that are held against them --------------------------------


@dataclass
class Stream:
    name: str
    size: int = 0
    withheld: int = 0
    divergence: Optional[str] = None
    roots: Dict[int, str] = field(default_factory=dict)  # by size
    kept_size: int = 0  # the largest of a checkpoint that matches and was kept elsewhere
    signed_size: int = 0  # of any that matches


Taker = Callable[[History, Dict[str, Any], Dict[str, Any]], None]


def is_withheld(stream: str, line: bytes) -> bool:
    """A record of `access` of which the bundle holds the leaf alone."""
    return stream == "access" and re.fullmatch(b"[0-9a-f]{64}\t\t\n", line) is not None


def read_stream(
    bundle: Bundle, name: str, log_id: str, sizes: Set[int], history: History, take: Taker
) -> Stream:
    """Checks a stream up to its first divergence, and works its roots out at these sizes."""
    stream, tree = Stream(name), Tree()
    stream.roots[0] = tree.root()
    for revision, line in enumerate(bundle.archive.open(f"records/{name}.txt")):
        fields = line.split(b"\t")
        if is_withheld(name, line):
            stream.withheld += 1
            tree.append(bytes.fromhex(fields[0].decode()))
        else:
            tree.append(leaf_hash(fields[1] if len(fields) > 1 else b""))
            # After a divergence only the tree is worked out: it still tells whether this is what
            # was signed.
            if stream.divergence is None:
                try:
                    record, sections = check_line(line, name, revision, log_id, bundle.content)
                    if not take_move(history, record):
                        take(history, record, sections)
                except Exception as fault:  # a Divergence, or whatever comes of what is no record
                    why = fault if isinstance(fault, Divergence) else printable(fault)
                    kind = type(fault).__name__
                    stream.divergence = f"{printable(name)}, revision {revision}: {kind} in {why}"
        stream.size = tree.size
        if tree.size in sizes:
            stream.roots[tree.size] = tree.root()
    return stream


def loss_of(checkpoint: Checkpoint, history: History) -> Optional[str]:
    """Which recovery of the log lost the records that a checkpoint is of."""
    for each in history.recoveries.get(checkpoint.stream, []):
        if checkpoint.recovery >= each["recovery"] or checkpoint.size <= each["kept"]:
            continue
        signed = each.get("signed", {"recovery": 0, "size": 0, "root": ""})
        here, most = (
            (checkpoint.recovery, checkpoint.size),
            (signed["recovery"], signed["size"]),
        )
        is_declared = here < most or (here == most and checkpoint.root == signed["root"])
        loss = "DECLARED LOSS" if is_declared else "UNDECLARED LOSS"
        return f"{loss}: recovery {each['recovery']} kept {each['kept']} records"
    return None


def compare(
    checkpoint: Checkpoint, streams: Dict[str, Stream], history: History, keys: List[VerifierKey]
) -> Optional[str]:
    """What is wrong with a checkpoint, or with what it is held against. In ascending order of size."""
    if checkpoint.stream is None:
        return "NOT OF THIS LOG"
    signature = check_signature(checkpoint, keys)
    if signature not in ("good", "NOT CHECKED"):
        return signature
    loss = loss_of(checkpoint, history)
    if loss:
        return loss
    if checkpoint.recovery > max([0] + [each["recovery"] for each in history.recoveries["log"]]):
        return "OF A RECOVERY that this log does not record"
    stream = streams.get(checkpoint.stream)
    if stream is None:  # another one's proves nothing about this study
        return None
    if stream.roots.get(checkpoint.size) != checkpoint.root:
        is_there = checkpoint.size in stream.roots
        here = "other records" if is_there else f"only {stream.size} records"
        return (
            f"{checkpoint.size} records were signed, but here are {here}: the two histories part "
            f"between revisions {stream.signed_size} and {checkpoint.size - 1}"
        )
    if signature == "good":
        stream.signed_size = checkpoint.size
        if checkpoint.is_kept:
            stream.kept_size = checkpoint.size
    return None


# ---- The report ---------------------------------------------------------------------------------


def describe_stream(stream: Stream, history: History, is_trusting: bool) -> None:
    parts = [
        f"  {printable(stream.name)}: {stream.size} records",
        f"{stream.withheld} withheld",
        (
            "sound before the divergence, and behind it not looked at"
            if stream.divergence
            else "sound"
        ),
    ]
    for each in history.recoveries.get(stream.name, []):
        parts.append(f"RECOVERED from a backup behind the first {each['kept']}")
    print(", ".join(parts))
    kept, signed = (stream.kept_size, stream.signed_size) if is_trusting else (0, 0)
    for since, until, what in (
        (0, kept, "as signed: by checkpoints that were kept elsewhere"),
        (kept, signed, "signed, but nothing kept elsewhere shows that they always were so"),
        (signed, stream.size, "covered by no checkpoint under a trusted key"),
    ):
        if since < until:
            print(f"    revisions {since} to {until - 1}: {what}")


def verify(options: argparse.Namespace) -> int:
    bundle = open_bundle(options.bundle)
    failures = check_files(bundle)
    first_line = bundle.archive.open("records/log.txt").readline()
    log = json.loads(first_line.split(b"\t")[1])["data"]

    checkpoints = read_checkpoints(
        bundle.read("checkpoints.txt"), "checkpoints.txt", False, log["logName"]
    )
    for file in options.checkpoint:
        with open(file, "rb") as opened:
            checkpoints += read_checkpoints(opened.read(), file, True, log["logName"])

    history = History(bundle.content)
    streams = {}
    takers = {
        "log": take_log_record,
        "access": take_access_record,
        bundle.study_stream: take_study_record,
    }
    for name, take in takers.items():
        sizes = {each.size for each in checkpoints if each.stream == name}
        streams[name] = read_stream(bundle, name, log["logId"], sizes, history, take)
        if streams[name].divergence:
            failures.append(streams[name].divergence)
            if name == "access":
                history.api_keys = None

    trusted = [parse_key(text) for text in options.trust]
    keys = trusted or history.log_keys
    if not any(key in keys for key in history.log_keys):
        failures.append(f"the log's key is not trusted: {log['publicKey']}")
    shown = json.loads(bundle.read("configuration.json"))
    if history.configuration is None or shown != history.configuration:
        failures.append("configuration.json does not say what the study's first record says")
    for checkpoint in sorted(checkpoints, key=lambda each: each.size):
        wrong = compare(checkpoint, streams, history, keys)
        if wrong:
            failures.append(f"{checkpoint.where}, size {checkpoint.size}: {wrong}")

    study_name = history.configuration["name"] if history.configuration else "?"
    print(printable(f"Study {study_name}, content {bundle.content}, log {log['logName']}"))
    for stream in streams.values():
        describe_stream(stream, history, is_trusting=bool(trusted))
    if bundle.content == "full":
        print(
            f"  {history.drawn} allocations, drawn again with numpy {numpy.__version__}, "
            "are as recorded"
        )
    else:
        print(
            "  The draws were NOT REPLAYED: that needs generator states, which this bundle does "
            "not hold"
        )
    for failure in failures:
        print(f"FAILED  {failure}")
    unchecked = sum(check_signature(each, keys) == "NOT CHECKED" for each in checkpoints)
    if unchecked:
        print(f"NOT CHECKED  {unchecked} signatures, without the package `cryptography`")
    if not trusted:
        print("SELF-CONSISTENT ONLY  no --trust KEY was given: a rewritten history looks the same")
    print("RESULT  " + ("something is wrong" if failures else "nothing wrong was found"))
    if failures:
        return 1
    return 3 if unchecked else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle")
    parser.add_argument("--trust", action="append", default=[])
    parser.add_argument("--checkpoint", action="append", default=[])
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # a seed may have any number of digits
    try:
        return verify(options)
    except Exception as fault:
        print(f"nothing was verified: {fault!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
